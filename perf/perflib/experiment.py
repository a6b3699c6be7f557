# SPDX-License-Identifier: GPL-2.0
"""An experiment of perf/run: how it is run, its columns, its figure."""
import json
import os
import re
import sys

from perflib import drawing, lab
from perflib.tables import BENCH, read_lines, size, table, write_lines

CARRIERS = {"verbs": "Weft", "tcp": "TCP"}
# The pattern of a setting of several, with commas between.
NUMBERS = r"[1-9]\d*(,[1-9]\d*)*"


class Wrong(Exception):
    """A word of the command line means nothing, and why."""


class Experiment:
    """Most have steps(), which perf/guest/steps runs in one lab, and either a figure or a table(). The results of one that is `raw` are
    shown as they are."""

    name, place, help = "", 100, None  # place: in perf/run --help and in documents
    settings = {}  # NAME=VALUE that it takes: the name to its default and the pattern of its values
    in_all = raw = quiet = takes_words = False  # takes_words: NAME=VALUE go to the driver
    options = lab.COUNTED
    # The title of its figure, its figure, further tables of curves (field, title), and the markers around its table in a document.
    caption, figure, by_size, markers = "", None, (), ""

    # --- how it is run ---

    def choose(self, words):
        """The settings, of the words behind the experiment's name."""
        chosen = {name: default for name, (default, _) in self.settings.items()}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals or name not in self.settings or not re.fullmatch(self.settings[name][1], value):
                why = f"does not know '{word}'" if self.settings else f"takes no settings, so '{word}' means nothing to it"
                raise Wrong(f"{self.name} {why}; see perf/run --help")
            chosen[name] = value
        return chosen

    def steps(self, chosen):
        raise NotImplementedError

    def lab_options(self, chosen):
        return lab.TIMED if chosen.get("processors") == "2" else self.options

    def results(self, said):
        """The saved results, of (tag, lines) of each step that was asked."""
        return [tag | result for tag, lines in said for result in objects(lines)]

    def run(self, words):
        """Runs it, saves and shows its results. Returns the exit status."""
        chosen = self.choose(words)
        steps = self.steps(chosen)
        options = [*self.lab_options(chosen), *(["--quiet"] if self.quiet else []), "--timeout", "3600"]
        with lab.steps(lab.name_of(self.name), options, self.name, steps) as (out,):
            self.keep(out, steps, chosen)
        return self.tell(chosen)

    def keep(self, out, steps, chosen):
        """Saves the lab's output."""
        self.save(self.results(steps.said(out)))

    @property
    def file(self):
        return BENCH / f"{self.name}.json"

    def save(self, results):
        write_lines(self.file, results)

    def tell(self, chosen):
        """Shows the saved results. Returns the exit status."""
        results = read_lines(self.file)
        if self.figure:
            drawn = self.file.with_suffix(".svg")
            drawn.write_text(drawing.draw(self.name, self.figure, self.series(results)), encoding="utf-8")
            print(f"perf: results are in {self.file}, the figure in {drawn}")
            return 0
        if self.raw:
            print(self.table(results))
        print(f"perf: results are in {self.file}", flush=True)
        return 0 if self.raw else self.show(results)

    # --- its columns ---

    def table(self, results):
        """The table of these results. Of an experiment with a figure, its curves; of others, their own."""
        if self.raw:
            return "\n".join(map(json.dumps, results))
        tables = [curves_table(self.series(results), self.figure.x, f"{self.figure.x_title or 'what'}; {self.figure.y_title}")]
        for field, title in self.by_size:
            tables.append(curves_table(self.series(results, "size_bytes", ((field, ""),)), "size_bytes", f"message; {title}"))
        return "\n\n".join(tables)

    def judge(self, results):
        """A goal that is missed, in words, or nothing."""

    def read(self, files):
        return [result for file in files for result in read_lines(file)]

    def show(self, results):
        """Prints the table. Returns 1 if a goal is missed."""
        print(self.table(results))
        return self.tell_missed(results)

    def tell_missed(self, results):
        missed = self.judge(results)
        if missed:
            print(f"perf: {missed}")
        return 1 if missed else 0

    def lacking(self, missing):
        """Ends the program if something that the table needs is missing."""
        if missing:
            print(f"perf: the results of {self.name} lack: {', '.join(missing)}", file=sys.stderr)
            raise SystemExit(2)

    # --- its figure ---

    def curve(self, result):
        """The name of the curve that a result belongs to, but for the field."""
        return CARRIERS[result["carrier"]]

    def series(self, results, x=None, curves=None):
        """Name of a curve to its points: the figure's, or others."""
        found = {}
        for result in results:
            for field, name in (curve for curve in curves or self.figure.curves if curve[0] in result):
                point = result[x or self.figure.x], result[field]
                found.setdefault(", ".join(filter(None, (self.curve(result), name))), []).append(point)
        return found


def objects(lines):
    """The JSON objects among a step's output."""
    return [json.loads(line) for line in lines if line.startswith("{")]


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def curves_table(found, x, title):
    """A table with a column for each curve."""
    body = []
    for at in dict.fromkeys(at for points in found.values() for at, _ in points):
        cells = [number(dict(points)[at]) if at in dict(points) else "–" for points in found.values()]
        body.append([size(at) if x == "size_bytes" else str(at), *cells])
    return table([title, *(name or "Weft" for name in found)], body)


def crc():
    """Weft's CRC, where an experiment does not set it itself."""
    return os.environ.get("WEFT_PERF_CRC", "off")
