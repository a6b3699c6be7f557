#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests perf/compare, which decides for the gate, on copies of the reference with planted changes."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROW = "send-64k"


class Compare(unittest.TestCase):
    def setUp(self):
        self.reference = json.loads((HERE / "reference.json").read_text(encoding="utf-8"))
        self.now = copy.deepcopy(self.reference)

    def ours(self):
        """The results of one row of Weft's."""
        return [result for result in self.now["runs"][0]["results"]
                if result["row"] == ROW and result["subject"] == "weft"]

    def make(self, factor):
        """That row's rate, changed."""
        (result,) = self.ours()
        for field in ("rate_msg_s", "rate_mb_s"):
            result[field] *= factor

    def verdict(self, *arguments, again=()):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            measured = [(f"b{number}", content) for number, content in enumerate([self.now, *again])]
            for name, content in [("a", self.reference), *measured]:
                files.append(f"{folder}/{name}.json")
                pathlib.Path(files[-1]).write_text(json.dumps(content), encoding="utf-8")
            run = subprocess.run([sys.executable, "-W", "ignore", HERE / "compare", *files, *arguments],
                                 capture_output=True, text=True, check=False)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        failures = [line for line in run.stdout.splitlines() if line.startswith("not ok")]
        self.assertEqual(run.returncode, bool(failures), run.stdout + run.stderr)
        return failures

    def expect(self, text):
        failures = self.verdict()
        self.assertEqual(len(failures), 1, failures)
        self.assertIn(text, failures[0])

    def test_the_same(self):
        self.assertEqual(self.verdict(), [])

    def test_dearer_once_of_three_times(self):
        """One of three measurements was disturbed, up or down; a tree that is dearer is so in two."""
        self.make(1 / 1.10)
        cheap = copy.deepcopy(self.reference)
        for result in cheap["runs"][0]["results"]:
            if result["row"] == ROW and result["subject"] == "weft":
                result["rate_msg_s"] *= 1.5
                result["rate_mb_s"] *= 1.5
        self.assertEqual(self.verdict(again=[self.reference, self.reference]), [])
        self.assertEqual(len(self.verdict(again=[self.now, self.reference])), 1)
        self.assertEqual(len(self.verdict(again=[self.now, cheap])), 1)

    def test_gone_two_of_three_times(self):
        gone = copy.deepcopy(self.reference)
        gone["runs"][0]["results"] = [result for result in gone["runs"][0]["results"]
                                      if (result["row"], result["subject"]) != (ROW, "weft")]
        self.assertEqual(self.verdict(again=[self.reference, gone]), [])
        self.assertEqual(len(self.verdict(again=[gone, gone])), 1)

    def test_a_little(self):
        self.make(1 / 1.02)
        self.assertEqual(self.verdict(), [])
        self.make(1.06)
        self.assertEqual(self.verdict(), [])

    def test_dearer(self):
        self.make(1 / 1.04)
        self.expect("dearer")

    def test_much_cheaper(self):
        self.make(1.4)
        self.expect("cheaper")

    def test_row_gone(self):
        results = self.now["runs"][0]["results"]
        for result in self.ours():
            results.remove(result)
        self.expect("not measured any more")

    def test_row_fails(self):
        (result,) = self.ours()
        result["failure"] = "hangs"
        self.expect("hangs")

    def test_instrument_gone(self):
        self.now["runs"].pop()
        self.expect("not measured any more")

    def application(self):
        """One row of NVMe over Weft, and the run that it is of."""
        run = next(run for run in self.now["runs"] if run["instrument"] == "applications")
        return run, next(result for result in run["results"]
                         if (result["row"], result["subject"]) == ("nvme-4k-read-1", "weft"))

    def test_application_dearer(self):
        _, result = self.application()
        result["io_s"] /= 1.02
        self.assertEqual(self.verdict(), [])
        result["io_s"] /= 1.02
        self.expect("nvme-4k-read-1, weft, applications: +4.0 %")

    def test_application_gone(self):
        run, result = self.application()
        run["results"].remove(result)
        self.expect("nvme-4k-read-1, weft, applications: not measured any more")

    def test_another_kernel(self):
        self.now["kernel"] = "another than " + self.reference["kernel"]
        self.make(1 / 1.1)
        self.assertEqual(self.verdict(), [])
        self.make(1 / 1.1)
        self.expect("dearer")


if __name__ == "__main__":
    unittest.main()
