#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Planted faults, one ring each: scripts/check must call every one of them failed.

A copy of scripts/check stands in a tree of its own, in which the programs that it starts for a ring are planted.
scripts/style is tried the same way with a clang-tidy that does not do its work.
"""

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
        for file in ("scripts/check", "scripts/style", "tests/verdict.py", "tests/skips"):
            self.path(file).parent.mkdir(exist_ok=True)
            shutil.copy2(TOP / file, self.path(file))

    def path(self, file):
        return self.tree / file

    def plant(self, file, text):
        self.path(file).parent.mkdir(exist_ok=True)
        self.path(file).write_text(f"#!/bin/bash\n{text}", encoding="utf-8")
        self.path(file).chmod(0o755)

    def run_it(self, *command, **variables):
        done = subprocess.run(
            command, cwd=self.tree, env=dict(os.environ, **variables), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=60, check=False,
        )
        return done.returncode, done.stdout


class Check(Tree):
    def ring(self, name, said, passed, counts, *reasons):
        """The ring's verdict, when its program has said this."""
        status, output = self.run_it("scripts/check", name)
        self.assertEqual(status == 0, passed, output)
        self.assertIn(f"\n{counts}\n", output, said)
        for reason in reasons:
            self.assertIn(reason, output)

    def provider(self, said, passed, counts, *reasons):
        self.path("userlib").mkdir()
        self.path("userlib/Makefile").write_text("test:\n\t@cat said\n", encoding="utf-8")
        self.path("userlib/said").write_text(said, encoding="utf-8")
        self.ring("provider", said, passed, counts, *reasons)

    def test_a_good_ring_passes(self):
        self.provider("libweft: 3 passed, 0 failed, 0 skipped\n", True, "3 passed, 0 failed, 0 skipped")

    def test_a_skip_that_is_not_allowed(self):
        self.provider(
            "skip private interface: no libmlx5.a\nlibweft: 290 passed, 0 failed, 1 skipped\n",
            False, "290 passed, 1 failed, 1 skipped",
            "not ok provider: skipped, which tests/skips does not allow: private interface: no libmlx5.a",
        )

    def test_a_skip_of_googletest(self):
        self.provider(
            "[ RUN      ] Ring.Wraps\n[  SKIPPED ] Ring.Wraps (0 ms)\n[  PASSED  ] 2 tests.\n"
            "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] Ring.Wraps\n",
            False, "2 passed, 1 failed, 1 skipped", "tests/skips does not allow: Ring.Wraps",
        )

    def test_a_skip_of_unittest(self):
        self.provider(
            "test_escape (__main__.Links)\nSays the same. ... skipped 'no systemd here'\n"
            "test_bare (__main__.Links) ... skipped \"it isn't there\"\nRan 5 tests in 0.1s\n\nOK (skipped=2)\n",
            False, "3 passed, 2 failed, 2 skipped", "allow: test_escape: no systemd here", "allow: test_bare: it isn't there",
        )

    def test_a_skip_of_unittest_without_its_name(self):
        self.provider("Ran 5 tests in 0.1s\n\nOK (skipped=1)\n", False, "4 passed, 1 failed, 1 skipped", "no name without -v")

    def test_what_unittest_counts(self):
        self.provider("Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=2)\n", False, "2 passed, 3 failed, 0 skipped")

    def test_the_verdict_of_an_earlier_run(self):
        """A ring that runs beside others and is killed, status and all."""
        self.plant("scripts/style", "printf 'ok one\\nok two\\n'\n")
        self.ring("style", "", True, "2 passed, 0 failed, 0 skipped")
        self.plant("scripts/style", "printf 'ok one\\nok two\\n'\nkill -KILL 0\n")
        self.ring("style", "", False, "2 passed, 1 failed, 0 skipped", "its command ended with status")


class Style(Tree):
    def tidy(self, text, of_planted="case $* in *planted.cc*) exit 1 ;; esac\n"):
        self.run_it("git", "init", "-q")
        self.plant("bin/clang-tidy", of_planted + text)
        self.plant("scripts/tidy/build", "echo own.so\n")
        self.path("tests/unit").mkdir()
        self.path("tests/unit/one_test.cc").write_text("int one();\n", encoding="utf-8")
        for file in (".clang-tidy", "scripts/tidy/own.cc", "kernel/uapi/weft-abi.h", "kernel/wire/mpa.h", "tests/unit/one.h"):
            self.path(file).parent.mkdir(parents=True, exist_ok=True)
            self.path(file).write_text("", encoding="utf-8")
        return self.run_it("scripts/style", "clang-tidy", PATH=f"{self.tree}/bin:{os.environ['PATH']}", WEFT_CACHE=str(self.tree))

    def marks(self):
        return list(self.path("clean").glob("tidy-*"))

    def test_a_clean_file_is_remembered(self):
        status, said = self.tidy("exit 0\n")
        self.assertEqual(status, 0, said)
        self.assertEqual(len(self.marks()), 1)

    def test_a_tool_that_finds_nothing(self):
        status, said = self.tidy("exit 0\n", of_planted="")
        self.assertEqual(status, 1, said)
        self.assertIn("finds nothing in a file with a fault", said)
        self.assertEqual(self.marks(), [])

    def test_a_warning(self):
        status, said = self.tidy("echo 'one_test.cc:1:1: warning: it has no definition'\n")
        self.assertEqual(status, 1, said)
        self.assertIn("no definition", said)
        self.assertEqual(self.marks(), [])

    def test_a_tool_that_dies(self):
        status, said = self.tidy("echo 'PLEASE submit a bug report'\nexit 134\n")
        self.assertEqual(status, 1, said)
        self.assertIn("PLEASE submit", said)
        self.assertIn("clang-tidy ended with status 134", said)
        self.assertEqual(self.marks(), [])


if __name__ == "__main__":
    unittest.main()
