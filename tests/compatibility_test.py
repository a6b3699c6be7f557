# SPDX-License-Identifier: GPL-2.0
"""Tests of compatibility.py: what it makes of folders of results, and that kernel/tried knows each kernel of the page."""
import pathlib
import re
import subprocess
import tempfile
import unittest

import compatibility

TOP = pathlib.Path(__file__).resolve().parents[1]
ABOUT = "release={}\nsources=0123456\nprograms=bookworm\nrdma_core=44.0-2\n"


def found(directory, version, release, **labs):
    """A folder as scripts/matrix leaves it: a log for each lab, and a status for each that came to its end."""
    folder = directory / version
    folder.mkdir()
    if release:
        (folder / "about").write_text(ABOUT.format(release), encoding="utf-8")
    for lab, (lines, ended) in labs.items():
        (folder / f"{lab}.log").write_text(lines, encoding="utf-8")
        if ended:
            (folder / f"{lab}.status").touch()


class Table(unittest.TestCase):
    def test_kernels_by_age_and_labs_by_name(self):
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            found(directory, "6.12.5+deb13-amd64", "trixie", rping=("ok 1 - a\nnot ok 2 - b\n", True), verbs=("ok 1 - a\n", False))
            found(directory, "6.1.0-9-amd64", "bookworm", rping=("ok 1 - a\nok 2 - b # SKIP c\n# ok d\n", True))
            found(directory, "6.1.0-9-cloud-amd64", None, demo=("ok 1 - demo\n", True))
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in compatibility.table(directory)]
        self.assertEqual(rows[0], ["", "6.1.0-9", "6.12.5+deb13"])
        self.assertEqual(rows[2], ["Debian", "bookworm", "trixie"])
        cells = {row[0]: row[1:] for row in rows}
        self.assertEqual(cells["rping"], ["1, 0 (1)", "1, 1"])
        self.assertEqual(cells["demo, cloud flavour"], ["1, 0", "–"])
        self.assertNotIn("verbs", cells)

    def test_matrix_knows_its_labs(self):
        """It looks for them before it looks for the kernel."""
        said = subprocess.run([TOP / "scripts/matrix", "nosuch"], capture_output=True, text=True, timeout=60, check=False).stderr
        self.assertIn("no release is called 'nosuch'", said)

    def test_kernels_of_the_page_have_been_tried(self):
        page = (TOP / "docs/compatibility.md").read_text(encoding="utf-8")
        columns = re.search(r"kernels: begin -->\n\|(.*)\|\n", page)[1].split("|")
        series = {re.match(r"\d+\.\d+", column.strip())[0] for column in columns if column.strip()}
        tried = re.search(r'^tried="(.*)"$', (TOP / "kernel/tried").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
        self.assertEqual(set(tried), series)
