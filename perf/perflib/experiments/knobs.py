# SPDX-License-Identifier: GPL-2.0
"""the same messages before and after each thing that an operator can turn: MTU, CRC, frames, offloads, paths, busy polling, TCP's
buffers and congestion control. A table, which perf/table build/bench/knobs.json --markers docs/operators.md puts there. With the
word processors, those that decide which processor receives instead: queues of the card, RPS, RFS, and nodes of memory, on two
emulated processors with cards of two queues, half an hour (build/bench/processors.json, for perf/table too). rounds=5"""
import statistics

from perflib import lab
from perflib.experiment import Experiment, objects
from perflib.experiments.processors import Processors
from perflib.tables import table

ROUNDS = 3
BULK = ("bandwidth pattern=oneway op=send size=64k count=400", "sends of 64 KiB")
FAR = ("bandwidth pattern=oneway op=write size=1m count=192 depth=32", "writes of 1 MiB, 32 outstanding, round trip 10 ms")
LOSSY = (FAR[0], FAR[1] + ", 0.1 % lost each way")
SMALL = ("latency op=send size=64 count=400", "64 B each way")
SEGMENT, LARGE = "set_all fpdu segment", "set_all fpdu large"
NARROW, WIDE = "both ip link set eth0 mtu 1500", "both ip link set eth0 mtu 9000"
OFFLOADS = "both ethtool -K eth0 tso {0} gso {0} gro {0}"
BUSY = "sysctl -qw net.core.busy_poll={0} net.core.busy_read={0}"
BUFFERS = 'both sysctl -qw net.ipv4.tcp_rmem="4096 131072 {0}" net.ipv4.tcp_wmem="4096 16384 {0}"'
CONGESTION = "both sysctl -qw net.ipv4.tcp_congestion_control="
# Each way of the cable is 5 ms long and loses some packets. These are of a segment each, so that it loses such, and no trains of forty.
SINGLE, WIRE = "both ip link set eth0 gso_max_segs 1", "both tc qdisc replace dev eth0 root netem delay 5ms loss {}% limit 100000"
# Knob to: its name, from what to what, the messages, the steps before and after, and those that come when it has been turned back.
KNOBS = {
    "mtu": ("MTU", "1500 → 9000", BULK, (LARGE, NARROW), (LARGE, WIDE)),
    "mtu_segment": (
        "MTU, towards peers that take frames of a segment", "1500 → 9000", BULK, (SEGMENT, NARROW), (SEGMENT, WIDE), LARGE
    ),
    "crc": ("CRC", "`preferred` → `off`", BULK, ("set_all crc preferred",), ("set_all crc off",)),
    "frames": ("frames", "`segment` → `large`", BULK, (SEGMENT,), (LARGE,), LARGE),
    "offloads": ("offloads", "off → on", BULK, (OFFLOADS.format("off"),), (OFFLOADS.format("on"),), OFFLOADS.format("on")),
    "paths": ("`transport`, over one link", "tcp → paths", BULK, ("set_all paths 1",), ("set_all paths 2",)),
    "busy": ("busy polling of sockets", "0 → 50 µs", SMALL, (BUSY.format(0),), (BUSY.format(50),), SINGLE, WIRE.format(0)),
    "buffers": (
        "TCP's buffers, the most of both", "512 KiB → 16 MiB", FAR, (BUFFERS.format(1 << 19),), (BUFFERS.format(1 << 24),),
        BUFFERS.format(1 << 24), "modprobe tcp_bbr", SINGLE, WIRE.format(0.1)
    ),
    "congestion": ("congestion control", "`cubic` → `bbr`", LOSSY, (CONGESTION + "cubic",), (CONGESTION + "bbr",)),
}


class Knobs(Experiment):
    """Before and after take turns, and of each the median counts."""

    name, place, markers = "knobs", 30, "knobs"

    def choose(self, words):
        return Processors().choose(words[1:]) if words[:1] == ["processors"] else super().choose(words)

    def run(self, words):
        return Processors().run(words[1:]) if words[:1] == ["processors"] else super().run(words)

    def steps(self, chosen):
        steps = lab.Steps("weft_hosts", OFFLOADS.format("on"), "set_all crc preferred", LARGE)
        for knob, (_, _, messages, before, after, *then) in KNOBS.items():
            for when, turned in (("before", before), ("after", after)) * ROUNDS:
                steps.do(*turned).ask(f"run {messages[0]} carrier=verbs", knob=knob, when=when)
            steps.do(*before, *then)
        return steps

    def results(self, said):
        found = {}
        for tag, lines in said:
            field, unit = ("median_us", "µs") if KNOBS[tag["knob"]][2] is SMALL else ("rate_mb_s", "MB/s")
            found.setdefault((tag["knob"], unit), {}).setdefault(tag["when"], []).append(objects(lines)[-1][field])
        return [
            {"knob": knob, "unit": unit} | {when: statistics.median(values) for when, values in times.items()}
            for (knob, unit), times in found.items()
        ]

    def table(self, results):
        found, body = {row["knob"]: row for row in results}, []
        self.lacking([knob for knob in KNOBS if knob not in found])
        for knob, (name, how, messages, *_) in KNOBS.items():
            before, after, unit = (found[knob][field] for field in ("before", "after", "unit"))
            shown = [f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}" for value in (before, after)]
            body.append([name, how, messages[1], *shown, f"{after / before:.2f} ×"])
        return table(["knob", "turned", "what was sent", "before", "after", ""], body)
