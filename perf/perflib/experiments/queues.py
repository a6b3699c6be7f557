# SPDX-License-Identifier: GPL-2.0
"""NVMe over TCP and over Weft: one queue on one processor, two on two, and with RFS; in time"""
import statistics

from perflib import lab
from perflib.experiment import Experiment, crc, objects

ROUNDS = 5
FIO = "--size=32M --time_based --ramp_time=200ms --runtime=1500ms --rw=randread --bs=4k --group_reporting --cpus_allowed_policy=split"
# Layout to: queues, and the entries of RFS's table.
LAYOUTS = {"one-processor": (1, 0), "two-processors": (2, 0), "two-processors-rfs": (2, 256)}


class Queues(Experiment):
    """A program and a queue on each processor; with one of them the other is off. The disk does nothing. The median of five rounds, in
    which TCP and Weft take turns."""

    name, place, options, raw = "queues", 12, lab.TIMED, True

    def steps(self, chosen):
        steps = lab.Steps("nvme_hosts", "null_disk", f"modprobe weft crc={crc()}", "links weft eth1")
        for depth, layout in ((depth, layout) for depth in (1, 32) for layout in LAYOUTS):
            queues, entries = LAYOUTS[layout]
            steps.do(f"processors {queues}", f"steering {entries}", f"queues={queues}")
            words = f"{FIO} --iodepth={depth} --numjobs={queues} --cpus_allowed={'0,1' if queues > 1 else '0'}"
            for subject, transport in (("tcp", "tcp"), ("weft", "rdma")) * ROUNDS:
                tag = {"subject": subject, "depth": depth, "layout": layout}
                steps.do(f"attach_over {transport}").ask(f"row {subject} {layout} 8 io_s {words}", **tag).do("let_go")
        return steps

    def results(self, said):
        found = {}
        for tag, lines in said:
            found.setdefault(tuple(tag.items()), []).append(objects(lines)[0]["io_s"])
        return [dict(tag) | {"io_s": statistics.median(rates)} for tag, rates in found.items()]
