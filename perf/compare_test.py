#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests the comparison of perf/compare, which decides for the gate, on copies of the reference with planted changes."""
import contextlib
import copy
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
from perflib import commands, gate, lab, tables, trial  # noqa: E402

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

    def test_failed_in_the_reference(self):
        """A row without a cost to compare with guards nothing."""
        self.ours(self.reference)[0]["failure"] = "hangs"
        self.expect("A has no cost: hangs")

    def test_nothing_is_lost_by_accepting(self):
        self.assertEqual(list(gate.lost(self.reference, self.now)), [])
        new = copy.deepcopy(self.ours(self.now)[0]) | {"row": "send-4k", "failure": "hangs"}
        for plant, lost in (
            (lambda results: results.remove(self.ours(self.now)[0]), ["send-64k, weft, icount"]),
            (lambda results: results.append(new), ["send-4k, weft, icount"]),
            (lambda results: results.remove(next(result for result in results if result["row"] == ROW)),
             ["send-64k, weft, icount", "send-64k, weft-crc, icount"]),
            (lambda _: self.now["runs"].pop(), [f"nvme-{row}, weft, applications" for row in ("4k-read-1", "4k-write-32", "128k-read-8")]),
        ):
            self.now = copy.deepcopy(self.reference)
            plant(self.now["runs"][0]["results"])
            self.assertEqual(list(gate.lost(self.reference, self.now)), lost)

    def test_a_lost_row_is_not_accepted(self):
        self.now["runs"][0]["results"].remove(*self.ours(self.now))
        with mock.patch.multiple(gate, measure=lambda _: self.now), mock.patch.object(lab, "output_of", return_value=""), \
             mock.patch.object(gate.shutil, "copyfile") as copyfile, mock.patch("builtins.print"):
            self.assertEqual(gate.accept(), 1)
            copyfile.assert_not_called()
            self.now = copy.deepcopy(self.reference)
            self.assertEqual(gate.accept(), 0)
            copyfile.assert_called_once()

    @unittest.skipIf(lab.output_of("git", "rev-parse", "--is-shallow-repository") != "false", "this copy has no whole history")
    def test_the_reference_can_be_measured_again(self):
        """On another kernel the gate measures the revision whose costs are accepted."""
        named = lab.output_of("git", "merge-base", "HEAD", self.reference["revision"])
        self.assertTrue(named.startswith(self.reference["revision"]), "perf/reference.json is of a revision that is in no history")


class Commands(unittest.TestCase):
    """Their exit status, on files."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    @staticmethod
    def status(command, *words):
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                return command([str(word) for word in words])
            except SystemExit as end:
                return 1 if isinstance(end.code, str) else end.code

    def test_compare(self):
        def status(b):
            return subprocess.run([tables.PERF / "compare", gate.REFERENCE, b], capture_output=True, check=False).returncode

        self.assertEqual(status(gate.REFERENCE), 0)
        dearer = copy.deepcopy(tables.load(gate.REFERENCE))
        for result in dearer["runs"][0]["results"]:
            result["rate_mb_s"] = result.get("rate_mb_s", 1) / 1.1
        self.assertEqual(status(self.file("dearer.json", json.dumps(dearer))), 1)

    def test_a_file_that_is_none_of_ours(self):
        """A line says so."""
        document = self.file("document.md", "<!-- trial: begin -->\n<!-- trial: end -->\n<!-- table: begin -->\n<!-- table: end -->\n")
        was = document.read_text(encoding="utf-8")
        whole = tables.load(gate.REFERENCE)
        for text in ("", "[", "3", "[1]", "{}", '{"runs": 3}', '{"runs": [{}]}', json.dumps(whole | {"date": 3}),
                     json.dumps(whole | {"runs": [whole["runs"][0] | {"results": [{"row": ROW, "subject": "weft"}, 3]}]}),
                     '{"subject": "weft", "processors": 2}', '{"subject": "weft", "depth": 1, "time_us": 1, "io_s": 0}'):
            bad = self.file("lines.json", text)
            for command, *words in ((gate.compare_command, bad, bad), (commands.table, bad), (commands.table, bad, "--markers", document),
                                    (trial.main, bad), (trial.main, bad, "--markers", document)):
                self.assertEqual(self.status(command, *words), 1, (command, text))
        self.assertEqual(document.read_text(encoding="utf-8"), was)

    def test_no_document_is_written_if_one_has_no_markers(self):
        """Not even those before it."""
        good, bad = self.file("good.md", "<!-- table: begin -->\n<!-- table: end -->\n"), self.file("bad.md", "")
        for other in (bad, self.folder / "none.md"):
            self.assertEqual(self.status(commands.table, gate.REFERENCE, "--markers", good, other), 1)
            self.assertEqual(good.read_text(encoding="utf-8"), "<!-- table: begin -->\n<!-- table: end -->\n")
        self.assertEqual(self.status(commands.table, gate.REFERENCE, "--markers", good), 0)
        self.assertIn("send 64 KiB", good.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
