#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Machines for the tests of weft(8): one that was recorded, and a recorder. `recorded.py FILE` writes down what `weft
status`, `show` and `doctor` read on this machine."""
import contextlib
import io
import json
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools"))
sys.dont_write_bytecode = True

from weftlib import host, main  # noqa: E402 (the path comes first)

MACHINES = pathlib.Path(__file__).parent / "machines"


class Recorded:
    """A machine that is a dictionary: files, folders by their files, and what each command says."""

    def __init__(self, machine):
        self.machine = machine
        self.refuses = {}  # by path: the OSError that a write gets

    @classmethod
    def load(cls, name):
        return cls(json.loads((MACHINES / f"{name}.json").read_text(encoding="utf-8")))

    def read(self, path):
        return self.machine["files"].get(path)

    def names(self, path):
        inside = {file[len(path) + 1 :].partition("/")[0] for file in self.machine["files"] if file.startswith(path + "/")}
        return sorted(inside | set(self.machine.get("folders", {}).get(path, ())))

    def write(self, path, text):
        if path in self.refuses:
            raise self.refuses[path]
        self.machine["files"][path] = text

    def run(self, *command):
        said = self.machine["said"].get(" ".join(command))
        return tuple(said) if said is not None else None

    def kernel(self):
        return self.machine["kernel"]

    def memlock(self):
        return self.machine["memlock"]

    def is_root(self):
        return self.machine["root"]


class Recorder(host.Host):
    """This machine, which writes down what it is asked."""

    def __init__(self):
        super().__init__()
        self.machine = {"kernel": self.kernel(), "memlock": self.memlock(), "root": self.is_root(), "files": {}, "folders": {}, "said": {}}

    def read(self, path):
        text = super().read(path)
        if text is not None:
            # Of a kernel's configuration, some lines are enough.
            self.machine["files"][path] = "\n".join(line for line in text.splitlines() if "INFINIBAND" in line) if "/config-" in path else text
        return text

    def names(self, path):
        found = super().names(path)
        self.machine["folders"][path] = [name for name in found if path != "/usr/lib" or name.endswith(("-linux-gnu", "libibverbs"))]
        return found

    def run(self, *command):
        said = super().run(*command)
        if said is not None:
            self.machine["said"][" ".join(command)] = list(said)
        return said


def run(machine, *words):
    """(status, output, complaints) of a command on a machine."""
    output, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaints):
        try:
            status = main.main(list(words), machine)
        except SystemExit as end:
            status = end.code
    return status, output.getvalue(), complaints.getvalue()


def record(path):
    machine = Recorder()
    for words in (("status",), ("doctor",)):
        run(machine, *words)
    for name in machine.names("/sys/class/infiniband"):
        run(machine, "show", name)
    pathlib.Path(path).write_text(json.dumps(machine.machine, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    record(sys.argv[1])
