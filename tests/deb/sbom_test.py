#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/sbom: what SPDX 2.3 demands of it, and that debian/copyright says of each file what the file says."""

import hashlib
import importlib.machinery
import importlib.util
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("sbom", str(TOP / "scripts/sbom"))
sbom = importlib.util.module_from_spec(importlib.util.spec_from_loader("sbom", loader))
loader.exec_module(sbom)

LINE = re.compile(r"SPDX-License-Identifier: *(.*?)(?: *(?:\*/|-->|#\}|\",?))?$", re.M)
# What a licence line may say, as SPDX has it.
LINES = {
    "GPL-2.0": "GPL-2.0-only",
    "GPL-2.0 OR BSD-2-Clause": "GPL-2.0-only OR BSD-2-Clause",
    "(GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause": "(GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause",
}
REQUIRED = {
    "document": ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"),
    "package": ("SPDXID", "name", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"),
    "file": ("SPDXID", "fileName", "checksums", "licenseConcluded", "licenseInfoInFiles", "copyrightText"),
}
TYPES = {"DESCRIBES", "CONTAINS", "DEPENDENCY_OF", "BUILD_DEPENDENCY_OF"}


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = sbom.document()

    def test_fields(self):
        for name in REQUIRED["document"]:
            self.assertTrue(self.document[name], name)
        for kind in ("package", "file"):
            for entry in self.document[f"{kind}s"]:
                for name in REQUIRED[kind]:
                    self.assertTrue(entry.get(name), f"{entry['SPDXID']}: {name}")
        self.assertRegex(self.document["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertRegex(self.document["creationInfo"]["creators"][0], r"^(Tool|Person|Organization): ")

    def test_identifiers(self):
        names = [self.document["SPDXID"]] + [entry["SPDXID"] for kind in ("packages", "files") for entry in self.document[kind]]
        self.assertEqual(len(names), len(set(names)), "two elements have the same identifier")
        for name in names:
            self.assertRegex(name, r"^SPDXRef-[A-Za-z0-9.-]+$")
        for relation in self.document["relationships"]:
            self.assertIn(relation["relationshipType"], TYPES)
            self.assertIn(relation["spdxElementId"], names)
            self.assertIn(relation["relatedSpdxElement"], names)

    def test_files(self):
        """Each file of git, once, with the sums that it has; and the code that SPDX makes of them."""
        self.assertEqual([entry["fileName"] for entry in self.document["files"]], [f"./{name}" for name in sbom.tracked()])
        sums = []
        for entry in self.document["files"]:
            content = (TOP / entry["fileName"]).read_bytes()
            for checksum in entry["checksums"]:
                made = hashlib.new(checksum["algorithm"].lower(), content).hexdigest()
                self.assertEqual(checksum["checksumValue"], made, entry["fileName"])
            sums.append(hashlib.sha1(content).hexdigest())
        code = self.document["packages"][0]["packageVerificationCode"]["packageVerificationCodeValue"]
        self.assertEqual(code, hashlib.sha1("".join(sorted(sums)).encode()).hexdigest())

    def test_licences(self):
        """A file that names its licence is under the one that debian/copyright names."""
        judged = 0
        for entry in self.document["files"]:
            name = entry["fileName"][2:]
            if name.startswith("LICENSES/"):
                continue
            head = (TOP / name).read_bytes()[:400].decode(errors="replace")
            said = LINE.search("\n".join(head.splitlines()[:3]))
            if said:
                judged += 1
                self.assertEqual(entry["licenseConcluded"], LINES.get(said.group(1), said.group(1)), name)
        self.assertGreater(judged, 400)

    def test_needs(self):
        names = {entry["name"] for entry in self.document["packages"]}
        self.assertLessEqual({"weft", "libibverbs1", "iproute2", "python3", "dkms", "debhelper"}, names)
        self.assertFalse({"libweft", "weft-dkms"} & names)


if __name__ == "__main__":
    unittest.main()
