#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Prints what scripts/matrix found: kernels, and what passed and failed on each.

    tests/compatibility.py [--page] DIRECTORY

DIRECTORY has a folder for each kernel, which holds "about" (release, sources, programs, rdma_core) and the logs of
labs, whose lines are counted as tests/verdict.py does. --page prints the whole of docs/compatibility.md.
"""

import pathlib
import sys

KINDS = ("ok ", "not ok ", "skip ")
FIRST = ("module", "demo", "demo, cloud flavour")
PAGE = """# Compatibility

## Kernels, measured

What passed in the lab on kernels of Debian's own packages, as `make matrix` counted it: cases passed, then failed, and those
skipped in brackets ([why each is skipped](../tests/skips)); – was not run. `module` is its build, for the kernel and its cloud
flavour, by the compiler of its release and without a warning. `sources` is the last commit that changed module or library, and
`programs of` is the release whose programs and libraries ran, with this rdma-core.

{table}

`make check` runs on Debian 12's 6.1, and runs there all labs that there are. libweft alone is tried with other releases of
rdma-core, too (`make -C userlib test RDMA_CORE=65`). Cloud flavours share all code with their kernels, so that only the demo
is run there; they have no 9p, and the lab shows them this machine's files by virtiofs.

    scripts/matrix                          # all of it, more than an hour on two idle processors
    scripts/matrix --labs "rping verbs" 7.3 # some kernels, some labs
    scripts/matrix --full trixie            # all labs

## By reading

What differs between kernels is in `kernel/base/compat/`, and `kernel/probe/` finds out what a kernel has; no version number
is looked at. A kernel between those of the table is likely to build. One that is newer may not, and the compiler then
names the function that is another one. `kernel/tried` has the series on which labs passed, and DKMS says before it builds for another.
"""


def about(folder):
    lines = (folder / "about").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def results(folder):
    """What each step and lab that came to its end has counted, by name; those of the cloud flavour as well."""
    for flavour, more in ((folder, ""), (folder.with_name(folder.name.replace("-amd64", "-cloud-amd64")), ", cloud flavour")):
        for status in sorted(flavour.glob("*.status")):
            lines = status.with_suffix(".log").read_text(encoding="utf-8", errors="replace").splitlines()
            passed, failed, skipped = (sum(line.startswith(kind) for line in lines) for kind in KINDS)
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
    for lab in (*FIRST, *labs):
        rows.append([lab, *(result.get(lab, "–") for result in found)])
    return ["| " + " | ".join(row) + " |" for row in rows] if folders else []


def main(arguments):
    page = arguments[:1] == ["--page"]
    if len(arguments) != 1 + page:
        sys.exit(__doc__)
    lines = "\n".join(table(pathlib.Path(arguments[-1])))
    if not lines:
        sys.exit("compatibility: no kernel was tried; run scripts/matrix")
    print(PAGE.format(table=lines) if page else lines, end="" if page else "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
