#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of the page of papers, with results that are made up: what must be in it, and what is refused."""
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import page  # pylint: disable=wrong-import-position
import record  # pylint: disable=wrong-import-position

GOOD = {"name": "made", "title": "Made <up>", "experiments": [
    {"title": "Rate & size", "what": "One | what.", "paper": "A shape.", "xlabel": "it's bytes", "ylabel": "rate", "logx": True,
     "series": [{"name": "rdma", "points": [[1, 2.5], [1024, 3]]}, {"name": "tcp", "points": [[1, 2]]}],
     "table": [["size", "a|b"], ["1", "2.5"]], "verdict": "same trend"},
    {"title": "Only a table", "what": "Another.", "paper": "", "xlabel": "", "ylabel": "", "logx": False, "series": [],
     "table": [["x"], [7]], "verdict": ""}]}


class Records(unittest.TestCase):
    def test_a_good_one_is_taken(self):
        record.check("f", GOOD)

    def test_each_wrong_one_is_named(self):
        def first(**changes):
            return lambda r: r["experiments"][0].update(changes)

        def second(**changes):
            return lambda r: r["experiments"][1].update(changes)

        def tcp(**changes):
            return lambda r: r["experiments"][0]["series"][1].update(changes)
        point = "experiment 1 has a point of the series 'tcp' that is no pair of numbers:"
        cases = {
            "the file has no text 'name'": lambda r: r.pop("name"),
            "the file has an empty 'title'": lambda r: r.update(title=""),
            "the file has no experiments": lambda r: r.update(experiments=[]),
            "experiment 1 is no object": lambda r: r.update(experiments=[3]),
            "experiment 2 has no text 'what'": lambda r: r["experiments"][1].pop("what"),
            "experiment 1 has no 'logx' that is true or false": first(logx="yes"),
            "experiment 1 has no list 'series'": lambda r: r["experiments"][0].pop("series"),
            "experiment 1 has a series without a name": first(series=[{}]),
            "experiment 1 has no points in the series 'tcp'": tcp(points=[]),
            f"{point} [1, 'x']": tcp(points=[[1, "x"]]),
            f"{point} [1, nan]": tcp(points=[[1, float("nan")]]),
            f"{point} [1, {10 ** 400}]": tcp(points=[[1, 10 ** 400]]),
            "experiment 1 has a row of 1 columns in a table of 2: ['1']": first(table=[["a", "b"], ["1"]]),
            "experiment 2 has a row of 0 columns in a table of 0: []": second(table=[[]]),
            "experiment 2 has a cell that is neither text nor number in the row [None]": second(table=[["x"], [None]]),
            "experiment 2 has neither series nor table": second(table=[]),
            "experiment 1 has x values in the series 'tcp' that no logarithmic axis has": tcp(points=[[0, 1]]),
        }
        with self.assertRaisesRegex(record.Wrong, "^f: the file holds no object$"):
            record.check("f", [])
        for said, spoil in cases.items():
            bad = copy.deepcopy(GOOD)
            spoil(bad)
            with self.subTest(said), self.assertRaises(record.Wrong) as caught:
                record.check("f", bad)
            self.assertEqual(str(caught.exception), f"f: {said}")


