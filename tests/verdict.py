#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judges the log of a lab, or of another part of make check, by its lines.

    tests/verdict.py lab NAME STATUS ENDS LOG
        appends "not ok" lines to LOG for what its own lines cannot tell: it ended with a status
        other than 0 and no failure, without its closing line (of which there must be ENDS), with
        counts that are not those of its lines, without any case, or it skipped what tests/skips
        does not allow. A lab that dies half-way passed before there was this.
    tests/verdict.py skips NAME=LOG...
        prints each skip with its reason and a "not ok" line for each that tests/skips does not
        allow, and says which lines of tests/skips did not happen in those parts; fails when one
        was not allowed.
    tests/verdict.py again LOG...
        prints the labs whose machine was booted again before anything of ours ran in it (scripts/lab/run says when),
        and those in which lockdep was silent at the end; appends a "not ok" line to each of the former if they are
        more than chance explains: more than two, and more than one in ten.
    tests/verdict.py table DIRECTORY
        prints a table of the labs whose logs are there: consumer, cases, passed, failed, skipped,
        and the reason of each skip. A consumer is a program, or several, that nobody here wrote;
        labs without one are the project's own tests.
    tests/verdict.py failures DIRECTORY LABS
        prints, for each lab in DIRECTORY, what explains each case that failed and, if its machine
        did not come to its end, the last that was said and what its processes waited for; LABS is
        build/lab. CI keeps no files, and a failure that nobody can read about happens again.

