# SPDX-License-Identifier: GPL-2.0
"""Every counter is expected to move by some test, every tracepoint to be written by one, and
docs/observing.md and weft(7) tell of each. Reads the tests' source, and runs nothing."""
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[1]
TESTS = [path for suffix in ("py", "sh") for path in TOP.glob(f"tests/**/*.{suffix}") if path.stem != "observed_test"]


def read(path):
    return (TOP / path).read_text(encoding="utf-8")


# A counter is expected to move where a lab of Python says by how much, other than by 0: counted(NAME=2), counted(NAME=None)
# for "somehow", or the same in a dictionary; and where one in shell reads it twice, before and after.
def moves(name, path):
    text = read(path)
    if path.suffix == ".py":
        return re.search(rf"\b{name}=(?!0\b)|\"{name}\": (?!0\b)", text)
    return len(re.findall(rf"\$\((counter|<).*\b{name}\)", text)) > 1


class Observed(unittest.TestCase):
    def test_counters(self):
        names = re.findall(r'\.name = "(\w+)"', read("kernel/device/stats.c"))
        self.assertGreater(len(names), 20)
        page = read("docs/weft.7")
        for name in names:
            with self.subTest(counter=name):
                self.assertTrue([path for path in TESTS if moves(name, path)], "no test moves it")
                self.assertIn(f"`{name}`", read("docs/observing.md"))
                self.assertRegex(page, rf"\b{name}\b")

    def test_tracepoints(self):
        names = re.findall(r"^(?:TRACE_EVENT\(|DEFINE_EVENT\(\w+, )(\w+),", read("kernel/base/trace.h"), re.MULTILINE)
        self.assertGreater(len(names), 7)
        for name in names:
            with self.subTest(tracepoint=name):
                # A test looks for it in the trace as "NAME: ", or by traced().
                wanted = rf"{name}: |traced\(\"{name}\""
                self.assertTrue([path for path in TESTS if re.search(wanted, read(path))], "no test looks for it")
                self.assertIn(f"`{name}`", read("docs/observing.md"))
