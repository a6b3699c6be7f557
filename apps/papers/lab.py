# SPDX-License-Identifier: GPL-2.0
"""What the experiments of apps/ share: a lab is run, and what it says becomes a program's record.

A lab's lines that begin with "row", "job" or "copied" are results, and those with "failed" say what was not measured.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

import record

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
STAGE = TOP / "build/uml-debug/stage"


def say_interrupt(kind, value, trace):
    """What a program does that nobody caught an exception of: at Ctrl-C it says what that means."""
    if issubclass(kind, KeyboardInterrupt):
        print("experiment: interrupted; no record was written, and an older one stays", file=sys.stderr)
    else:
        sys.__excepthook__(kind, value, trace)


def arguments(about, quick):
    """OUTDIR, which is made, and whether it shall be --quick, which means `quick`."""
    sys.excepthook = say_interrupt
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outdir", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help=quick)
    found = parser.parse_args()
    try:
        record.make_folder(found.outdir)
    except record.Wrong as wrong:
        sys.exit(f"experiment: {wrong}")
    return found.outdir, found.quick


def row(pattern, line):
    """The groups of a line that begins with "row", the last of them from JSON; None for another line.

    Throws ValueError at one that is cut off, or mixed with what a kernel said."""
    if not line.startswith("row "):
        return None
    match = pattern.match(line)
    if not match:
        raise ValueError("no result")
    *words, said = match.groups()
    return *words, json.loads(said)


def build(*more):
    """Makes the programs, and what `more` commands make. Ends the program if that fails."""
    for command in (["make", "-s", "-C", str(TOP), "apps"], *more, [str(TOP / "scripts/kernels/module"), "uml-debug", str(STAGE)]):
        print("experiment:", pathlib.Path(command[0]).name, *command[-2:], flush=True)
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            sys.exit("experiment: that failed; what it said is above. 'make stage' has to have run before")


def experiment(title, what, paper, axes, table, series=(), logx=False, verdict=""):
    """An experiment in the form of record.py; `axes` are both labels, and `series` pairs of a name and points."""
    return {"title": title, "what": what, "paper": paper, "xlabel": axes[0], "ylabel": axes[1], "logx": logx,
            "series": [{"name": name, "points": points} for name, points in series], "table": table, "verdict": verdict}


def run(command, weight, total):
    """Runs a lab's command; returns its status, its lines, and what is wrong. `weight` says for how many of `total` results a
    line counts, and throws ValueError at a result that can't be read."""
    lines, wrong, done = [], [], 0
    with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, text=True, errors="replace",
                          env={**os.environ, "WEFT_STAGE": str(STAGE)}) as lab:
        for line in lab.stdout:
            line = line.rstrip("\n")
            lines.append(line)
            count = 0
            if line.startswith("failed "):
                wrong.append(line)
            try:
                count = weight(line)
            except ValueError as error:
                wrong.append(f"{line}: {error}")
            if count:
                done += count
                print(f"experiment: {done} of {total}: {line.split('{')[0].strip()}", flush=True)
    if done != total:
        wrong.append(f"{done} of {total} results came")
    return lab.returncode, lines, wrong


def write_file(file, text):
    """Writes a file whole, or ends the program and leaves what was there."""
    try:
        record.replace(file, text)
    except OSError as error:
        sys.exit(f"experiment: {file} can't be written: {error.strerror}; make room there, or name another folder")


def measure(name, outdir, command, timeout, weight, total):
    """Runs a command in a lab of User Mode Linux; returns its lines, which OUTDIR/NAME.log has too. Ends the program unless all
    of `total` was measured; then no record is left, not even an older one."""
    (outdir / f"{name}.json").unlink(missing_ok=True)
    status, lines, wrong = run([str(TOP / "scripts/lab/run"), "--uml", "--quiet", "--name", f"experiment-{name}", "--timeout",
                                str(timeout), "--env", f"WEFT_STAGE={STAGE}", "--", *command], weight, total)
    log = outdir / f"{name}.log"
    write_file(log, "\n".join(lines) + "\n")
    if status or wrong:
        sys.exit("\n".join([f"experiment: the lab did not measure all (status {status}); see {log}", *wrong, *lines[-5:]]))
    return lines


def write(outdir, result):
    """Writes OUTDIR/NAME.json. Ends the program if a number or a text in it is none."""
    file = outdir / f"{result['name']}.json"
    try:
        record.check(file, result)
    except record.Wrong as wrong:
        sys.exit(f"experiment: {wrong}")
    write_file(file, json.dumps(result, indent=1) + "\n")
    print(f"experiment: wrote {file}")
