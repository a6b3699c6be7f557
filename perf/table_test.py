#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests what perf/table makes of several turns."""

import pathlib
import unittest

from loaded import program

HERE = pathlib.Path(__file__).resolve().parent
table = program(HERE / "table")
trial = program(HERE / "trial")
ROW = next(row for row in table.rows() if row["name"] == "send-64k")


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


class Turns(unittest.TestCase):
    def setUp(self):
        self.results = [result("tcp", rate) for rate in (100, 120, 400)]
        self.results += [result("weft", rate) for rate in (300, 200, 240)]

    def line(self):
        text = table.table({"title": "a title", "results": self.results})
        return next(line for line in text.splitlines() if line.startswith(f"| {ROW['title']} |"))

    def test_the_median_counts_and_the_spread_is_shown(self):
        self.assertEqual(self.line(), f"| {ROW['title']} | – | 120 MB/s ± 125 % | – | 240 MB/s ± 21 % (2.00 ×) |")

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
        self.results += [{"subject": subject, "row": ROW["name"], "tool": "count", "hot": cost, "l3": cost, "cold": 3 * cost}
                         for subject, cost in (("tcp", 30), ("weft", 20))]
        self.assertIn("(2.50 ×; 1.50, 1.50, 1.50)", self.line())

    def costs(self, *pairs):
        return [{"subject": subject, "row": ROW["name"], "tool": "count", "hot": cost, "l3": cost, "cold": 3 * cost} for subject, cost in pairs]

    def test_the_answer_shows_real_prices_before_counts_and_time(self):
        self.results = [result("tcp", 100), result("weft", 250)] + self.costs(("tcp", 30), ("weft", 20))
        text = table.answer({"runs": [{"instrument": "icount", "results": self.results},
                                      {"instrument": "uml", "results": [result("tcp", 100), result("weft", 170)]}]})
        self.assertIn(f"| {ROW['title']} | 1.50 / 1.50 / 1.50 (2.50; 1.70) | – |", text)

    def test_a_goal_at_real_prices_is_reached_by_its_worst_level(self):
        self.results = [result("tcp", 100), result("weft", 250)] + self.costs(("tcp", 30), ("weft", 20))
        self.results[2]["l3"] = 24
        goal = {"what": "real", "rows": [ROW["name"]], "off": ("weft", "1.1", "1.3")}
        self.assertEqual(table.verdict(self.results, goal, "off"), ["1.1 × / 1.3 ×", "1.20 × must"])

    def test_a_goal_at_real_prices_says_so_without_counts(self):
        goal = {"what": "real", "rows": [ROW["name"]], "off": ("weft", "1.1", "1.3")}
        self.assertEqual(table.verdict(self.results, goal, "off"), ["1.1 × / 1.3 ×", "**not priced**"])

    def test_a_failure_of_qperf_leaves_the_other_tool(self):
        self.results.append({"subject": "tcp", "row": ROW["name"], "tool": "qperf", "failure": "qperf said nothing"})
        self.assertEqual(self.line(), f"| {ROW['title']} | – | 120 MB/s ± 125 % | – | 240 MB/s ± 21 % (2.00 ×) |")


if __name__ == "__main__":
    unittest.main()
