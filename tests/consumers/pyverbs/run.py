#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Runs the whole of rdma-core's test-suite, adapted (see adapter.py), and holds every result
against the file `expected`. A result that differs is a failure, and so is a line of that file
that fits no test. The tests run in a process of their own, so that one that crashes or hangs
costs itself only. Prints TAP.
"""

import argparse
import fnmatch
import os
import re
import select
import signal
import subprocess
import sys
import time
import unittest

import adapter

sys.path.append(sys.path[0] + "/../..")
import tap  # noqa: E402

LIMIT = 90  # seconds for one test


def flatten(item):
    if not isinstance(item, unittest.TestSuite):
        return [item]
    return [test for part in item for test in flatten(part)]


def name_of(test):
    return test.id().removeprefix("tests.")


def shorten(message):
    """In one line; of the data that a message quotes, a little."""
    message = re.sub(r"(.)\1{20,}", r"\1\1\1...", " ".join(message.replace("\0", "0").split()))
    return message if len(message) < 800 else message[:400] + " [...] " + message[-400:]


class Reporter(unittest.TestResult):
    """Writes a line for each beginning and each end: NAME, outcome and message."""

    def say(self, test, outcome, message=""):
        print("\x01" + "\t".join((name_of(test), outcome, shorten(message))), flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.say(test, "begin")

    def addSuccess(self, test):
        self.say(test, "pass")

    def addSkip(self, test, reason):
        self.say(test, "skip", reason)

    def addFailure(self, test, err):
        self.say(test, "fail", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.say(test, "fail", self._exc_info_to_string(err, test))

    def stopTest(self, test):
        super().stopTest(test)
        adapter.forget()


def child(directory, device, address):
    """Runs the tests whose names come on standard input."""
    wanted = sys.stdin.read().split()
    adapter.install(directory, device, address)
    by_name = {name_of(test): test for test in all_tests(directory)}
    result = Reporter()
    if not wanted:
        for name in by_name:
            print("\x01" + name, flush=True)
    for name in wanted:
        by_name[name](result)
    # A traceback of a failed test keeps its objects, which may then be destroyed in a wrong order.
    os._exit(0)


def all_tests(directory):
    return flatten(unittest.TestLoader().discover(f"{directory}/tests", "test_*.py", directory))


def spawn(arguments):
    return subprocess.Popen([sys.executable, __file__, "--child", *arguments], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


def lines_of(process, limit):
    """Yields what the process says, line by line; None when it says nothing for limit seconds."""
    kept = b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], limit)
        if not ready:
            yield None
            return
        data = os.read(process.stdout.fileno(), 65536)
        if not data:
            return
        kept += data
        *whole, kept = kept.split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")


def run(names, arguments, loud):
    """Runs the tests; yields (name, outcome, message)."""
    left = list(names)
    while left:
        process = spawn(arguments)
        with process.stdin as wanted:
            wanted.write("\n".join(left).encode())
        current, ended, said = None, None, []
        for line in lines_of(process, LIMIT):
            if line is None:
                os.killpg(process.pid, signal.SIGKILL)
                ended = ("hang", f"nothing happened for {LIMIT} s")
                break
            at = line.find("\x01")
            if at < 0:
                said.append(line)
                continue
            name, outcome, *message = line[at + 1:].split("\t")
            if outcome == "begin":
                current, said = name, []
            elif name in left:
                left.remove(name)
                if loud:
                    print(f"# {name}: {outcome} {' '.join(message)} {' | '.join(said)}", flush=True)
                yield name, outcome, " ".join(message + said)
        status = process.wait()
        if not left:
            return
        if ended is None:
            ended = ("crash", f"the process ended with status {status}: {' | '.join(said[-5:])}")
        culprit = current if current in left else left[0]
        left.remove(culprit)
        yield culprit, *ended


class Expectation:
    """A line of the file: outcome, pattern of names, text of the message, reason; and whether the suite may lack such tests."""

    def __init__(self, line):
        head, *rest = [part.strip() for part in line.split(" | ")]
        self.outcome, *later, self.pattern = head.split()
        self.later = later == ["later"]
        if later not in ([], ["later"]):
            raise ValueError(f"expected: '{' '.join(later)}' is no word of '{line}'")
        self.text, self.reason = rest or ("", "")
        if self.outcome != "pass" and not self.reason:
            raise ValueError(f"expected: no reason in '{line}'")
        self.names = []


LOG = tap.Log()


def judge(expectations, name, outcome, message):
    expected = next((e for e in expectations if fnmatch.fnmatchcase(name, e.pattern)), None)
    what = f"{outcome}: {message[-400:]}" if message else outcome
    case = f"pyverbs {name}"
    if expected is None:
        LOG.tell(case, f"nothing is expected of it; {what}")
    elif outcome != expected.outcome or expected.text not in message:
        wanted = expected.outcome + (f" with '{expected.text}'" if expected.text else "")
        LOG.tell(case, f"{wanted} is expected; {what}")
    elif outcome == "pass":
        LOG.tell(case)
    elif outcome == "fail":
        LOG.tell(f"{case} fails as it must: {expected.reason}")
    if expected is not None:
        expected.names.append(name)


def main():
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="print the output of each test")
    parser.add_argument("--but", default="", metavar="PATTERN", help="all tests but these")
    parser.add_argument("device", nargs=3, metavar=("DIRECTORY", "DEVICE", "ADDRESS"),
                        help="the folder with the suite as tests/, the device, and its own address")
    parser.add_argument("pattern", nargs="?", default="*", help="as test_mr.MRTest.*: these tests only")
    options = parser.parse_args()
    pattern, left_out, arguments = options.pattern, options.but, options.device
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected"), encoding="utf-8") as file:
        expectations = [Expectation(line) for line in map(str.strip, file) if line and not line.startswith("#")]
    process = spawn(arguments)
    said = process.communicate()[0].decode(errors="replace")
    names = [line[line.find("\x01") + 1:] for line in said.splitlines() if "\x01" in line]
    if len(names) < 100:
        LOG.tell("pyverbs", f"the suite has {len(names)} tests: {said[-600:]}")
        names = []
    begin = time.monotonic()
    wanted = [name for name in fnmatch.filter(names, pattern) if not fnmatch.fnmatchcase(name, left_out)]
    if names and (not wanted or (left_out and not fnmatch.filter(names, left_out))):
        LOG.tell("pyverbs", f"no test is called {pattern if not wanted else left_out}")
    for name, outcome, message in run(wanted, arguments, options.all):
        judge(expectations, name, outcome, message)
    for expectation in expectations:
        if expectation.outcome == "skip" and expectation.names:
            count = len(expectation.names)
            LOG.tell(f"pyverbs {expectation.pattern}", skip=f"{count} test{'s'[:count > 1]}: {expectation.reason}")
        if pattern == "*" and not expectation.names and not expectation.later:
            LOG.tell("pyverbs", f"no test is called {expectation.pattern}, of which something is expected")
    print(f"# {len(wanted)} tests in {time.monotonic() - begin:.0f} s")
    sys.exit(LOG.end())


if __name__ == "__main__":
    main()
