#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Finds the labs: a script of tests/ or apps/ is a lab for each line "# lab: WORD..." of its head.

    tests/labs.py                       prints the labs in their order
    tests/labs.py --bash [DIRECTORY]    prints them as variables of bash, for tests/integration/run;
                                        each file of DIRECTORY is a lab without a machine

A lab has the name of its script, such as two-machines for two_machines.sh and apps-link for
apps/link/test.sh, and behind it the mtu or transport, if the line names one. The words:

limit=SECONDS     the time limit on an idle machine
where=KIND        alone: two virtual machines, and no other lab beside them. stock: Debian's kernel in a virtual
                  machine. smp: User Mode Linux of a newer kernel with two processors. uml: User Mode Linux, at this
                  machine's own speed, unless the lab needs several processors, disks but those in memory, modules
                  of Debian's, kprobes, or 65536 objects of a kind. counted: stock, but uml with --cover
order=N           the place among the labs of its kind, the longest first (default: behind them). Kinds begin in
                  the order above; a lab that finds room does not wait for a lab that finds none
mtu=BYTES         of the link (default: 1500)
transport=NAME    sctp: the devices connect over SCTP. paths: each connection has two paths
name=NAME         a name other than the script's
seldom            only by name or with --all, --stock, --cover or --kernel, because another lab sends and receives
                  the same, or a change seldom breaks it
debug             also with --debug
home              it builds for this machine's kernel, and runs on no other
twin              another lab is the same on Debian's kernel
dkms              tests/integration/dkms_install runs on this machine first
hosts             scripts/lab/two-hosts makes two hosts with a device each first
cards             scripts/lab/run --cards
unsearched        no search for objects that outlive the module, because other labs begin and end the same
allow=NAME,...    crashes of other programs, by their names in ALLOWED
module=NAME       scripts/mainline builds the module first; NAME:stock: only for Debian's kernel
unpack=NAME,...   Debian's packages for scripts/unpacked
judge=PROGRAM     it judges out/capture of the lab's machine at the end, as another program of cases
consumer=NAME     the programs of other projects: the lab's row in the table of make check
"""
import pathlib
import re
import shlex
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
KINDS = ("alone", "stock", "smp", "uml", "planted")
ALLOWED = {
    # perftest 4.5 crashes in librdmacm when it cleans up after a missing SRQ or a refusal.
    "perftest": r"ib_[a-z_]+\[[0-9]+\]:? .* in librdmacm",
    # qperf's server destroys a queue pair that it does not have at the end of a test over rdma_cm.
    "qperf": r"qperf\[[0-9]+\]: segfault at 0 .* in libibverbs",
}
FLAGS = ("seldom", "debug", "home", "twin", "dkms", "hosts", "cards", "unsearched")
# The values of the other words.
VALUES = {"limit": r"\d+", "where": "counted|" + "|".join(KINDS), "order": r"\d+", "mtu": r"\d+", "transport": "sctp|paths",
          "name": "[a-z0-9-]+", "allow": "({0})(,({0}))*".format("|".join(ALLOWED)), "module": r"\w+(:stock)?",
          "unpack": "[a-z-]+(,[a-z-]+)*", "judge": r"\S+", "consumer": ".+"}


class Wrong(Exception):
    """A wrong line of a head, with its file and number."""


def lab(path, text):
    """The words of a line."""
    words = {}
    for part in shlex.split(text):
        word, is_set, value = part.partition("=")
        if word not in VALUES and word not in FLAGS:
            raise Wrong(f"there is no word '{word}'; there are: {' '.join((*VALUES, *FLAGS))}")
        if word in FLAGS and is_set or word in VALUES and not re.fullmatch(VALUES[word], value):
            raise Wrong(f"'{part}': {word} is {'a word alone' if word in FLAGS else '=' + VALUES[word]}")
        words[word] = value or "yes"
    for needed in ("limit", "where"):
        if needed not in words:
            raise Wrong(f"it has no {needed}=")
    script = f"apps-{path.parent.name}" if path.name == "test.sh" else path.stem.replace("_", "-")
    name = "-".join([script, *(words[word] for word in ("mtu", "transport") if word in words)])
    return {word: "" for word in (*VALUES, *FLAGS)} | {"mtu": "1500", "order": "999", "name": name} | words


def heads(path):
    """The numbers and texts of the lines."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("#"):
                return
            if line.startswith("# lab:"):
                yield number, line.removeprefix("# lab:")


def labs_of(paths, top=TOP, otherwise=()):
    """The labs of these files, in their order; otherwise: the lines of a file that has none."""
    found, files = [], {}
    for path in paths:
        for number, text in list(heads(path)) or otherwise:
            where = f"{path.relative_to(top)}:{number}"
            try:
                one = lab(path, text) | {"script": str(path.relative_to(top))}
                if files.setdefault(one["name"], where) != where:
                    raise Wrong(f"{files[one['name']]} is called {one['name']}, too")
            except (Wrong, ValueError) as error:
                raise Wrong(f"{where}: {error}") from error
            found.append(one)
    return sorted(found, key=lambda one: (KINDS.index(one["where"].replace("counted", "stock")), int(one["order"]), one["name"]))


def labs(planted=None):
    if planted:
        files = (path for path in pathlib.Path(planted).iterdir() if path.is_file())
        return labs_of(sorted(files), pathlib.Path(planted), [(0, "limit=60 where=planted")])
    return labs_of(sorted((*TOP.glob("tests/*/*.sh"), *TOP.glob("tests/*/*.py"), *TOP.glob("apps/*/test.sh"))))


def main(arguments):
    bash = arguments[:1] == ["--bash"]
    for name, pattern in ALLOWED.items() if bash else ():
        print(f"head[allow.{name}]={shlex.quote(pattern)}")
    try:
        found = labs(*arguments[bash:])
    except Wrong as error:
        sys.exit(f"labs: {error}")
    for one in found:
        if bash:
            for word, value in one.items():
                print(f"head[{one['name']}.{word}]={shlex.quote(value)}")
            print(f"labs+=({one['name']})")
        else:
            print(one["name"], *(f"{word}={value}" for word, value in one.items() if value and word != "name"))


if __name__ == "__main__":
    main(sys.argv[1:])
