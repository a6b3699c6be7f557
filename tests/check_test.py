# SPDX-License-Identifier: GPL-2.0
"""Planted faults, one ring each: scripts/check must call every one of them failed.

A copy of scripts/check stands in a tree of its own, in which the programs that it starts for a ring are planted. scripts/style
is tried the same way with a clang-tidy that does not do its work."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-planted-")
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        for file in ("scripts/check", "scripts/style", "scripts/common.sh", "tests/verdict.py", "tests/labs.py", "tests/tap.py", "tests/tap.sh", "tests/skips"):
            shutil.copy2(TOP / file, self.path(file))

    def path(self, file):
        """That of a file in the tree, in a folder that is there."""
        path = self.tree / file
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def plant(self, file, text):
        self.path(file).write_text(f"#!/bin/bash\n{text}", encoding="utf-8")
        self.path(file).chmod(0o755)

    def run_it(self, *command, **variables):
        done = subprocess.run(command, cwd=self.tree, env=dict(os.environ, **variables), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        return done.returncode, done.stdout


class Check(Tree):
    def ring(self, name, said, passed, counts, *reasons):
        """The ring's verdict, when its program has said this."""
        status, output = self.run_it("scripts/check", name)
        self.assertEqual(status == 0, passed, output)
        self.assertIn(f"\n{counts}\n", output, said)
        for reason in reasons:
            self.assertIn(reason, output)

    def provider(self, said, passed, counts, *reasons, status=0):
        self.path("userlib/Makefile").write_text(f"test:\n\t@cat said; exit {status}\n", encoding="utf-8")
        self.path("userlib/said").write_text(said, encoding="utf-8")
        self.ring("provider", said, passed, counts, *reasons)

    def test_a_good_ring_passes(self):
        self.provider("ok 1 - a\nok 2 - b\n1..2\n", True, "2 passed, 0 failed, 0 skipped")

    def test_a_failure_is_named(self):
        """With what explains it, and the first of all by its time; the log is one TAP, which other programs can read."""
        self.provider("ok 1 - a\n1..1\n# why not\nnot ok 1 - b: 1 is not 2\nnot ok 2 - c\nok 3 - d\n1..3\n", False, "2 passed, 2 failed, 0 skipped",
                      "    provider | # why not\n    provider | not ok 2 - b: 1 is not 2\n", "\nThe first to fail, at 0:0", ": provider: b: 1 is not 2\n",
                      "\nprovider        0:0")
        log = self.path("build/check/provider.log").read_text(encoding="utf-8")
        self.assertEqual([line for line in log.splitlines() if not line.startswith("#")], ["ok 1 - a", "not ok 2 - b: 1 is not 2", "not ok 3 - c", "ok 4 - d", "1..4"])

    def test_the_first_failure_is_that_of_a_later_ring(self):
        """style begins at once, and its turn is the last."""
        self.plant("scripts/style", "printf 'not ok 1 - early\\n1..1\\n'\n")
        self.path("userlib/Makefile").write_text("test:\n\t@sleep 1; echo not ok 1 - late; echo 1..1\n", encoding="utf-8")
        _, output = self.run_it("scripts/check", "provider", "style")
        self.assertRegex(output, r"(?s)== 1 of 2: provider: .*\nnot ok 1 - late\n.*== 2 of 2: style: .*\nnot ok 1 - early\n")
        self.assertRegex(output, r"\nThe first to fail, at 0:0\d: style: early\n0 passed, 2 failed, 0 skipped\n$")

    def test_a_program_that_stops_half_way(self):
        for said, counts, why in (("ok 1 - a\n", "1 passed, 1 failed, 0 skipped", "0 plans (1..N) instead of 1"),
                                  ("ok 1 - a\nok 2 - b\n1..3\n", "2 passed, 1 failed, 0 skipped", "the plan is of 3 cases, and 2 were told of"),
                                  ("ok 1 - a\n1..1\nok 1 - b\n", "2 passed, 1 failed, 0 skipped", "the plan is of 1 cases, and 2 were told of"),
                                  ("1..0\n", "0 passed, 1 failed, 0 skipped", "no case ran"), ("passed\n", "0 passed, 1 failed, 0 skipped", "no case ran")):
            self.provider(said, False, counts, f" - provider: {why}")

    def test_a_status_that_no_case_explains(self):
        self.provider("ok 1 - a\n1..1\n", False, "1 passed, 1 failed, 0 skipped", "its command ended with status 2", "    | ok 1 - a\n", status=1)
        self.provider("not ok 1 - a\n1..1\n", False, "0 passed, 1 failed, 0 skipped", status=1)

    def test_a_skip_that_is_not_allowed(self):
        self.provider("ok 1 - a\nok 2 - private interface # SKIP no libmlx5.a\n1..2\n", False, "1 passed, 1 failed, 1 skipped",
                      "not ok 3 - provider: skipped, which tests/skips does not allow: private interface: no libmlx5.a")

    def test_the_verdict_of_an_earlier_run(self):
        """A ring that runs beside others and is killed, status and all."""
        self.plant("scripts/style", "printf 'ok 1 - one\\nok 2 - two\\n1..2\\n'\n")
        self.ring("style", "", True, "2 passed, 0 failed, 0 skipped")
        self.plant("scripts/style", "printf 'ok 1 - one\\nok 2 - two\\n'\nkill -KILL 0\n")
        self.ring("style", "", False, "2 passed, 1 failed, 0 skipped", "its command ended with status")


