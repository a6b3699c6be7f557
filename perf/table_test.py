#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests the tables that are made of several turns, and that each experiment is whole."""
import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True

from perflib import bench, commands, drawing, experiments, instruments, lab, measurement, ratios, trial  # noqa: E402 (no bytecode before)
from perflib.experiment import Experiment  # noqa: E402
from perflib.experiments import applications, lines, programs, storage  # noqa: E402
from perflib.rows import measure_steps, rows  # noqa: E402
from perflib.tables import load, write_lines  # noqa: E402

GUEST = pathlib.Path(__file__).resolve().parent / "guest"
ROW = next(row for row in rows() if row["name"] == "send-64k")


def result(subject, rate, tool="weft-perf"):
    return {"subject": subject, "row": ROW["name"], "tool": tool, "rate_mb_s": rate}


class Trial(unittest.TestCase):
    def test_what_a_row_costs_without_a_rule(self):
        found = {"an instrument": {"a row": {"weft": [200], "without-one": [230], "without-two": [199], "tcp": [1]},
                                   "another": {"weft": [100, 101, 80], "without-two": [79, 80, 10]}}}
        self.assertEqual(trial.tables(found).splitlines()[2:], ["| one | +15 |  |", "| two | · | · |"])
        found["an instrument"]["another"] = {"weft": [100, 101, 98], "without-two": [79, 80, 81]}
        self.assertEqual(trial.tables(found).splitlines()[3], "| two | · | -20 |")

    def test_of_a_rate_less_is_dearer(self):
        result = {"subject": "weft", "time_us": 50, "depth": 1, "io_s": 500, "p50_us": 1, "p99_us": 2}
        self.assertEqual([cost for _, _, cost in trial.costs(result)], [1 / 500, 2])


class Tax(unittest.TestCase):
    def test_what_the_network_adds(self):
        local, tcp, weft = (1 / 10, "", [10, 20, 30]), (1 / 30, "", [30, 60, 30]), (1 / 20, "", [20, 60, 30])
        self.assertEqual(ratios.tax(local, tcp, weft), "; tax 2.00, 1.00, –")
        self.assertEqual(ratios.tax((1 / 10, "", []), tcp, weft), "; tax 2.00")
        self.assertEqual(ratios.tax(None, tcp, weft), "")

    def test_of_two_machines_the_work_is_added(self):
        rows = [("tcp", "target", 40), ("tcp", "host", 30), ("weft", "target", 20), ("weft", "host", 25), ("local", "target", 10)]
        found = storage.Storage().gathered([{"subject": subject, "row": f"nvme-4k-read-1-{end}", "instructions": work} for subject, end, work in rows])
        self.assertEqual(list(found), [f"nvme-4k-read-1-{end}" for end in ("target", "host", "both")])
        self.assertNotIn("local", found["nvme-4k-read-1-target"])
        self.assertEqual(ratios.cell("weft", found["nvme-4k-read-1-both"]), "45, 1.56 ×; tax 1.71")


class Experiments(unittest.TestCase):
    """Shell that is made of strings is judged by no other check."""

    def steps(self):
        """The steps of each, by its name."""
        for name, entry in experiments.every().items():
            if type(entry).steps is not Experiment.steps:
                yield name, entry.steps(entry.choose([]))
        subjects = ("tcp", "weft", "without-turns")
        for kind, steps in applications.STEPS.items():
            yield kind, steps(applications.REQUESTS, (*subjects, "tcp-digest", "siw", "local"), "siw.ko", True)
        for kind in programs.KINDS:
            yield kind, programs.Programs.steps_of(kind, subjects, 2)
        yield "rows", measure_steps("full", siw="siw.ko")
        yield "virtio", instruments.Virtio().steps(subjects)
        yield "lines", lines.Lines.pairs(subjects, lines.ROWS)
        yield "lines, disk", lines.Lines.disk(subjects, ["nvme-4k-read-1"], 4)

    def test_each_is_found_and_can_be_shown(self):
        for entry in experiments.every().values():
            self.assertTrue(entry.figure or entry.raw or type(entry).table is not Experiment.table, entry.name)
            self.assertEqual(bool(entry.figure), bool(entry.caption), entry.name)

    def test_steps_are_shell_of_known_words(self):
        functions = re.compile(r"^(\w+)\(\) \{", re.M)
        known = {name for file in ("hosts", "driver", "fio", "measure") for name in functions.findall((GUEST / file).read_text(encoding="utf-8"))}
        known |= {"ip", "tc", "echo", "modprobe", "sysctl", "say", "on_a", "on_b", "printf", "cat", "insmod", "mkdir", "wait", '"$mark"', '"$agent"'}
        known |= {'"$LAB_PROJECT/scripts/lab/two-hosts"'}
        for name, steps in self.steps():
            for part in (part for step in steps for part in re.split(r" && | & ", step)):
                word = part.split()[0]
                self.assertTrue(word in known or re.match(r"\w+=", word), f"{name}: {part}")
            checked = subprocess.run(["bash", "-n"], input="\n".join(steps), capture_output=True, text=True, check=False)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))


