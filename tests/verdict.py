#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judges the logs of labs and of the other rings of make check, which tests/tap.py reads.

    tests/verdict.py lab NAME STATUS PROGRAMS LOG
        makes LOG, in which PROGRAMS have told of their cases, one TAP, and adds a case that failed for each fault
        that its own lines do not tell: the status, the plans, or a skip that tests/skips does not allow.
    tests/verdict.py labs DIRECTORY MACHINES NAME=LOG...
        ends a run of labs, whose results are in DIRECTORY, and whose machines are in MACHINES: prints all that a
        reader of CI needs, which keeps no files, the plan and the counts.
"""
import fnmatch
import pathlib
import re
import sys

import tap
from labs import labs

SKIPS = pathlib.Path(__file__).resolve().parent / "skips"
RETRIED = re.compile(r"^retried: (.*) (\d+) of (\d+)$")
NO_CABLE = 77
# What scripts/lab/run ends with when the machine, not the command, came to an end, and timeout's 137.
MACHINE_ENDED = (97, 98, 99, 124, 137)
# What bash says of a command that it then leaves out, with its check: neither "ok" nor "not ok" comes of it.
LEFT_OUT = re.compile(r"^\S+: line \d+: .*(?:syntax error|command not found|unbound variable|integer expression expected|division by 0)")
# The programs of scripts/lab/guest itself, which are in every record.
RECORDER = re.compile(r"scripts/lab/guest|^sleep |^dmesg |^ps -eo|^cat /run/output")


class Allowed:
    """A line of tests/skips: a part, a pattern of its cases, and why they may be skipped."""

    def __init__(self, line):
        fields = [field.strip() for field in line.split("|", 2)]
        if len(fields) != 3 or not all(fields):
            sys.exit(f"tests/skips: '{line}' is not: part | case | reason")
        self.part, self.case, self.reason = fields
        self.at_times = self.reason.startswith("at times: ")
        self.happened = False

    def fits(self, part, case):
        return fnmatch.fnmatchcase(part, self.part) and fnmatch.fnmatchcase(case, self.case)


def allowed_skips():
    lines = (line.strip() for line in SKIPS.read_text(encoding="utf-8").splitlines())
    return [Allowed(line) for line in lines if line and not line.startswith("#")]


def refused(part, log, allowed):
    """What tests/skips does not allow of what a part has skipped."""
    for case in log.skips():
        line = next((line for line in allowed if line.fits(part, case.name)), None)
        if line:
            line.happened = True
        else:
            yield f"skipped, which tests/skips does not allow: {case.name}: {case.skip}"


def faults(name, status, programs, log, lines):
    """What is wrong with a lab beside what its own lines say."""
    if status == NO_CABLE and programs > 1:
        yield f"the lab could not be had: {lines[-1] if lines else 'it said nothing'}"
        return
    if status and not log.failed():
        yield f"the lab ended with status {status}, and no case failed; its log's end says more"
    elif status > 1:
        yield f"the lab ended with status {status}; see build/lab/test-{name}"
    yield from log.faults(programs)
    yield from (f"a command was left out: {line}" for line in lines if LEFT_OUT.match(line))
    yield from refused(name, log, allowed_skips())


def judge_lab(name, status, programs, path):
    log, lines = tap.Log(), tap.lines_of(path)
    read = [log.read(line) for line in lines]
    for fault in list(faults(name, int(status), int(programs), log, lines)):
        read.append(log.add(name, fault))
    pathlib.Path(path).write_text("\n".join((*read, log.plan(), "")), encoding="utf-8")
    return 0


def list_skips(logs):
    """What was skipped in these logs, by part, and what was not, of all that may be."""
    allowed = allowed_skips()
    for part, log in logs.items():
        list(refused(part, tap.log_of(tap.lines_of(log)), allowed))
    for line in allowed:
        if line.happened:
            print(f"    skipped: {line.part}: {line.case}: {line.reason}")
        elif not line.at_times and any(fnmatch.fnmatchcase(part, line.part) for part in logs):
            print(f"    no longer skipped, so tests/skips need not say it: {line.part}: {line.case}")


def booted_again(logs):
    """Also where lockdep was silent at the end. More machines than chance explains, two and one in ten, are failures."""
    again = []
    for log in logs:
        lines = tap.lines_of(log)
        name = pathlib.Path(log).stem
        if times := sum(line.startswith("lab: ") and ": booting again" in line for line in lines):
            again += [(name, log)] * times
        if any(line.startswith("lab: lockdep is silent") for line in lines):
            print(f"integration: locks were not judged to the end: {name}")
    for name, log in dict(again).items():
        print(f"integration: booted again: {name}")
        if len(again) > 2 and len(again) * 10 > len(logs):
            why = f"{len(again)} machines of {len(logs)} labs were booted again, too many for chance"
            print(f"not ok - {name}: {why}")
            with open(log, "a", encoding="utf-8") as out:
                print(f"not ok - {why}", file=out)


def retried(logs):
    """How often something was repeated, in all labs together. A lab fails if that is too often."""
    sums = {}
    for log in logs:
        for match in filter(None, map(RETRIED.match, tap.lines_of(log))):
            sums.setdefault(match[1], []).append((int(match[2]), int(match[3])))
    for what, times in sums.items():
        print("integration: retried: {} {} of {}".format(what, *map(sum, zip(*times))))


def table(directory):
    rows, consumers = {}, {lab["name"]: lab["consumer"] for lab in labs()}
    # A lab that ran has left its status. Other logs are those of builds.
    for status in sorted(pathlib.Path(directory).glob("*.status")):
        log = tap.log_of(tap.lines_of(status.with_suffix(".log")))
        if log.cases:
            rows.setdefault(consumers.get(status.stem) or "our own tests", tap.Log()).cases += log.cases
    print(f"{'consumer':16} {'cases':>6} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for consumer, log in rows.items():
        print("{:16} {:6} {:7} {:7} {:8}".format(consumer, len(log.cases), *log.counts()))
        for case in log.skips():
            print(f"    skipped: {case.name}: {case.skip}"[:165])


def waiting(record):
    """Of the record of a hang (scripts/lab/guest): programs, and threads of the kernel that can't be woken."""
    stacks, pid = {}, None
    for line in record:
        if line.startswith("== "):
            pid = line.split()[1]
            stacks[pid] = []
        elif pid:
            stacks[pid].append(re.sub(r"^\s*\[<0>\] |\+0x.*", "", line))
    for line in record[1:]:
        fields = line.split(None, 5)
        if line.startswith("== ") or len(fields) < 6:
            return
        pid, _, state, where, _, command = fields
        if state.startswith("D") or not (command.startswith("[") or RECORDER.search(command)):
            yield f"{pid} {state} {command[:60]}: {' < '.join(stacks.get(pid, [])[:6]) or where}"


