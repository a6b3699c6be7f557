# SPDX-License-Identifier: GPL-2.0
"""The regression gate: measures a few rows by counted instructions, on a processor with fast string copies and on one without, and
compares them with perf/reference.json; a row that costs 3 % more fails, and so does one that costs 10 % less or is gone (perf/compare
--help says why). Counts depend on the guest's kernel and programs alone, but for a row now and then on a very busy machine: if something
fails, all is measured twice more, and the median of the three counts.

When a change makes things cheaper, or dearer for a reason, commit it; then `perf/gate --accept` writes the reference anew, which is a
commit of its own. On another kernel than the reference's, which Debian brings every few weeks, the revision whose costs are accepted is
measured first, so that both are of one kernel. `perf/gate --prove` shows in ten minutes that a build that is slower does not pass. Each
run of the gate tries in seconds the parts that this proof leans on.
"""
import argparse
import shutil
import subprocess
import sys

from perflib import bench, lab
from perflib.measurement import OURS, is_number, values
from perflib.ratios import figure
from perflib.rows import rows
from perflib.tables import BENCH, PERF, PROJECT, load, understood

sys.path.append(str(PROJECT / "tests"))
import tap  # noqa: E402

REFERENCE, PATCH = PERF / "reference.json", PERF / "slower.patch"
COUNTED = ("icount", "applications")


def costs(run, absolute):
    """(row, subject) to its cost (less is better), in instructions or as a ratio to TCP; or to the reason there is none."""
    found = {}
    if run["instrument"] == "applications":
        figures = {(result["row"], result["subject"]): figure(result)[0] for result in run["results"]}
        for (row, subject), value in figures.items():
            if subject in OURS and (absolute or (row, "tcp") in figures):
                found[row, subject] = (1 if absolute else figures[row, "tcp"]) / value
        return found
    for row in rows():
        there = values(run["results"], row)
        tcp = 1 if absolute else there.get(("tcp", "weft-perf"))
        for subject in OURS:
            value = there.get((subject, "weft-perf"))
            if isinstance(value, str):
                found[row["name"], subject] = value
            elif value is not None and is_number(tcp):
                found[row["name"], subject] = tcp / value if row["better"] == "more" else value / tcp
    return found


