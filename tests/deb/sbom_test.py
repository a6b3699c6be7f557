#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/sbom: what SPDX 2.3 demands of it, and that debian/copyright says of each file what the file says.

They judge what it says of this tree and of a package made here, or the file that WEFT_SBOM names, which lies beside its packages.
"""

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
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
TYPES = {"DESCRIBES", "CONTAINS", "DEPENDENCY_OF", "BUILD_DEPENDENCY_OF", "GENERATED_FROM"}
CONTROL = """Package: libweft
Version: 9.9+deb99
Architecture: amd64
Maintainer: Nobody <nobody@weft.example>
Depends: libibverbs1 (>= 44), libibverbs1 (<< 45~), libc6 (>= 2.34) | musl
Description: a package
"""


def package(directory):
    """A package with nothing in it, and its path."""
    control = pathlib.Path(directory, "tree/DEBIAN/control")
    control.parent.mkdir(parents=True)
    control.write_text(CONTROL, encoding="utf-8")
    path = pathlib.Path(directory, "libweft.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", control.parents[1], path], check=True, capture_output=True)
    return path


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        given = os.environ.get("WEFT_SBOM")
        if given:
            cls.beside, cls.own = pathlib.Path(given).parent, {"weft", "weft-dkms", "libweft"}
            cls.document = json.loads(pathlib.Path(given).read_text(encoding="utf-8"))
        else:
            made = tempfile.TemporaryDirectory()
            cls.addClassCleanup(made.cleanup)
            cls.beside, cls.own = pathlib.Path(made.name), {"libweft"}
            cls.document = sbom.document([package(made.name)])

    def test_fields(self):
        for name in REQUIRED["document"]:
            self.assertTrue(self.document[name], name)
        for kind in ("package", "file"):
            for entry in self.document[f"{kind}s"]:
                for name in REQUIRED[kind]:
                    self.assertTrue(entry.get(name), f"{entry['SPDXID']}: {name}")
        self.assertRegex(self.document["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertRegex(self.document["creationInfo"]["creators"][0], r"^(Tool|Person|Organization): ")
        self.assertRegex(self.document["documentNamespace"], r"^https://[^#]+-[0-9a-f]{64}$")

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
        needed = {entry["name"] for entry in self.document["packages"] if entry["SPDXID"].startswith("SPDXRef-Debian-")}
        self.assertFalse({"weft", "libweft", "weft-dkms"} & needed, "our own, taken for Debian's")

    def test_packages(self):
        """Each package that was built, by the sum of its file, is made of the tree, and needs what its own control file says."""
        tree = self.document["packages"][0]["SPDXID"]
        built = [entry for entry in self.document["packages"] if "packageFileName" in entry]
        self.assertLessEqual(self.own, {entry["name"] for entry in built})
        self.assertEqual({entry["packageFileName"] for entry in built}, {path.name for path in self.beside.glob("*.deb")})
        relations = {tuple(relation.values()) for relation in self.document["relationships"]}
        for entry in built:
            path = self.beside / entry["packageFileName"]
            self.assertEqual(entry["checksums"][0]["checksumValue"], hashlib.sha256(path.read_bytes()).hexdigest(), path.name)
            self.assertIn((entry["SPDXID"], "GENERATED_FROM", tree), relations)
            depends = subprocess.run(["dpkg-deb", "-f", path, "Depends"], check=True, capture_output=True, text=True).stdout.strip()
            self.assertEqual(entry["comment"], f"Depends: {depends}")
            # Another way than scripts/sbom reads them: what is left of each word without versions and architectures.
            words = {re.sub(r"[(:].*", "", word).strip() for word in depends.replace("|", ",").split(",")}
            needed = {self.name(first) for first, kind, second in relations if (kind, second) == ("DEPENDENCY_OF", entry["SPDXID"])}
            self.assertEqual(needed, words)

    def name(self, identifier):
        return next(entry["name"] for entry in self.document["packages"] if entry["SPDXID"] == identifier)

    def test_same_again(self):
        """The same tree and packages give the same text, other ones another name."""
        with tempfile.TemporaryDirectory() as directory:
            path = package(directory)
            first = sbom.document([path])
            self.assertEqual(json.dumps(first), json.dumps(sbom.document([path])))
            self.assertNotEqual(first["documentNamespace"], sbom.document()["documentNamespace"])


if __name__ == "__main__":
    unittest.main()