class Told(Tree):
    """What tests/tap.py makes of what programs of GoogleTest and of unittest say."""

    def says(self, kind, text, wanted, status, name="planted_test.py"):
        self.plant(name, text)
        ended, said = self.run_it("tests/tap.py", kind, self.path(name))
        self.assertEqual([line for line in said.splitlines() if not line.startswith("#")], wanted, said)
        self.assertEqual(ended, status)

    def test_googletest(self):
        said = ("[ RUN      ] Ring.Wraps\n[       OK ] Ring.Wraps (0 ms)\na.cc:1: Failure\n[  FAILED  ] All/Ring.Is/0, where GetParam() = 4 (12 ms)\n"
                "[  SKIPPED ] Ring.Has (0 ms)\n")
        cases = ["ok 1 - Ring.Wraps", "not ok 2 - All/Ring.Is/0: it says why above", "ok 3 - Ring.Has # SKIP it says why above"]
        end = "[==========] 3 tests from 2 test suites ran. (1 ms total)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] All/Ring.Is/0\n"
        self.says("gtest", f"cat <<END\n{said}{end}END\nexit 1\n", [*cases, "1..3"], 1)
        self.says("gtest", f"cat <<END\n{said}END\nexit 139\n", cases, 139)

    def test_unittest(self):
        self.says("unittest", """import unittest
class Links(unittest.TestCase):
    def test_a(self):
        'With a description.'
    def test_b(self):
        self.assertEqual(1, 2)
    def test_c(self):
        for n in (1, 2, 3):
            with self.subTest(n=n):
                self.assertNotEqual(n, 2)
    @unittest.skip("no systemd here")
    def test_d(self):
        pass
    def test_e(self):
        raise OSError
""", ["ok 1 - planted_test.Links.test_a", "not ok 2 - planted_test.Links.test_b: 1 != 2", "not ok 3 - planted_test.Links.test_c (n=2): 2 == 2",
            "ok 4 - planted_test.Links.test_d # SKIP no systemd here", "not ok 5 - planted_test.Links.test_e: OSError", "1..5"], 1)
        self.says("unittest", "no python\n", ["not ok 1 - unittest.loader._FailedTest.planted_test: Failed to import test module: planted_test", "1..1"], 1)


class Style(Tree):
    def tidy(self, text, of_planted="case $* in *planted.cc*) exit 1 ;; esac\n"):
        self.run_it("git", "init", "-q")
        self.plant("bin/clang-tidy", of_planted + text)
        self.plant("scripts/tidy/build", "echo own.so\n")
        self.path("tests/unit/one_test.cc").write_text("int one();\n", encoding="utf-8")
        for file in (".clang-tidy", "scripts/tidy/own.cc", "kernel/uapi/weft-abi.h", "kernel/wire/mpa.h", "tests/unit/one.h"):
            self.path(file).touch()
        return self.run_it("scripts/style", "clang-tidy", PATH=f"{self.tree}/bin:{os.environ['PATH']}", WEFT_CACHE=str(self.tree))

    def marks(self):
        return list(self.path("clean").glob("tidy-*"))

    def test_a_clean_file_is_remembered(self):
        status, said = self.tidy("exit 0\n")
        self.assertEqual(status, 0, said)
        self.assertEqual(len(self.marks()), 1)

    def fails(self, reasons, *tools):
        status, said = self.tidy(*tools)
        self.assertEqual((status, self.marks()), (1, []), said)
        for reason in reasons:
            self.assertIn(reason, said)

    def test_a_tool_that_finds_nothing(self):
        self.fails(["finds nothing in a file with a fault"], "exit 0\n", "")

    def test_a_warning(self):
        self.fails(["no definition"], "echo 'one_test.cc:1:1: warning: it has no definition'\n")

    def test_a_tool_that_dies(self):
        self.fails(["PLEASE submit", "clang-tidy ended with status 134"], "echo 'PLEASE submit a bug report'\nexit 134\n")