class Pages(unittest.TestCase):
    def test_a_page_has_all_and_stands_for_itself(self):
        text = page.page([GOOD])
        for part in ("Made &lt;up&gt;", "Rate &amp; size", "The paper: A shape.", "same trend", "<td>2.5</td>", "Only a table"):
            self.assertIn(part, text)
        self.assertEqual((text.count("<svg"), text.count("</svg>")), (1, 1))
        self.assertRegex(text, r"it('|&#39;|&apos;)s bytes")
        # Whatever a browser would fetch is in the page itself.
        self.assertEqual([to for to in re.findall(r"""(?:href|src)\s*=\s*["']?([^"'\s>]*)""", text) if not to.startswith("#")], [])
        self.assertNotRegex(text, r"(?i)<(script|img|link|iframe|object|embed|base)\b|@import|url\((?!['\"]?#)")

    def test_texts_of_a_record_are_no_markup(self):
        evil = "</svg></title><script>alert('a')</script>\n\"&"
        bad = copy.deepcopy(GOOD)
        bad.update(name=evil, title=evil)
        for one in bad["experiments"]:
            one.update({key: evil for key in record.TEXTS}, table=[[evil], [evil]])
        for series in bad["experiments"][0]["series"]:
            series["name"] = evil
        record.check("f", bad)
        text = page.page([bad])
        self.assertNotIn("<script", text)
        self.assertEqual(text.count("</svg>"), 1)
        self.assertNotIn(f'"{evil}', text)

    def test_a_figure_shows_values_below_zero(self):
        svg = page.figure(dict(GOOD["experiments"][0], series=[{"name": "made", "points": [[1, -5], [2, -3]]}]))
        self.assertIn("made", svg)

    def test_a_figure_has_each_series(self):
        self.assertRegex(page.figure(GOOD["experiments"][0]), "(?s)rdma.*tcp")

    def test_markdown_has_tables(self):
        self.assertIn("| size | a\\|b |\n| --- | --- |\n| 1 | 2.5 |", page.markdown([GOOD]))

    def test_series_without_a_table_become_one(self):
        experiment = copy.deepcopy(dict(GOOD["experiments"][0], table=[]))
        experiment["series"][0]["points"][0][1] = 12345.6
        self.assertEqual(page.table_of(experiment), ("By it's bytes: rate.", [["it's bytes", "rdma", "tcp"], ["1", "12346", "2"],
                                                                              ["1024", "3", ""]]))
        for text in (page.page([dict(GOOD, experiments=[experiment])]), page.markdown([dict(GOOD, experiments=[experiment])])):
            self.assertIn("12346", text)


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.made = self.folder / "made.json"
        self.made.write_text(json.dumps(GOOD), encoding="utf-8")

    def document(self, text):
        document = self.folder / "d.md"
        document.write_text(text, encoding="utf-8")
        return document, self.papers("--document", str(document))

    def papers(self, *words):
        return subprocess.run([sys.executable, str(HERE / "papers"), "--from", str(self.folder), "--into", str(self.folder), *words],
                              capture_output=True, text=True, check=False)

    def test_results_become_a_page_and_a_document(self):
        document, done = self.document("before\n<!-- papers: begin -->\nold\n<!-- papers: end -->\nafter\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Made &lt;up&gt;", (self.folder / "index.html").read_text(encoding="utf-8"))
        text = document.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("before\n<!-- papers: begin -->\n\n## Made <up>\n"))
        self.assertTrue(text.endswith("<!-- papers: end -->\nafter\n"))
        self.assertNotIn("old", text)

    def test_a_document_without_markers_stays(self):
        document, done = self.document("before\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no line '<!-- papers: begin -->'", done.stderr)
        self.assertEqual(document.read_text(encoding="utf-8"), "before\n")

    def test_what_is_no_json_is_said_and_the_rest_is_shown(self):
        (self.folder / "bad.json").write_text('{"name": ', encoding="utf-8")
        done = self.papers()
        self.assertEqual(done.returncode, 1)
        self.assertIn("bad.json: is no JSON: ", done.stderr)
        self.assertTrue((self.folder / "index.html").exists())

    def test_a_document_keeps_what_it_has_if_something_failed(self):
        (self.folder / "bad.json").write_text("[" * 100000, encoding="utf-8")
        old = "<!-- papers: begin -->\nold\n<!-- papers: end -->\n"
        document, done = self.document(old)
        self.assertEqual(done.returncode, 1)
        self.assertIn("d.md stays as it was", done.stderr)
        self.assertIn("bad.json: is no JSON: ", done.stderr)
        self.assertEqual(document.read_text(encoding="utf-8"), old)
        self.assertEqual([one.name for one in self.folder.glob("*partial*")], [])

    def test_nothing_at_all_is_said(self):
        self.made.unlink()
        done = self.papers()
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no result in", done.stderr)
        self.assertIn("nowhere.json: No such file", self.papers("nowhere").stderr)

    def test_a_folder_that_can_not_be_made_is_said(self):
        for into in (self.made, self.made / "below"):
            done = self.papers("--into", str(into))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^papers: the folder .*made.json\S* can't be made: .*; name another\n$")


if __name__ == "__main__":
    unittest.main()
