# SPDX-License-Identifier: GPL-2.0
"""The rows of perf/rows, and how they are measured: the steps of a lab for perf/guest/steps."""
import functools
import re

from perflib.lab import Steps
from perflib.tables import PERF

SETS = {"gate": ("gate",), "quick": ("gate", "quick"), "where": ("gate", "where"), "full": ("gate", "where", "quick", "full")}
# Subject to the parameters of its module; sockets and rxe have none.
SUBJECTS = {
    "tcp": None, "tcp-gather": None, "tcp-big": None, "unix": None, "smc": None, "weft": "crc=off", "weft-crc": "crc=preferred",
    "lent-crc": "crc=preferred lend=all", "segment": "crc=off fpdu=segment", "segment-crc": "crc=preferred fpdu=segment",
    "siw": "", "siw-gso": "try_gso=1", "siw-gso-crc": "try_gso=1 mpa_crc_required=1 mpa_crc_strict=1", "rxe": None,
}
# Steps before the rows of a subject, and behind them.
AROUND = {"smc": (["smc_name"], ["smc_used"]), "tcp-big": (["big_tcp"], ["ordinary_tcp"]), "rxe": (["rxe"], [])}
# Only measured if they are named: between hosts of one machine the kernel copies lent payload on the way, and Debian's has no SMC.
DEFAULT = [subject for subject in SUBJECTS if subject not in ("lent-crc", "smc")]


def parameters(subject):
    """Those of its module; without-RULE is weft without a rule of kernel/base/policy.h."""
    return SUBJECTS.get(subject, f"crc=off without={subject.removeprefix('without-')}")


def entries(name):
    """The lines of a file of perf/, split at their bars."""
    lines = (PERF / name).read_text(encoding="utf-8").splitlines()
    return [line.split("|") for line in lines if line and not line.startswith("#")]


@functools.cache
def rows():
    """The rows of perf/rows, in order."""
    names = ("name", "set", "mtu", "words", "field", "better", "qperf", "title")
    return [dict(zip(names, entry)) for entry in entries("rows")]


def measure_steps(of_set, subjects=(), siw="", weft="weft", only=(), skip=(), times=1, turns=1, limit=30000):
    """The rows of a set, or only some, for each subject in turn on the same two hosts, `turns` times, with each count multiplied. `siw` and
    `weft` are modules, by name or file."""

    def row_steps(subject, carrier):
        steps.do(f"warm {limit} {carrier}")
        for row in rows():
            words = row["words"]
            if row["set"] not in SETS[of_set] or only and row["name"] not in only or row["name"] in skip:
                continue
            if subject.startswith("siw") and re.search("op=(write-imm|atomic)", words):
                continue  # it has neither
            if subject == "tcp-gather":
                if not re.match(r"bandwidth .* size=(64|4k) ", words):
                    continue
                words += " gather=32"
            if subject == "tcp-big" and not re.match(r"bandwidth .* size=(64k|1m) ", words):
                continue
            count = times * int(re.search(r"count=(\d+)", words)[1])
            words = re.sub(r"count=\d+", f"count={count}", words)
            # A round of latency is a message each way.
            messages = count * (2 if words.startswith("latency") else 1)
            steps.do(f"driver_row {limit} {row['name']} {row['mtu']} {messages} {words} carrier={carrier}")
            if sockets and subject == "tcp" and row["qperf"] != "-":
                steps.do(f"qperf_row {row['name']} {row['mtu']} {row['qperf']}")

    steps = Steps().do('"$LAB_PROJECT/scripts/lab/two-hosts"' + (" --install" if weft == "weft" else ""), "lab")
    steps.do("say 'reading the programs'", "preload")
    sockets = of_set in ("quick", "full")
    for subject in [*(subjects or DEFAULT)] * turns:
        kind = "weft" if subject.startswith(("weft", "lent", "segment", "without")) else subject.partition("-")[0]
        before, after = AROUND.get(subject, ((), ()))
        if subject in ("unix", "smc"):
            steps.do(f"begin {subject}", *before)
            row_steps(subject, subject)
            steps.do(*after)
        elif kind in ("tcp", "rxe"):
            steps.do(f"begin {subject}", *before, *(["qperf_server"] if sockets and subject == "tcp" else []))
            row_steps(subject, "verbs" if kind == "rxe" else "tcp")
            if kind == "rxe":
                steps.do("subject=rxe-tcp")
                row_steps("rxe-tcp", "tcp")
            steps.do(*after, *(["iperf"] if sockets and subject == "tcp" else []))
        elif kind == "siw" and not siw:
            steps.do(f"begin {subject}", "not_measured all 'there is no siw.ko here'")
        else:
            steps.do(f"begin {subject} {kind} {weft if kind == 'weft' else siw} {parameters(subject)}")
            row_steps(subject, "verbs")
            steps.do(*(["frames"] if kind == "weft" else []), f"end {kind}")
    return steps.do('say "$failed could not be measured"')
