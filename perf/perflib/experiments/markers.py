# SPDX-License-Identifier: GPL-2.0
"""MPA markers: instructions of a message with none, with markers one way and both ways, with and without CRCs; and latency."""
from perflib import lab
from perflib.drawing import Figure
from perflib.experiment import Experiment, objects

ONE_WAY = ("size=64 count=4000 batch=32", "size=4k count=2000", "size=64k count=400", "size=1m count=48 depth=16")
TO_AND_FRO = ("size=64 count=400", "size=4k count=300")


class Contrast(Experiment):
    """Sends the same messages over connections that differ in one thing: the instructions of a message, and half a round trip's time, both
    ends and the kernel's TCP together. contrast() adds the steps of each kind of connection by measure()."""

    in_all = True
    figure = Figure("size_bytes", "message", (("instructions", ""),), "instructions a message", True)
    by_size = (("instructions_a_byte", "instructions a byte"), ("rate_mb_s", "MB/s"), ("median_us", "half a round trip, µs"))

    def contrast(self, steps):
        raise NotImplementedError

    def steps(self, chosen):
        steps = lab.Steps("weft_hosts fpdu=segment")
        self.contrast(steps)
        return steps

    @staticmethod
    def measure(steps, name, crc, carrier="verbs"):
        """A connection of this kind: one way, and for some sizes to and fro."""
        for words in ONE_WAY:
            steps.ask(f"run bandwidth pattern=oneway op=send {words} carrier={carrier}", name=name, crc=crc)
        for words in TO_AND_FRO:
            steps.ask(f"run latency op=send {words} carrier={carrier}", name=name, crc=crc)

    def results(self, said):
        found = []
        for tag, result in ((tag, result) for tag, lines in said for result in objects(lines)):
            if "rate_msg_s" in result:
                # An instruction takes a nanosecond there.
                tag = tag | {"instructions": round(1e9 / result["rate_msg_s"])}
                tag["instructions_a_byte"] = round(1000 / result["rate_mb_s"], 3)
            found.append(tag | result)
        return found

    def curve(self, result):
        return result["name"] + (", CRC" if result["crc"] != "off" else "")


class Markers(Contrast):
    name, place = "markers", 20
    caption = (
        "**MPA markers**: instructions of a message, both ends together: none, in what the sender sends, and both ways; with and "
        "without CRCs. Frames are of a segment, except where large ones are named, which a connection with markers has not."
    )

    def contrast(self, steps):
        for crc in ("off", "preferred"):
            self.measure(steps.do(f"set_all crc {crc}"), "none", crc)
            # The sender's frames have them, because the receiver asks for them.
            self.measure(steps.do("echo on >/sys/class/infiniband/weft0/weft/markers"), "one way", crc)
            self.measure(steps.do("echo on >/sys/class/infiniband/weft1/weft/markers"), "both ways", crc)
            self.measure(steps.do("set_all markers off", "set_all fpdu large"), "none, large frames", crc)
            steps.do("set_all fpdu segment")
