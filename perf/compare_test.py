#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests the comparison of perf/compare, which decides for the gate, on copies of the reference with planted changes."""
import copy
import sys
import unittest

sys.dont_write_bytecode = True
from perflib import gate, tables  # noqa: E402

ROW = "send-64k"


class Compare(unittest.TestCase):
    def setUp(self):
        self.reference = tables.load(gate.REFERENCE)
        self.now = copy.deepcopy(self.reference)

    def ours(self, of):
        """The results of one row of Weft's."""
        return [result for result in of["runs"][0]["results"] if (result["row"], result["subject"]) == (ROW, "weft")]

    def make(self, factor, of=None):
        """That row's rate, changed."""
        (result,) = self.ours(of or self.now)
        for field in ("rate_msg_s", "rate_mb_s"):
            result[field] *= factor

    def failures(self, *again):
        well, said = gate.compare(self.reference, [self.now, *again])
        failures = [line for line in said if line.startswith("not ok")]
        self.assertEqual(well, not failures, said)
        return failures

    def expect(self, text):
        (failure,) = self.failures()
        self.assertIn(text, failure)

    def test_the_same(self):
        self.assertEqual(self.failures(), [])

    def test_dearer_once_of_three_times(self):
        """One of three measurements was disturbed, up or down; a tree that is dearer is so in two."""
        self.make(1 / 1.10)
        cheap = copy.deepcopy(self.reference)
        self.make(1.5, cheap)
        self.assertEqual(self.failures(self.reference, self.reference), [])
        self.assertEqual(len(self.failures(self.now, self.reference)), 1)
        self.assertEqual(len(self.failures(self.now, cheap)), 1)

    def test_gone_two_of_three_times(self):
        gone = copy.deepcopy(self.reference)
        gone["runs"][0]["results"].remove(*self.ours(gone))
        self.assertEqual(self.failures(self.reference, gone), [])
        self.assertEqual(len(self.failures(gone, gone)), 1)

    def test_a_little(self):
        self.make(1 / 1.02)
        self.assertEqual(self.failures(), [])
        self.make(1.06)
        self.assertEqual(self.failures(), [])

    def test_dearer(self):
        self.make(1 / 1.04)
        self.expect("dearer")

    def test_much_cheaper(self):
        self.make(1.4)
        self.expect("cheaper")

    def test_row_gone(self):
        self.now["runs"][0]["results"].remove(*self.ours(self.now))
        self.expect("not measured any more")

    def test_row_fails(self):
        self.ours(self.now)[0]["failure"] = "hangs"
        self.expect("hangs")

    def test_instrument_gone(self):
        self.now["runs"].pop()
        self.expect("not measured any more")

    def application(self):
        """One row of NVMe over Weft, and the results that it is of."""
        results = next(run["results"] for run in self.now["runs"] if run["instrument"] == "applications")
        return results, next(result for result in results if (result["row"], result["subject"]) == ("nvme-4k-read-1", "weft"))

    def test_application_dearer(self):
        _, result = self.application()
        result["io_s"] /= 1.02
        self.assertEqual(self.failures(), [])
        result["io_s"] /= 1.02
        self.expect("nvme-4k-read-1, weft, applications: +4.0 %")

    def test_application_gone(self):
        results, result = self.application()
        results.remove(result)
        self.expect("nvme-4k-read-1, weft, applications: not measured any more")

    def test_another_kernel(self):
        self.now["kernel"] = "another than " + self.reference["kernel"]
        self.make(1 / 1.1)
        self.assertEqual(self.failures(), [])
        self.make(1 / 1.1)
        self.expect("dearer")


if __name__ == "__main__":
    unittest.main()
