# SPDX-License-Identifier: GPL-2.0
"""one, two and four paths; and over links of 1 Gbit/s and 2 ms, one for each path, that lose no packet, 0.1 % and 1 %; on icount's
model where copies are cheap"""
from perflib.experiments.markers import Contrast
from perflib.drawing import Figure

NUMBERS = (1, 2, 4)


def limit(link, loss):
    """Steps after which a link passes 1 Gbit/s each way, a millisecond later, and loses some packets. They are of a segment each, so
    that no train of them is lost at once, and long, so that the processor keeps up with two links."""
    for host in "AB":
        yield f"ip -n {host} link set {link} mtu 9000 gso_max_segs 1"
        yield f"tc -n {host} qdisc replace dev {link} root handle 1: tbf rate 1gbit burst 128kb latency 20ms"
        yield f"tc -n {host} qdisc replace dev {link} parent 1:1 netem delay 1ms loss {loss}% limit 1000"


class Paths(Contrast):
    name, place = "paths", 23
    caption = (
        "**Several paths**: one, two and four TCP connections under one queue pair: writes of 1 MiB over links of 1 Gbit/s and 2 ms "
        "there and back that lose packets of 9000 bytes; and what more paths cost over links without a limit. On the processor model "
        "where copies are cheap."
    )
    figure = Figure("paths", "paths, each over a link of its own of 1 Gbit/s", (("linked_mb_s", ""),), "MB/s")
    by_size = (("instructions", "instructions a message"), *Contrast.by_size)

    def contrast(self, steps):
        for number in (1, 2, 3):
            link = f"eth{number}"
            steps.do(f"ip link add {link} netns A type veth peer name {link} netns B")
            steps.do(*(f"ip -n {host} addr add 10.{number}.0.{end}/24 dev {link}" for end, host in enumerate("AB", 1)))
            # Paths lead to addresses of cards that carry a Weft device.
            steps.do(*(f"ip -n {host} link set {link} up" for host in "AB"), f"on_a rdma link add weft{number + 1} type weft netdev {link}")
        # First over links without a limit, where each path costs instructions and gains nothing.
        steps.do("set_all crc off", "set_all fpdu large")
        for number in NUMBERS:
            self.measure(steps.do(f"set_all paths {number}"), f"{number} path" + ("s" if number > 1 else ""), "off")
        for loss in ("0", "0.1", "1"):
            steps.do(*(step for number in range(4) for step in limit(f"eth{number}", loss)))
            for number in NUMBERS:
                words = "pattern=oneway op=write size=1m count=128 depth=16 carrier=verbs"
                steps.do(f"set_all paths {number}").ask(f"run bandwidth {words}", name=f"{loss} % lost", paths=number)

    def results(self, said):
        return [
            {"name": result["name"], "paths": result["paths"], "linked_mb_s": result["rate_mb_s"]} if "paths" in result else result
            for result in super().results(said)
        ]

    def curve(self, result):
        return result["name"]