def medians_of(runs, absolute):
    """costs() of several runs of one tree: for each row the median. One that failed is as dear as can be."""
    found = {}
    for key, cost in (entry for run in runs for entry in costs(run, absolute).items()):
        found.setdefault(key, []).append(cost)
    for measured in found.values():
        measured.sort(key=lambda cost: float("inf") if isinstance(cost, str) else cost)
    return {key: measured[len(measured) // 2] for key, measured in found.items() if 2 * len(measured) > len(runs)}


def verdict(name, before, after, dearest, cheapest):
    """The case of a row, and the reason if it fails."""
    if isinstance(before, str):
        return name, f"A has no cost: {before}"
    if after is None or isinstance(after, str):
        return name, after or "not measured any more"
    change, why = 100 * (after / before - 1), None
    if change > dearest:
        why = f"more than {dearest:g} % dearer"
    elif change < -cheapest:
        why = f"more than {cheapest:g} % cheaper: is all sent? If so, perf/gate --accept"
    return f"{name}: {change:+.1f} %", why


def compare(first, data, threshold=3, cheaper=10, instrument=None, a="A"):
    """Compares each row of A, of every subject that is ours, by instrument. B must have the row, since a row that is no longer measured
    guards nothing. Of several B, which measured one tree, the median counts for each row, so that one measurement that was disturbed
    decides nothing.

    On icount and for applications the cost itself is compared, in guest instructions. If the guest's kernel is another one, and on all
    other instruments, it is the ratio to TCP of the same boot, on icount then with five times the limits, since TCP's own figures vary
    from boot to boot. A row that is much cheaper fails as well: either less is sent than before, or the reference is old and would hide
    a row that gets dearer by as much. perf/gate --accept writes a new reference. Returns whether none failed, and lines.
    """
    known = {run["instrument"] for run in first["runs"]}
    new = [run["instrument"] for run in data[0]["runs"] if run["instrument"] not in known]
    log = tap.Log()
    said = [log.add(name, skip=f"{a} has nothing to compare it with") for name in new]
    for old in (run for run in first["runs"] if instrument in (None, run["instrument"])):
        runs = [run for other in data for run in other["runs"] if run["instrument"] == old["instrument"]]
        if not runs:
            said.append(log.add(old["instrument"], "not measured any more"))
            continue
        counted = old["instrument"].startswith(COUNTED)
        absolute = counted and first["kernel"] == data[0]["kernel"]
        said.append(f"{old['title']}: {'cost in instructions' if absolute else 'ratio to TCP'}, B against A")
        wider = 5 if counted and not absolute else 1
        before, after = costs(old, absolute), medians_of(runs, absolute)
        for key in before:
            name = f"{key[0]}, {key[1]}, {old['instrument']}"
            said.append(log.add(*verdict(name, before[key], after.get(key), wider * threshold, wider * cheaper)))
    if len(log.cases) == len(log.skips()):
        raise SystemExit("compare: the two have no row in common")
    return not log.failed(), [*said, log.plan()]


def compare_command(words):
    """Sets two measurements side by side and fails when the second is worse, or not believable."""
    parser = argparse.ArgumentParser("perf/compare", description=compare_command.__doc__, epilog=compare.__doc__)
    parser.add_argument("a", metavar="A.json")
    parser.add_argument("b", metavar="B.json", nargs="+")
    parser.add_argument("--threshold", type=float, default=3, metavar="PERCENT")
    parser.add_argument("--cheaper", type=float, default=10, metavar="PERCENT")
    parser.add_argument("--instrument", help="only this one", metavar="NAME")
    options = parser.parse_args(words)
    first, *data = map(load, (options.a, *options.b))
    with understood("compare: one of them is not whole"):
        well, said = compare(first, data, options.threshold, options.cheaper, options.instrument, options.a)
    print(*said, sep="\n")
    return 0 if well else 1


# --- The gate ---


def measure(name, *words):
    """A measurement of the gate's rows. Ends the program if it fails."""
    status = bench.main(["--gate", *words, "--out", str(BENCH / f"{name}.json")])
    if status:
        raise SystemExit(status)
    return load(BENCH / f"{name}.json")


def lost(old, new):
    """The rows of either measurement that the new one has no cost of, or no ratio to TCP, by which another kernel's costs are compared."""
    for instrument in dict.fromkeys(run["instrument"] for run in (*old["runs"], *new["runs"])):
        was, now = ([run for run in of["runs"] if run["instrument"] == instrument] for of in (old, new))
        there, ratios = ({key: cost for run in now for key, cost in costs(run, absolute).items() if is_number(cost)} for absolute in (True, False))
        for key in dict.fromkeys(key for run in was + now for key in costs(run, absolute=True)):
            if key not in there or key not in ratios:
                yield ", ".join((*key, instrument))


def accept():
    # Or nobody can measure the reference's tree again.
    if lab.output_of("git", "status", "--porcelain", "--untracked-files=no"):
        print("gate: there are changes that are not committed; commit them first, then accept what they cost")
        return 1
    missing = list(lost(load(REFERENCE), measure("gate")))
    if missing:
        print("gate: perf/reference.json stays as it is, since these would be guarded no more; take out those that are to go:")
        print(*missing, sep="\n")
        return 1
    shutil.copyfile(BENCH / "gate.json", REFERENCE)
    print("gate: perf/reference.json is what was measured now; commit it")
    return 0


def prove():
    """Slows a copy of the tree by the patch and expects the gate to say so."""
    slow = PROJECT / "build/slow"
    shutil.rmtree(slow, ignore_errors=True)
    slow.mkdir(parents=True)
    lab.must(f"git ls-files --cached --others --exclude-standard | tar -c -T - | tar -x -C {slow}", shell=True)
    lab.must(["patch", "-s", "-d", slow, "-p1", "-i", PATCH])
    print("gate: building a copy that is slower on purpose", flush=True)
    lab.must(["make", "-s", "-C", slow, "stage"], slow / "build.log", "gate")
    measured = slow / "build/bench/gate.json"
    lab.must([slow / "perf/bench", "--gate", "--out", measured])
    well, said = compare(load(REFERENCE), [load(measured)])
    print(*said, sep="\n")
    if well or not any(line.startswith("not ok ") and " dearer" in line for line in said):
        print(f"not ok - the slower build {'passed the gate' if well else 'failed, but not for its cost'}")
        return 1
    print("ok - the gate stops a slower build")
    return 0


def gate():
    test = subprocess.run([sys.executable, PERF / "compare_test.py"], capture_output=True, text=True, check=False)
    if test.returncode:
        print(test.stdout + test.stderr + "not ok - perf/compare_test.py: the comparison or its reference is not as it must be")
        return 1
    print("gate: what compares sees planted changes")
    fits = subprocess.run(["patch", "-s", "-p1", "--force", "--dry-run", "-i", PATCH], cwd=PROJECT, capture_output=True, check=False)
    if fits.returncode:
        print("not ok - perf/slower.patch does not fit kernel/tx/segment.c any more, so nothing can prove the gate")
        return 1
    print("gate: perf/gate --prove can slow this tree", flush=True)
    measured, reference = measure("gate"), load(REFERENCE)
    if reference["kernel"] != measured["kernel"]:
        of = "Linux {kernel}: measuring {revision}, whose costs are accepted, on this one".format(**reference)
        print(f"gate: perf/reference.json is of {of}", flush=True)
        reference = measure("accepted", "--of", reference["revision"])
        print("gate: commit build/bench/accepted.json as perf/reference.json, which spares that measurement")
    well, said = compare(reference, [measured])
    if not well:
        for line in (line for line in said if line.startswith("not ok ")):
            print("gate: measured twice more: " + line.partition(" - ")[2], flush=True)
        well, said = compare(reference, [measured, measure("second"), measure("third")])
    print(*said, sep="\n")
    return 0 if well else 1


def main(words):
    lab.end_on_signals()
    calls = {(): gate, ("--accept",): accept, ("--prove",): prove}
    if tuple(words) in calls:
        return calls[tuple(words)]()
    print("usage: perf/gate [--accept | --prove]\n\n" + __doc__, end="")
    return 0 if words[0] in ("--help", "-h") else 1
