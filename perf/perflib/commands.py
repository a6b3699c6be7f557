# SPDX-License-Identifier: GPL-2.0
"""perf/run and perf/table: one experiment, and all tables."""
import argparse
import functools
import json
import pathlib
import re
import shutil
import sys
import textwrap

from perflib import experiments, lab
from perflib.experiment import Wrong
from perflib.experiments.tails import turns_table
from perflib.measurement import PARTS, side_by_side
from perflib.tables import load, put, read_lines, understood

RUN = """usage: perf/run EXPERIMENT [NAME=VALUE...]

Runs an experiment between two hosts in a lab, over Weft and (where it makes sense) over TCP,
and leaves build/bench/EXPERIMENT.json, one object a line, and EXPERIMENT.svg. EXPERIMENT:
"""
MORE = """
NAME=VALUE of latency, bandwidth, connections, cache, overlap, logp, registration and setup go to the driver;
build/perf/weft-perf --help. The lab counts guest instructions (--icount) as in make bench, on one processor. On
two, in time and therefore on an idle machine: overlap, logp, idle, scaling, queues, and all that polls
(mode=poll). $WEFT_PERF_CRC sets Weft's CRC (default off). perf/table build/bench --markers
docs/performance/tables.md puts results and figures there."""


def usage():
    every = experiments.every().values()
    entries = {"all": "the following, one after the other: " + ", ".join(entry.name for entry in every if entry.in_all)}
    entries |= {entry.name: entry.help for entry in every if entry.help}
    fill = textwrap.TextWrapper(110, subsequent_indent=" " * 16).fill
    return "\n".join([RUN, *(fill(f"  {name:<14}{' '.join(text.split())}") for name, text in entries.items()), MORE])


def run(words):
    """perf/run. Returns its exit status."""
    lab.end_on_signals()
    every = experiments.every()
    name, *words = words or [""]
    if {name, *words} & {"--help", "-h"}:
        print(usage())
        return 0
    if name not in (*every, "all"):
        print(usage(), file=sys.stderr)
        return 2
    try:
        chosen = [every[name]] if name != "all" else [entry for entry in every.values() if entry.in_all]
        words_of = {entry: words if name != "all" or entry.takes_words else [] for entry in chosen}
        for entry in chosen:
            entry.choose(words_of[entry])
        lab.build()
        status = 0
        for entry in chosen:
            if name == "all":
                print(f"perf: {entry.name}", flush=True)
            with understood(f"perf: {entry.name} did not print or leave what its results are made of"):
                status |= entry.run(words_of[entry])
        return status
    except Wrong as wrong:
        print(f"perf: {wrong}", file=sys.stderr)
        return 2


# --- perf/table ---


def kept_parts(document):
    """The experiments that the document has now, by name."""
    text = document.read_text(encoding="utf-8")
    block = text.partition("<!-- experiments: begin -->\n")[2].partition("\n<!-- experiments: end -->")[0]
    parts = [part for part in re.split(r"\n\n(?=\*\*)", block) if part]
    return {re.search(r"!\[(\w+)\]", part)[1]: part for part in parts}


def of_directory(directory, document):
    """The figures and tables that perf/run has left there. With a document, its figures are copied into figures/ beside it, and experiments
    of which nothing is in the directory stay as they are in it."""
    parts, fresh = [], False
    there = kept_parts(document) if document else {}
    for entry in (entry for entry in experiments.every().values() if entry.figure):
        results, drawn = directory / f"{entry.name}.json", directory / f"{entry.name}.svg"
        if not results.exists() or not drawn.exists():
            parts += [there[entry.name]] if entry.name in there else []
            continue
        fresh = True
        part = entry.caption + "\n\n"
        if document:
            kept = document.parent / "figures" / drawn.name
            kept.parent.mkdir(exist_ok=True)
            shutil.copyfile(drawn, kept)
            part += f"![{entry.name}](figures/{drawn.name})\n\n"
        parts.append(part + entry.table(read_lines(results)))
    if not fresh:
        raise SystemExit(f"table: perf/run has left nothing in {directory}")
    return "\n\n".join(parts)


def parts_of(files, name):
    """The experiment that files are of, or None for measurements of perf/bench; and the tables of these by their markers, each made for a
    document or for None."""
    first = files[0]
    if first.is_dir():
        return None, {"experiments": lambda document: of_directory(first, document)}
    if first.stem == "turns" and not name:
        return None, {"turns": lambda _: turns_table(files)}
    try:
        is_bench = "runs" in dict(json.loads(first.read_text(encoding="utf-8")))
    except (TypeError, ValueError):
        is_bench = False
    if is_bench:
        data, *second = map(load, files)
        made = {"sidebyside": lambda was: side_by_side(was, *second)} if second else PARTS
        return None, {marker: functools.partial(lambda make, _: make(data), make) for marker, make in made.items()}
    entry = experiments.every().get(name or first.stem)
    if not entry:
        raise SystemExit(f"table: {first} is not of perf/bench, and of no experiment by its name; name that with --as")
    return entry, {entry.markers: lambda _: entry.table(entry.read(files))}


def table(words):
    """Prints a table of saved results, or puts it into documents.

    FILE is of perf/bench (its table and the goals; of two files, the second beside the first), or of perf/run: build/bench/NAME.json, or under
    another name with --as NAME; of several files of one experiment all results count. The records turns.CARRIER of perf/run tails turns are
    files as well. A directory stands for all experiments with a figure that perf/run has left there.

    With --markers, replaces the lines between <!-- NAME: begin --> and <!-- NAME: end --> of each DOCUMENT. NAME is the experiment's;
    experiments, of a directory, whose figures go into figures/ beside the DOCUMENT; sidebyside, of two measurements; and of one
    those of these that the DOCUMENT has: table; goals, which sets the figures beside perf/goals; answer, the ratios to TCP that decide, of
    all instruments. Fails where an experiment's goal is missed.
    """
    parser = argparse.ArgumentParser("perf/table", description=table.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="FILE", nargs="+", type=pathlib.Path)
    parser.add_argument("--as", dest="name", choices=[*experiments.every()], metavar="NAME", help="the experiment that the files are of")
    parser.add_argument("--markers", metavar="DOCUMENT", nargs="+", type=pathlib.Path, default=[])
    options = parser.parse_args(words)
    for file in (file for file in options.files if not file.exists()):
        raise SystemExit(f"table: there is no {file}; perf/bench and perf/run leave their results in build/bench")
    entry, parts = parts_of(options.files, options.name)
    with understood("table"):
        texts = {document: document.read_text(encoding="utf-8") for document in options.markers}
    there = {document: [name for name in parts if f"<!-- {name}: begin -->" in text] for document, text in texts.items()}
    for document in (document for document, names in there.items() if not names):
        raise SystemExit(f"table: {document} has none of the markers {', '.join(parts)}")
    with understood(f"table: {', '.join(map(str, options.files))}: not of perf/{f'run {entry.name}' if entry else 'bench'}"):
        for document, name, text in [(document, name, parts[name](document)) for document, names in there.items() for name in names]:
            put(document, name, text)
        if entry:
            results = entry.read(options.files)
            return entry.tell_missed(results) if options.markers else entry.show(results)
        if not options.markers:
            goals = [f"Against the goals (perf/goals):\n\n{parts['goals'](None)}"] if "goals" in parts else []
            print(*(parts[name](None) for name in parts if name not in ("answer", "goals")), *goals, sep="\n\n")
    return 0