def explained(lines):
    """Each case that failed, behind the comments that a script prints to explain it (explain() of lib.sh)."""
    comments = []
    for line in lines:
        if line.startswith("#"):
            comments.append(line)
            continue
        if line.startswith("not ok "):
            yield from comments[-15:]
            yield line
        comments = []


def list_failures(directory, labs):
    for file in sorted(pathlib.Path(directory).glob("*.status")):
        for line in explained(tap.lines_of(file.with_suffix(".log"))):
            print(f"    {file.stem} | {line[:200]}")
        if int(file.read_text(encoding="utf-8")) not in MACHINE_ENDED:
            continue
        print(f"    {file.stem}: the last that its log said:")
        for line in tap.lines_of(file.with_suffix(".log"))[-12:]:
            print(f"    | {line[:150]}")
        for machine in sorted(pathlib.Path(labs).glob(f"test-{file.stem}*")):
            console = machine / "console.log"
            for line in tap.lines_of(console)[-6:] if console.exists() else []:
                print(f"    console | {line[:150]}")
            hang = machine / "hang.txt"
            for line in list(waiting(tap.lines_of(hang)))[-25:] if hang.exists() else []:
                print(f"    waits | {line[:240]}")


def end(directory, machines, *logs):
    logs = dict(pair.split("=", 1) for pair in logs)
    booted_again(logs.values())
    table(directory)
    retried(logs.values())
    list_skips(logs)
    list_failures(directory, machines)
    whole = tap.log_of(line for log in logs.values() for line in tap.lines_of(log))
    print(whole.plan(), tap.told(whole.counts()), sep="\n")
    passed, failed, _ = whole.counts()
    return int(bool(failed) or not passed)


if __name__ == "__main__":
    COMMANDS = {"lab": judge_lab, "labs": end}
    if len(sys.argv) < 5 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
