# SPDX-License-Identifier: GPL-2.0
"""The trial of kernel/base/policy.h: the cost of each row without each rule, against its cost with all.

FILE.json is of perf/run lines, slowdisk, applications or storage, or of perf/bench with virtio, with subjects weft and without-RULE,
one JSON object a line; of several files the medians count. A cell is the change in per cent without the rule: of work, of time, or of
instructions. Above zero the rule pays. A dot is a change of less than a per cent, or of less than half the way from the least to the
most of either figure. --markers replaces the text between `<!-- trial: begin -->` and `<!-- trial: end -->` of DOCUMENT.
"""
import argparse
import pathlib
import statistics

from perflib.measurement import half_range
from perflib.tables import put, read_lines, table, understood


def where(processors, turn):
    return f"{processors} processor{'s' * (processors > 1)}, one wakes in {turn / 1000:g} µs"


def costs(result):
    """Instrument, row and cost (less is better) of each figure of a result."""
    if "processors" in result:
        yield f"{where(result['processors'], result['turn'])}: work of the busiest", result["row"], result["longest"]
    elif "depth" in result:
        row = f"{result['time_us']} µs, depth {result['depth']}"
        yield "slow disk: time of a request", row, 1 / result["io_s"]
        yield "slow disk: p99", row, result["p99_us"]
    elif "l3" in result:
        apart = result["row"].startswith("virtio") or result["row"].endswith(("-host", "-target"))
        machines = "two machines" if apart else "1 processor, counted alone"
        yield f"{machines}: work, bytes in the third cache", result["row"].removeprefix("virtio-"), result["l3"]


def read(files):
    """Instrument to row to subject to costs."""
    found = {}
    for result in (result for file in files for result in read_lines(file)):
        for instrument, row, cost in costs(result):
            found.setdefault(instrument, {}).setdefault(row, {}).setdefault(result["subject"], []).append(cost)
    return found


def cell(subjects, subject):
    if subject not in subjects or not subjects.get("weft"):
        return ""
    with_it, without = subjects["weft"], subjects[subject]
    change = 100 * (statistics.median(without) / statistics.median(with_it) - 1)
    return f"{change:+.0f}" if abs(change) >= max(1, 100 * half_range(with_it), 100 * half_range(without)) else "·"


def tables(found):
    """A table for each instrument."""
    text = []
    for instrument, rows in found.items():
        rules = sorted({subject for subjects in rows.values() for subject in subjects if subject.startswith("without-")})
        body = [[rule.removeprefix("without-"), *(cell(subjects, rule) for subjects in rows.values())] for rule in rules]
        text += [table([instrument, *rows], body, align="---:")] if body else []
    return "\n\n".join(text)


def main(words):
    parser = argparse.ArgumentParser("perf/trial", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="FILE.json", nargs="+", type=pathlib.Path)
    parser.add_argument("--markers", metavar="DOCUMENT", type=pathlib.Path)
    options = parser.parse_args(words)
    with understood("trial: a file is of no experiment that takes without-RULE"):
        text = tables(read(options.files))
    if not text:
        raise SystemExit("trial: no file has a subject without-RULE; name some: perf/run lines subjects=weft,without-streak")
    if options.markers:
        put(options.markers, "trial", text)
    else:
        print(text)
