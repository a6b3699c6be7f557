#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what the experiments of apps/ make of a lab's lines, with labs that are made up: nothing may become a number that
was not measured."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import lab  # pylint: disable=wrong-import-position

ROW = re.compile(r"^row (\w+) (\{.*\})$")


def load(name):
    """The experiment of a program, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(HERE.parent / name / "experiment"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def run(script, total):
    """What lab.run() returns for a lab that is this script."""
    with contextlib.redirect_stdout(io.StringIO()):
        return lab.run(["sh", "-c", script], lambda line: lab.row(ROW, line) is not None, total)


def python(*words):
    return subprocess.run([sys.executable, "-B", *words], capture_output=True, text=True, check=False)


class Labs(unittest.TestCase):
    def test_a_row_is_read(self):
        self.assertEqual(lab.row(ROW, 'row a {"x": 1}'), ("a", {"x": 1}))
        self.assertIsNone(lab.row(ROW, "# row a"))

    def test_a_row_that_is_none_is_refused(self):
        for line in ("row a", 'row a {"x": ', 'row a {"x": 1} [ 12.3] weft: said in between', 'row a {"x": one}'):
            with self.subTest(line), self.assertRaises(ValueError):
                lab.row(ROW, line)

    def test_a_lab_that_measured_all_is_taken(self):
        self.assertEqual(run("echo '# begins'; echo 'row a {}'; echo 'row b {}'", 2), (0, ["# begins", "row a {}", "row b {}"], []))

    def test_what_a_lab_lacks_is_said(self):
        self.assertEqual(run("echo 'row a {}'; exit 3", 1)[0], 3)
        self.assertEqual(run("echo 'row a {}'", 2)[2], ["1 of 2 results came"])
        self.assertEqual(run("echo 'row a {}'; echo 'row a {}'", 1)[2], ["2 of 1 results came"])
        self.assertEqual(run("echo 'failed a: why'", 0)[2], ["failed a: why"])
        self.assertEqual(run("echo 'row a'; echo 'row a {}'", 1)[2], ["row a: no result"])
        self.assertEqual(run(r"printf 'row \377\n'; echo 'row a {}'", 1)[2], ["row \ufffd: no result"])

    def test_a_record_that_is_none_is_not_written(self):
        with tempfile.TemporaryDirectory() as folder:
            outdir = pathlib.Path(folder)
            with self.assertRaisesRegex(SystemExit, "made.json: the file has no text 'title'"):
                lab.write(outdir, {"name": "made"})
            self.assertEqual(list(outdir.iterdir()), [])

    def test_a_record_that_can_not_be_written_is_said_and_an_older_one_stays(self):
        # What is written fails at once here, as on a full disk.
        script = ("import pathlib, resource, signal, sys; sys.path.insert(0, sys.argv[1]); import lab;"
                  "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
                  "lab.write_file(pathlib.Path(sys.argv[2]), 'new')")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "made.json"
            file.write_text("old", encoding="utf-8")
            done = python("-c", script, str(HERE), str(file))
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^experiment: .*made.json can't be written: .*\n$")
            self.assertEqual([one.read_text(encoding="utf-8") for one in pathlib.Path(folder).iterdir()], ["old"])

    def test_an_interrupt_is_said_in_a_line(self):
        program = (f"import sys; sys.path.insert(0, {str(HERE)!r}); import lab; sys.argv = ['experiment', sys.argv[1]]; "
                   "lab.arguments('', ''); raise KeyboardInterrupt")
        with tempfile.TemporaryDirectory() as folder:
            ended = python("-c", program, folder)
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(ended.stderr, "experiment: interrupted; no record was written, and an older one stays\n")

    def test_a_folder_that_can_not_be_made_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "made.json"
            file.touch()
            for name in ("isosurface", "mpi", "rdistcc", "sharedmemory"):
                done = python(str(HERE.parent / name / "experiment"), str(file / "below"))
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"^experiment: the folder .* can't be made: .*; name another\n$")


class Mpi(unittest.TestCase):
    mpi = load("mpi")

    def test_what_was_measured_twice_is_the_median(self):
        lines = [f'row tcp 0 {{"experiment": "latency", "size": {size}, "median_us": {value}}}'
                 for size, value in ((2, 9), (1, 5), (2, 7))]
        self.assertEqual(self.mpi.Results(lines).points("tcp", "size", "median_us", experiment="latency"), [[1, 5], [2, 8]])

    def test_a_curve_that_lacks_a_point_is_refused(self):
        whole = [[1, 2], [2, 3]]
        made = self.mpi.experiment("Made", "what", "", ("x", "y"), {"tcp": whole, "rdma": whole}, "verdict")
        self.assertEqual([one["name"] for one in made["series"]], ["tcp", "rdma"])
        for points in ([], [[1, 2]], [[1, 2], [4, 3]]):
            with self.assertRaisesRegex(SystemExit, "'Made' was not measured for all of 'rdma' or all of 'tcp'"):
                self.mpi.experiment("Made", "what", "", ("x", "y"), {"tcp": whole, "rdma": points}, "verdict")

    def test_a_lab_is_counted_by_what_ends_each_experiment(self):
        self.assertTrue(self.mpi.weight('row tcp 0.5 {"experiment": "traffic"}'))
        self.assertTrue(self.mpi.weight('row verbs 0 {"experiment": "connections"}'))
        self.assertFalse(self.mpi.weight('row tcp 0 {"experiment": "latency"}'))
        self.assertFalse(self.mpi.weight("# lab"))


class Rdistcc(unittest.TestCase):
    rdistcc = load("rdistcc")

    def test_copies_are_set_beside_the_bytes_of_the_same_file(self):
        jobs = [json.dumps({"source": source, "bytes_out": size, "bytes_in": size}) for source, size in (("a.c", 50), ("b.c", 500))]
        rows = self.rdistcc.Rows([*(f"job rdma {job}" for job in jobs),
                                  *(f"copied {how} a.c {count}" for how, count in (("rdma", 100), ("tcp", 250), ("distcc", 400)))])
        made = self.rdistcc.copies(rows)
        self.assertEqual(made["table"][1:], [["rdma", "100", "1.00"], ["tcp", "250", "2.50"], ["distcc", "400", "4.00"]])
        self.assertIn("a.c, whose preprocessed source and object have 100 bytes", made["what"])

    def test_what_is_no_result_is_refused(self):
        for line in ("row rdma 1 2.5", "row rdma 1 2.5 x", "job rdma {", "copied rdma a.c", "copied rdma a.c [ 1.2] weft"):
            with self.subTest(line), self.assertRaises(ValueError):
                self.rdistcc.Rows([line])
        self.assertFalse(self.rdistcc.Rows([]).add("# lab"))


if __name__ == "__main__":
    unittest.main()