class Refusals(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "out").mkdir()
        self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.said = self.enterContext(contextlib.redirect_stderr(io.StringIO()))

        @contextlib.contextmanager
        def silent(*_, sides=(), **__):
            yield [self.folder / "out"] * max(1, len(sides))

        self.enterContext(mock.patch.multiple(lab, lab=silent, build=lambda *_: None, must=lambda *_, **__: None, siw=lambda: "", output_of=lambda *_: ""))
        self.enterContext(mock.patch.object(lab.subprocess, "run", return_value=mock.Mock(returncode=0)))

    def test_a_lab_that_says_nothing_is_no_result(self):
        """Nor does it take the place of an older one."""
        runs = [(name,) for name in experiments.every()] + [("tails", "turns"), ("knobs", "processors"), ("programs", "only=mpi,rsockets")]
        for words in runs:
            file = self.folder / "an-older-one"
            file.write_text("{}", encoding="utf-8")
            with mock.patch.object(Experiment, "file", file), self.assertRaises(SystemExit) as end:
                commands.run([*words])
            self.assertIsInstance(end.exception.code, str, words)
            self.assertEqual(file.read_text(encoding="utf-8"), "{}", words)

    def test_what_nobody_knows_is_refused_before_a_lab_begins(self):
        for words in (("lines", "subjects=wef"), ("lines", "rows=send"), ("lines", "processors=1,,2"), ("where", "subjects=wef"), ("where", "rows=nfs"),
                      ("where", "subjects=siw"), ("slowdisk", "subjects=wef"), ("slowdisk", "subjects=weft"), ("slowdisk", "times=50,"),
                      ("storage", "rows=without-turns"), ("storage", "subjects=wef"), ("applications", "rows=without-turns"),
                      ("applications", "subjects=wef"), ("programs", "subjects=wef"), ("programs", "only=mp")):
            with mock.patch.object(lab, "lab", side_effect=AssertionError(words)):
                self.assertEqual(commands.run([*words]), 2, words)
            self.assertIn(words[0], self.said.getvalue())

    def test_siw_is_built_only_where_it_is_asked_for(self):
        with mock.patch.object(lab, "siw", side_effect=AssertionError), self.assertRaises(SystemExit):
            commands.run(["applications", "subjects=tcp,weft"])

    def test_an_instrument_that_cannot_be_had_costs_no_other(self):
        def virtio(_, __, file):
            write_lines(file, [{"subject": "lab", "kernel": "6.1"}])
            return True

        out = self.folder / "out.json"
        words = ["--instrument", "uml", "--instrument", "virtio", "--out", str(out)]
        with mock.patch.object(bench, "BENCH", self.folder), mock.patch.object(instruments.Virtio, "measure", virtio), \
                mock.patch.object(instruments.Uml, "measure", side_effect=SystemExit("there is no source")):
            self.assertEqual(bench.main(words), 1)
            self.assertEqual([run["instrument"] for run in load(out)["runs"]], ["virtio"])
            out.unlink()
            self.assertEqual(bench.main(words[:2] + words[4:]), 1)
        self.assertFalse(out.exists())
        self.assertIn("there is no source; the others go on", self.said.getvalue())

    def test_an_experiment_that_fails_costs_no_other(self):
        def virtio(_, __, file):
            write_lines(file, [{"subject": "lab", "kernel": "6.1"}])
            return True

        wrong = SystemExit("there is no disk")
        for disks, others, status, shown in ((0, 0, 0, 2), (0, 1, 1, 2), (wrong, 0, 1, 1), (wrong, wrong, 1, 0)):
            every = {"applications": mock.Mock(**{"run.side_effect": [disks]}), "programs": mock.Mock(**{"run.side_effect": [others]})}
            with mock.patch.object(bench, "BENCH", self.folder), mock.patch.object(instruments.Virtio, "measure", virtio), \
                    mock.patch.object(bench, "default_instruments", return_value=["virtio"]), mock.patch.object(bench.report, "write") as page, \
                    mock.patch.object(experiments, "every", return_value=every):
                self.assertEqual(bench.main(["--out", str(self.folder / "out.json")]), status)
            self.assertEqual(len(page.call_args.args[-1]), shown)
        self.assertIn("applications: there is no disk; the others go on", self.said.getvalue())

    def test_labs_at_once_end_with_their_own(self):
        lasts = ["sleep", "0.3"]
        self.assertEqual(lab.together(lambda job: job(), [lambda: lab.together(lab.call, [["true"]]), lambda: lab.call(lasts)]), [[0], 0])

        def fails():
            raise SystemExit(3)

        lasts = ["sleep", "60"]
        began = time.monotonic()
        with self.assertRaises(SystemExit):
            lab.together(lambda job: job(), [fails, lambda: lab.together(lab.call, [lasts]), lambda: time.sleep(0.3) or lab.call(lasts)])
        self.assertLess(time.monotonic() - began, 30)

    def test_user_mode_linux_ends_as_its_steps_do(self):
        uml = instruments.Uml()
        with mock.patch.object(uml, "work", self.folder), mock.patch.object(lab, "call", return_value=0):
            self.assertEqual(uml.boot("kernel", self.folder), 1)
            for status in (0, 3):
                (self.folder / "status").write_text(f"{status}\n", encoding="ascii")
                self.assertEqual(uml.boot("kernel", self.folder), status)

    def test_without_gnuplot_a_line_says_so(self):
        with mock.patch.dict(os.environ, PATH=""), self.assertRaisesRegex(SystemExit, "gnuplot"):
            drawing.gnuplot("plot")