A line of a log that begins with "ok ", "not ok " or "skip " is a case; "N passed, N failed" and
perhaps ", N skipped" is a closing line. Of a skip, GoogleTest's lines and unittest's (of -v) are known as well.
"""

import fnmatch
import pathlib
import re
import sys

SKIPS = pathlib.Path(__file__).resolve().parent / "skips"
CLOSING = re.compile(r"^(?:[a-z]+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
GOOGLETEST_SKIP = re.compile(r"^\[  SKIPPED \] (\w[\w/]*\.[\w/]+)")
UNITTEST_SKIP = re.compile(r"^(.*) \.\.\. skipped ['\"](.*)['\"]$")
UNITTEST_NAME = re.compile(r"^(\w+) \([\w.]+\)")
UNITTEST_SKIPPED = re.compile(r"^(?:OK|FAILED) \(.*\bskipped=(\d+)")
NO_CABLE = 77
# What scripts/lab/run ends with when the machine, not the command, came to an end, and timeout's 137.
MACHINE_ENDED = (97, 98, 99, 124, 137)
# The programs of scripts/lab/guest itself, which are in every record.
# What bash says of a command that it then leaves out, with its check: neither "ok" nor "not ok" comes of it.
LEFT_OUT = re.compile(r"^\S+: line \d+: .*(?:syntax error|command not found|unbound variable|integer expression expected|division by 0)")
RECORDER = re.compile(r"scripts/lab/guest|^sleep |^dmesg |^ps -eo|^cat /run/output")
KINDS = ("ok ", "not ok ", "skip ")
CONSUMERS = {
    "rping": "rping", "rdmacm": "rdma-core tools", "perftest-1500": "perftest", "perftest-9000": "perftest",
    "pyverbs": "pyverbs", "mpi": "Open MPI", "nvme": "NVMe-oF", "nfs": "NFS over RDMA", "iser": "iSER",
    "rnbd": "RNBD over RTRS", "siw": "mainline siw", "siw-failures": "fails on siw",
}


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


def lines_of(log):
    return pathlib.Path(log).read_text(encoding="utf-8", errors="replace").splitlines()


def skips_in(lines):
    """The cases that were skipped, each with what the log gives as its reason."""
    seen, named = set(), 0
    for previous, line in zip(["", *lines], lines):
        if line.startswith("skip "):
            case, _, reason = line[len("skip ") :].partition(": ")
            yield case, reason
        elif (match := GOOGLETEST_SKIP.match(line)) and match[1] not in seen:
            seen.add(match[1])
            yield match[1], "GoogleTest has its reason above that line"
        elif match := UNITTEST_SKIP.match(line):
            # Where a test has a description, its name is in the line before.
            name = UNITTEST_NAME.match(line) or UNITTEST_NAME.match(previous)
            named += 1
            yield name[1] if name else match[1], match[2]
        elif match := UNITTEST_SKIPPED.match(line):
            for _ in range(int(match[1]) - named):
                yield "a test of unittest", "it has no name without -v"
            named = 0


def permission(allowed, part, case):
    for line in allowed:
        if line.fits(part, case):
            line.happened = True
            return line
    return None


def faults(name, status, ends, lines):
    """What is wrong with a lab beside what its own lines say."""
    counted = [sum(line.startswith(kind) for line in lines) for kind in KINDS]
    closings = [match for match in map(CLOSING.match, lines) if match]
    if status == NO_CABLE and ends > 1:
        yield f"the lab could not be had: {lines[-1] if lines else 'it said nothing'}"
        return
    if status and not counted[1]:
        yield f"the lab ended with status {status}, and no case failed; its log's end says more"
    elif status > 1:
        yield f"the lab ended with status {status}; see build/lab/test-{name}"
    if len(closings) != ends:
        yield f"{len(closings)} closing lines (N passed, N failed) instead of {ends}: it did not come to its end"
    else:
        claimed = [sum(int(match[group] or 0) for match in closings) for group in (1, 2, 3)]
        if claimed != counted:
            yield f"it says passed, failed, skipped: {claimed}, and its lines are {counted}"
    if not any(counted):
        yield "no case ran"
    for line in lines:
        if LEFT_OUT.match(line):
            yield f"a command was left out: {line}"
    allowed = allowed_skips()
    for case, reason in skips_in(lines):
        if not permission(allowed, name, case):
            yield f"skipped, which tests/skips does not allow: {case}: {reason}"


def judge_lab(name, status, ends, log):
    lines = lines_of(log)
    wrong = list(faults(name, int(status), int(ends), lines))
    with open(log, "a", encoding="utf-8") as out:
        for fault in wrong:
            print(f"not ok {name}: {fault}", file=out)
    return 0


def list_skips(*logs):
    allowed = allowed_skips()
    parts, refused, shown = [], 0, set()
    for pair in logs:
        part, _, log = pair.partition("=")
        parts.append(part)
        for case, reason in skips_in(lines_of(log)):
            line = permission(allowed, part, case)
            if not line:
                refused += 1
                print(f"not ok {part}: skipped, which tests/skips does not allow: {case}: {reason}")
            elif line not in shown:
                shown.add(line)
                print(f"    skipped: {line.part}: {line.case}: {line.reason}")
    for line in allowed:
        if not line.happened and not line.at_times and any(fnmatch.fnmatchcase(part, line.part) for part in parts):
            print(f"    no longer skipped, so tests/skips need not say it: {line.part}: {line.case}")
    return refused != 0


def booted_again(*logs):
    again = []
    for log in logs:
        lines = lines_of(log)
        name = pathlib.Path(log).stem
        if times := sum(line.startswith("lab: ") and ": booting again" in line for line in lines):
            again += [(name, log)] * times
        if any(line.startswith("lab: lockdep is silent") for line in lines):
            print(f"integration: locks were not judged to the end: {name}")
    for name, log in dict(again).items():
        print(f"integration: booted again: {name}")
        if len(again) > 2 and len(again) * 10 > len(logs):
            said = f"not ok {name}: {len(again)} machines of {len(logs)} labs were booted again, too many for chance"
            print(said)
            with open(log, "a", encoding="utf-8") as out:
                print(said, file=out)
    return 0


def table(directory):
    rows = {}
    # A lab that ran has left its status. Other logs are those of builds.
    for status in sorted(pathlib.Path(directory).glob("*.status")):
        lines = [line for line in lines_of(status.with_suffix(".log")) if line.startswith(KINDS)]
        if lines:
            rows.setdefault(CONSUMERS.get(status.stem, "our own tests"), []).extend(lines)
    print(f"{'consumer':16} {'cases':>6} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for consumer, lines in rows.items():
        passed, failed, skipped = (sum(line.startswith(kind) for line in lines) for kind in KINDS)
        print(f"{consumer:16} {len(lines):6} {passed:7} {failed:7} {skipped:8}")
        for line in lines:
            if line.startswith("skip "):
                print(f"    skipped: {line[len('skip '):][:150]}")
    return 0


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
        for line in explained(lines_of(file.with_suffix(".log"))):
            print(f"    {file.stem} | {line[:200]}")
        if int(file.read_text(encoding="utf-8")) not in MACHINE_ENDED:
            continue
        print(f"    {file.stem}: the last that its log said:")
        for line in lines_of(file.with_suffix(".log"))[-12:]:
            print(f"    | {line[:150]}")
        for machine in sorted(pathlib.Path(labs).glob(f"test-{file.stem}*")):
            console = machine / "console.log"
            for line in lines_of(console)[-6:] if console.exists() else []:
                print(f"    console | {line[:150]}")
            hang = machine / "hang.txt"
            for line in list(waiting(lines_of(hang)))[-25:] if hang.exists() else []:
                print(f"    waits | {line[:240]}")
    return 0


if __name__ == "__main__":
    COMMANDS = {
        "lab": (judge_lab, 4, 4), "skips": (list_skips, 1, 1000), "again": (booted_again, 1, 1000), "table": (table, 1, 1),
        "failures": (list_failures, 2, 2),
    }
    run, least, most = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0, 0))
    if run is None or not least <= len(sys.argv) - 2 <= most:
        sys.exit(__doc__)
    sys.exit(run(*sys.argv[2:]))
