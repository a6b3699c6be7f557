#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Prints, reads and converts TAP, the Test Anything Protocol, the output of each test here:

    ok 1 - NAME
    not ok 2 - NAME: WHY
    ok 3 - NAME # SKIP WHY
    1..3

The last line is the plan; a program without it has stopped half-way. A log may hold several
programs, each with its plan. Other lines are for people.

    tests/tap.py count LOG...       prints the counts of all logs: N passed, N failed, N skipped
    tests/tap.py gtest COMMAND...   runs a program of GoogleTest and prints its results as TAP
    tests/tap.py unittest FILE      runs the unittest cases of a file and prints their results as TAP
    tests/tap.py compare OLD NEW    lists the cases that only one of two folders of logs has, each
                                    with the log's name; fails if OLD has one that NEW has not
"""
import collections
import pathlib
import re
import subprocess
import sys
import unittest

CASE = re.compile(r"(not )?ok\b(?: +\d+)?(?: +-)? *(.*?)(?: # SKIP\b *(.*))?$")
PLAN = re.compile(r"1\.\.(\d+)$")
GTEST = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?),?(?: where .*)? \(\d+ ms\)$")
GTEST_END = re.compile(r"\[=+\] (\d+) tests? from .* ran\.")


class Case(collections.namedtuple("Case", "name failed skip")):
    """A case: failed is a bool, skip the reason or None."""

    @classmethod
    def of(cls, line):
        match = CASE.match(line)
        return cls(match[2], bool(match[1]), match[3]) if match else None

    def line(self, number):
        return f"{'not ok' if self.failed else 'ok'} {number} - {self.name}" + ("" if self.skip is None else f" # SKIP {self.skip}")


class Log:
    """Reads the lines of one or several programs as those of one, or prints those of this program."""

    def __init__(self):
        self.cases, self.plans = [], []

    def read(self, line):
        """Takes a line; returns it as the one log has it."""
        line = line.rstrip("\n")
        if case := Case.of(line):
            self.cases.append(case)
            return case.line(len(self.cases))
        if match := PLAN.match(line):
            self.plans.append(int(match[1]))
            return f"# the plan was {line}"
        return line

    def add(self, name, why=None, skip=None):
        """Adds a case, with the reason if it failed or was skipped; returns its line."""
        self.cases.append(Case(name if why is None else f"{name}: {why}", why is not None, skip))
        return self.cases[-1].line(len(self.cases))

    def tell(self, *case, **how):
        """Adds a case and prints its line."""
        print(self.add(*case, **how), flush=True)

    def plan(self):
        return f"1..{len(self.cases)}"

    def end(self):
        """Prints the plan; returns the exit status."""
        print(self.plan(), flush=True)
        return int(bool(self.failed()) or not self.cases)

    def counts(self):
        """The numbers of passed, failed and skipped cases."""
        failed, skipped = (sum(map(bool, which)) for which in (self.failed(), self.skips()))
        return len(self.cases) - failed - skipped, failed, skipped

    def failed(self):
        return [case for case in self.cases if case.failed]

    def skips(self):
        return [case for case in self.cases if case.skip is not None and not case.failed]

    def faults(self, programs=None):
        """The faults beside failed cases; programs: how many must have printed a plan."""
        if not self.cases:
            yield "no case ran"
        elif not self.plans or programs not in (None, len(self.plans)):
            yield f"{len(self.plans)} plans (1..N) instead of {programs or 1}: it did not come to its end"
        elif sum(self.plans) != len(self.cases):
            yield f"the plan is of {sum(self.plans)} cases, and {len(self.cases)} were told of"


def lines_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines()


def log_of(lines):
    log = Log()
    for line in lines:
        log.read(line)
    return log


def told(counts):
    return "{} passed, {} failed, {} skipped".format(*counts)


def gtest(*command):
    log, planned = Log(), None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as program:
        for line in program.stdout:
            if match := GTEST.match(line):
                how, name = match.groups()
                log.tell(name, "it says why above" if how == "FAILED" else None, "it says why above" if how == "SKIPPED" else None)
                continue
            if not line.startswith("[ RUN"):
                print(f"# {line}", end="", flush=True)
            planned = GTEST_END.match(line) or planned
    if planned:
        print(f"1..{planned[1]}")
    return program.returncode


class Result(unittest.TestResult):
    log = Log()

    def addSuccess(self, test):
        self.log.tell(test.id())

    def addSkip(self, test, reason):
        self.log.tell(test.id(), skip=reason)

    def addFailure(self, test, err):
        print("# " + self._exc_info_to_string(err, test).strip().replace("\n", "\n# "))
        self.log.tell(test.id(), (str(err[1]).splitlines() or [err[0].__name__])[0])

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(subtest, err)


def run_unittest(file):
    path = pathlib.Path(file)
    unittest.defaultTestLoader.discover(path.parent, path.name, path.parent).run(Result())
    return Result.log.end()


def count(*logs):
    print(told(map(sum, zip(*(log_of(lines_of(log)).counts() for log in logs)))))
    return 0


def cases_of(folder):
    """Of each log of a folder, how often each name of a case stands there, numbers aside, which may change between runs."""
    logs = sorted(pathlib.Path(folder).rglob("*.log"))
    return collections.Counter((log.stem, re.sub(r"\d+", "N", case.name)) for log in logs for case in log_of(lines_of(log)).cases if not case.failed)


def compare(old, new):
    before, after = cases_of(old), cases_of(new)
    if not before or not after:
        sys.exit(f"tap: no case in the logs of {old if not before else new}; name a build/check of a whole make check")
    for sign, only in ("-", before - after), ("+", after - before):
        print(*(f"{sign} {log}: {name}" for log, name in sorted(only.elements())), sep="\n")
    print(f"{before.total()} cases before, {after.total()} after, {(before - after).total()} are gone")
    return int(bool(before - after))


if __name__ == "__main__":
    COMMANDS = {"compare": compare, "count": count, "gtest": gtest, "unittest": run_unittest}
    if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS or (sys.argv[1] == "compare" and len(sys.argv) != 4):
        sys.exit(__doc__)
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