class Turns(unittest.TestCase):
    def setUp(self):
        self.results = [result("tcp", rate) for rate in (100, 120, 400)]
        self.results += [result("weft", rate) for rate in (300, 200, 240)]

    def line(self):
        text = measurement.run_table({"title": "a title", "results": self.results})
        return next(line for line in text.splitlines() if line.startswith(f"| {ROW['title']} |"))

    def test_the_median_counts_and_the_spread_is_shown(self):
        self.assertEqual(self.line(), f"| {ROW['title']} | – | 120 MB/s ± 125 % | – | 240 MB/s ± 21 % (2.00 ×) |")

    @unittest.skipUnless(shutil.which("gnuplot"), "there is no gnuplot")
    def test_a_subject_without_a_ratio_has_no_bar(self):
        self.assertIn("a row", drawing.bars("a title", {"a row": [2, None], "another": [None, None]}, ["red", "blue"]))

    def test_of_a_single_turn_there_is_no_spread(self):
        self.results = [result("tcp", 100), result("weft", 250)]
        self.assertEqual(self.line(), f"| {ROW['title']} | – | 100 MB/s | – | 250 MB/s (2.50 ×) |")

    def test_one_turn_that_fails_is_no_median_of_the_others(self):
        self.results.insert(4, {"subject": "weft", "row": ROW["name"], "failure": "hangs"})
        self.assertTrue(self.line().endswith("| hangs |"), self.line())

    def test_the_better_of_two_tools_is_the_reference(self):
        for rate, ratio in ((100, "2.00"), (160, "1.50")):
            self.results = [result("tcp", 120), result("tcp", rate, "qperf"), result("weft", 240)]
            self.assertIn(f"({ratio} ×)", self.line())

    def test_several_messages_in_a_call_may_be_the_reference(self):
        self.results = [result("tcp", 100), result("tcp-gather", 400), result("weft", 200)]
        self.results += self.costs(("tcp", 30), ("tcp-gather", 10), ("weft", 20))
        self.assertIn("| 400 MB/s | 200 MB/s (0.50 ×; 0.50, 0.50, 0.50) |", self.line())

    def test_costs_at_real_prices_follow_the_ratio(self):
        self.results = [result("tcp", 100), result("weft", 250)]
        self.results += self.costs(("tcp", 30), ("weft", 20))
        self.assertIn("(2.50 ×; 1.50, 1.50, 1.50)", self.line())

    def costs(self, *pairs):
        return [{"subject": subject, "row": ROW["name"], "tool": "count", "hot": cost, "l3": cost, "cold": 3 * cost} for subject, cost in pairs]

    def test_the_answer_shows_real_prices_before_counts_and_time(self):
        self.results = [result("tcp", 100), result("weft", 250)] + self.costs(("tcp", 30), ("weft", 20))
        text = measurement.answer({"runs": [{"instrument": "icount", "results": self.results},
                                      {"instrument": "uml", "results": [result("tcp", 100), result("weft", 170)]}]})
        self.assertIn(f"| {ROW['title']} | 1.50 / 1.50 / 1.50 (2.50; 1.70) | – |", text)

    def test_a_goal_at_real_prices_is_reached_by_its_worst_level(self):
        self.results = [result("tcp", 100), result("weft", 250)] + self.costs(("tcp", 30), ("weft", 20))
        self.results[2]["l3"] = 24
        goal = {"what": "real", "rows": [ROW["name"]], "off": ("weft", "1.1", "1.3")}
        self.assertEqual(measurement.verdict(self.results, goal, "off"), ["1.1 × / 1.3 ×", "1.20 × must"])

    def test_a_goal_at_real_prices_says_so_without_counts(self):
        goal = {"what": "real", "rows": [ROW["name"]], "off": ("weft", "1.1", "1.3")}
        self.assertEqual(measurement.verdict(self.results, goal, "off"), ["1.1 × / 1.3 ×", "**not priced**"])

    def test_a_failure_of_qperf_leaves_the_other_tool(self):
        self.results.append({"subject": "tcp", "row": ROW["name"], "tool": "qperf", "failure": "qperf said nothing"})
        self.assertEqual(self.line(), f"| {ROW['title']} | – | 120 MB/s ± 125 % | – | 240 MB/s ± 21 % (2.00 ×) |")


if __name__ == "__main__":
    unittest.main()
