#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints what scripts/matrix found: kernels, and what passed and failed on each.

    tests/compatibility.py [--markers DOCUMENT] DIRECTORY

DIRECTORY has a folder for each kernel, which holds "about" (release, sources, programs, rdma_core) and the logs of
labs (tests/tap.py). --markers puts the table between DOCUMENT's markers as well.
"""
import argparse
import pathlib
import sys

import tap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "perf"))
from perflib.tables import put  # noqa: E402

FIRST = ("module", "demo", "demo, cloud flavour")


def about(folder):
    return dict(line.split("=", 1) for line in (folder / "about").read_text(encoding="utf-8").splitlines())


def results(folder):
    """What each step and lab that came to its end has counted, by name; those of the cloud flavour as well."""
    for flavour, more in ((folder, ""), (folder.with_name(folder.name.replace("-amd64", "-cloud-amd64")), ", cloud flavour")):
        for status in sorted(flavour.glob("*.status")):
            passed, failed, skipped = tap.log_of(tap.lines_of(status.with_suffix(".log"))).counts()
            yield status.stem + more, f"{passed}, {failed}" + (f" ({skipped})" if skipped else "")


def version_key(folder):
    numbers = folder.name.split("+")[0].split("-")[0]
    return [int(part) for part in numbers.split(".")], folder.name


def table(directory):
    """The lines of the table: a row a lab, a column a kernel."""
    folders = sorted((path.parent for path in directory.glob("*/about") if "-cloud-" not in path.parent.name), key=version_key)
    facts = [about(folder) for folder in folders]
    found = [dict(results(folder)) for folder in folders]
    labs = sorted({lab for result in found for lab in result} - set(FIRST))
    rows = [["", *(folder.name.replace("-amd64", "") for folder in folders)], ["---"] * (len(folders) + 1)]
    for title, key in (("Debian", "release"), ("sources", "sources"), ("programs of", "programs"), ("rdma-core", "rdma_core")):
        rows.append([title, *(fact[key] for fact in facts)])
    rows += [[lab, *(result.get(lab, "–") for result in found)] for lab in (*FIRST, *labs)]
    return ["| " + " | ".join(row) + " |" for row in rows] if folders else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--markers", metavar="DOCUMENT", type=pathlib.Path)
    arguments = parser.parse_args()
    lines = "\n".join(table(arguments.directory))
    if not lines:
        sys.exit("compatibility: no kernel was tried; run scripts/matrix")
    if arguments.markers:
        put(arguments.markers, "kernels", lines + "\n")
    print(lines)


if __name__ == "__main__":
    main()
