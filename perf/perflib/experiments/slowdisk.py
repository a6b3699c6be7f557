# SPDX-License-Identifier: GPL-2.0
"""NVMe before a disk whose requests each take a random time, 4 KiB at depths from 1 to 32, over nvme-tcp and over Weft: rate,
median and 99 %. A table. times=50,200,1000 (most microseconds), depths=, subjects=tcp,weft"""
from perflib import lab, trial
from perflib.experiment import NUMBERS, Experiment, Wrong
from perflib.ratios import among
from perflib.tables import table

# A fifth of a second unseen, then a second. Times are from before the submission, in which nvme-tcp sends.
FIO = (
    "--thread --size=32M --rw=randread --bs=4k --time_based --ramp_time=200ms --runtime=1s --randrepeat=1 --clat_percentiles=0 "
    "--lat_percentiles=1 --percentile_list=50:99"
)
RULES = "/sys/module/weft/parameters/without"


class Slowdisk(Experiment):
    name, place, quiet, markers = "slowdisk", 42, True, "slowdisk"
    settings = {"times": ("50,200,1000", NUMBERS), "depths": ("1,2,4,6,8,16,32", NUMBERS), "subjects": ("tcp,weft", ".+")}
    options = (*lab.COUNTED, "--mem", "2048")

    def steps(self, chosen):
        subjects = among(self.name, "subject", chosen["subjects"], ("tcp", "weft"))
        if len(subjects) < 2:
            raise Wrong("slowdisk sets two subjects side by side: tcp and weft, or weft and without-RULE")
        steps = lab.Steps("nvme_hosts", "modprobe sd_mod", "preload", "modprobe weft crc=off", "links weft eth1")
        for time in chosen["times"].split(","):
            steps.do(f"slow_disk {time}")
            for subject in subjects:
                rule = subject.removeprefix("without-") if subject.startswith("without-") else ""
                steps.do(f"echo {rule} >{RULES}" if rule else "", f"attach_over {'tcp' if subject == 'tcp' else 'rdma'}")
                steps.do(f"unseen {FIO} --iodepth=4")
                for depth in chosen["depths"].split(","):
                    steps.ask(f"times {subject} {time} {depth} {FIO} --iodepth={depth}")
                steps.do("let_go", f"echo >{RULES}" if rule else "")
            steps.do("no_slow_disk")
        return steps

    def tell(self, chosen):
        if "without-" not in chosen["subjects"]:
            return super().tell(chosen)
        print(f"perf: results are in {self.file}\n{trial.tables(trial.read([self.file]))}")
        return 0

    def table(self, results):
        """A row for each time and depth: TCP's figures, and Weft's ratio of each. Of rates more is better, of times less."""
        found, body = {(result["time_us"], result["depth"], result["subject"]): result for result in results}, []
        for time, depth in sorted({(result["time_us"], result["depth"]) for result in results}):
            tcp, weft = (found[time, depth, subject] for subject in ("tcp", "weft"))
            figures = [f"{tcp['io_s']:,}/s", f"{tcp['p50_us']:,} µs", f"{tcp['p99_us']:,} µs"]
            figures += [f"{weft[field] / tcp[field]:.2f} ×" for field in ("io_s", "p50_us", "p99_us")]
            body.append([f"up to {time:,} µs", str(depth), *figures])
        return table(["a request of the disk takes", "depth", "TCP, rate", "median", "99 %", "Weft, rate", "median", "99 %"], body)
