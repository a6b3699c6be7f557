# SPDX-License-Identifier: GPL-2.0
"""Experiments that run one of the driver's (build/perf/weft-perf --help), over Weft and over TCP. NAME=VALUE go to the driver."""
from perflib import lab
from perflib.drawing import Figure
from perflib.experiment import CARRIERS, Experiment, crc

PATTERNS = {"oneway": "one way", "bothway": "both ways", "pingpong": "to and fro"}


class Driver(Experiment):
    in_all = takes_words = True
    carriers = tuple(CARRIERS)

    def __init__(self, name, place, text, figure=None, caption="", **more):
        self.name, self.place, self.help, self.figure, self.caption = name, place, text, figure, caption
        vars(self).update(more)

    def choose(self, words):
        return {"words": list(words)} if self.takes_words else super().choose(words)

    def lab_options(self, chosen):
        return lab.TIMED if "mode=poll" in chosen.get("words", ()) else self.options

    def steps(self, chosen):
        steps = lab.Steps(f"weft_hosts crc={crc()}")
        for carrier in self.carriers:
            steps.ask(" ".join(["run", self.name, *chosen.get("words", ()), f"carrier={carrier}"]))
        return steps

    def curve(self, result):
        carrier = CARRIERS[result["carrier"]]
        if self.name == "bandwidth":
            return carrier + ", " + PATTERNS[result["pattern"]]
        if self.name == "cache":
            return carrier + (", out of cache" if result["arena_bytes"] > result["size_bytes"] else ", in cache")
        return carrier


def by_size(curves, y_title, logarithmic=False, what="message"):
    return Figure("size_bytes", what, curves, y_title, logarithmic)


EXPERIMENTS = (
    Driver("latency", 1, "half a round trip of messages of each size",
           by_size((("median_us", "median"), ("p99_us", "99th percentile")), "half a round trip, µs", True),
           "**Latency**: how long a message of each size takes to the other side."),
    Driver("bandwidth", 2, "one way, both ways at once, and to and fro", by_size((("rate_mb_s", ""),), "MB/s"),
           "**Bandwidth** by size: one way, both ways at once, and to and fro."),
    Driver("connections", 3, "1 to 256 connections in turn, relative to one",
           Figure("connections", "connections", (("latency_ratio", "latency"), ("rate_ratio", "messages a second")),
                  "relative to one connection"),
           "**Many connections** in turn, relative to one: RDMA hardware slows down when its cache of connections overflows."),
    Driver("cache", 4, "from one buffer again and again, and through 64 MiB of them", by_size((("rate_mb_s", ""),), "MB/s"),
           "**Cache**: from one buffer again and again, and through 64 MiB of them. Where instructions are counted, caches cost nothing."),
    Driver("overlap", 5, "the share of communication that hides behind computing; on two processors, in time",
           by_size((("overlap_percent", "overlap"),), "hidden share of the shorter, per cent"),
           "**Overlap**: how much of the shorter of computing and communicating hides behind the other. On two processors, in time.",
           options=lab.TIMED),
    Driver("logp", 6, "the time to send and to receive, and the gap between messages; on two processors, in time",
           by_size((("send_overhead_us", "o_s"), ("receive_overhead_us", "o_r"), ("gap_us", "g")), "µs", True),
           "**LogP**: the processor's time to send (o_s) and to receive (o_r), and the gap between messages (g). "
           "On two processors, in time.", options=lab.TIMED),
    Driver("registration", 7, "registering memory for RDMA, against copying it",
           by_size((("register_us", "register"), ("deregister_us", "deregister"), ("copy_us", "copy")), "µs", True, "memory"),
           "**Registering** memory for RDMA against copying it.", carriers=("verbs",)),
    Driver("setup", 8, "setting up a connection, against a TCP connect",
           Figure("connections", "", (("median_us", "median"), ("route_us", "of it address and route"), ("objects_us", "of it queues and memory"),
                                      ("handshake_us", "of it the handshake")), "from nothing to accepted, µs"),
           "**Setting up** a connection, against a TCP connect.", carriers=("verbs",)),
    Driver("idle", 10, "the memory of 10,000 queue pairs that do nothing; in time",
           options=lab.TIMED, takes_words=False, in_all=False, raw=True),
)
