# SPDX-License-Identifier: GPL-2.0
"""Tests of labs.py: what it makes of heads, and that a wrong one is said to be wrong, by its file and line."""
import pathlib
import tempfile
import unittest

import labs


class Heads(unittest.TestCase):
    def found(self, **scripts):
        """The labs of scripts whose heads begin in line 3."""
        folder = tempfile.TemporaryDirectory(prefix="weft-heads-")
        self.addCleanup(folder.cleanup)
        top = pathlib.Path(folder.name)
        for name, lines in scripts.items():
            (top / f"{name}.sh").write_text("\n".join(("#!/bin/bash", "# A licence", *lines, "#", "true")), encoding="utf-8")
        return labs.labs_of(sorted(top.iterdir()), top)

    def test_a_lab_for_each_head(self):
        found = self.found(last=["# lab: limit=9 where=uml"], lib=[], first=["# lab: limit=9 where=alone"],
                           two_words=["# lab: limit=9 where=uml order=2 mtu=9000 seldom", "# lab: limit=7 where=counted order=2",
                                      "# lab: limit=8 where=uml order=1 transport=sctp consumer='a b'",
                                      "# lab: limit=7 where=stock order=1 name=other"])
        self.assertEqual([lab["name"] for lab in found], ["first", "other", "two-words", "two-words-sctp", "two-words-9000", "last"])
        self.assertEqual([found[4][word] for word in ("limit", "mtu", "seldom", "script")], ["9", "9000", "yes", "two_words.sh"])
        self.assertEqual([found[3][word] for word in ("limit", "mtu", "seldom", "consumer")], ["8", "1500", "", "a b"])

    def test_what_is_wrong_is_told(self):
        for head, why in (
            ("limit=9 where=uml limt=3", "there is no word 'limt'; there are: limit where"), ("limit=9 where=moon", "'where=moon': where is =counted"),
            ("limit=soon where=uml", "'limit=soon': limit is"), ("limit=9 where=uml seldom=yes", "'seldom=yes': seldom is a word alone"),
            ("limit=9 where=uml mtu", "'mtu': mtu is"), ("where=uml", "it has no limit="), ("limit=9", "it has no where="),
            ("limit=9 where=uml allow=perftest,mistyped", "allow is"), ("limit=9 where=uml consumer='a", "No closing quotation"),
        ):
            with self.assertRaises(labs.Wrong) as caught:
                self.found(planted=[f"# lab: {head}"])
            self.assertIn("planted.sh:3: ", str(caught.exception))
            self.assertIn(why, str(caught.exception))

    def test_two_labs_of_one_name(self):
        with self.assertRaisesRegex(labs.Wrong, r"^b.sh:4: a.sh:3 is called a, too$"):
            self.found(a=["# lab: limit=9 where=uml"], b=["# lab: limit=9 where=uml", "# lab: limit=9 where=uml name=a"])

    def test_the_labs_of_this_tree(self):
        """A script of these folders that runs by itself and has no head would be run by nobody."""
        scripts = {lab["script"] for lab in labs.labs()}
        for path in (*labs.TOP.glob("tests/integration/*.sh"), *labs.TOP.glob("tests/consumers/*.sh"), *labs.TOP.glob("apps/*/test.sh")):
            if path.read_text(encoding="utf-8").startswith("#!"):
                self.assertIn(str(path.relative_to(labs.TOP)), scripts)
        for lab in labs.labs():
            if lab["judge"]:
                self.assertTrue((labs.TOP / lab["judge"]).exists(), lab["judge"])
