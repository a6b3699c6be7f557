# SPDX-License-Identifier: GPL-2.0
"""Saved results, and the one printer of tables: those of documents are in Markdown, between markers."""
import contextlib
import json
import pathlib

PERF = pathlib.Path(__file__).resolve().parents[1]
PROJECT = PERF.parent
BENCH = PROJECT / "build/bench"
# Levels of memory at which costs are priced.
LEVELS = ("hot", "l3", "cold")
KIBI = 1024


def table(head, rows, title="", align="---"):
    """A table, with a title above it, or none. Columns behind the first are aligned as `align` says."""
    lines = [f"**{title}**", ""] if title else []
    lines += ["|" + "".join(f" {cell} |" if cell else " |" for cell in head), "| --- |" + f" {align} |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def columns(head, rows, widths):
    """A table for a terminal, in columns of these widths: to the right, or below zero to the left."""
    lines = ([cell.rjust(width) if width > 0 else cell.ljust(-width) for cell, width in zip(row, widths)] for row in (head, *rows))
    return "\n".join(" ".join(line).rstrip() for line in lines)


@contextlib.contextmanager
def understood(why):
    """Ends the program with a line where something that was measured or saved is not as it should be."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, OSError) as error:
        raise SystemExit(f"{why}: {error if isinstance(error, OSError) else repr(error)}") from None


def put(document, name, text):
    """Replaces the lines between the markers of that name."""
    before, begin, rest = document.read_text(encoding="utf-8").partition(f"<!-- {name}: begin -->")
    _, end, after = rest.partition(f"<!-- {name}: end -->")
    if not begin or not end:
        raise SystemExit(f"table: {document} has no markers for {name}")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def read_lines(file):
    """The objects of a file that has one on each line."""
    with understood(f"perf: {file} is not of perf/run"):
        results = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        if not results or not all(isinstance(result, dict) for result in results):
            raise ValueError("it has no objects, one a line")
        return results


def write_lines(file, results):
    """Writes such a file, but not one without results, which would take the place of good ones."""
    lines = [json.dumps(result, ensure_ascii=False) + "\n" for result in results]
    if not lines:
        raise SystemExit(f"perf: nothing was measured; {file} stays as it was")
    file.write_text("".join(lines), encoding="utf-8")


def load(path):
    """A measurement of perf/bench."""
    with understood(f"{path} is no measurement of perf/bench"):
        data = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        strings = [data["revision"], data["kernel"], data["date"], *(run[field] for run in data["runs"] for field in ("instrument", "title"))]
        results = [result for run in data["runs"] for result in run["results"]]
        strings += [result["subject"] for result in results] + [result["row"] for result in results]
        if not all(isinstance(string, str) for string in strings) or not all(isinstance(run["lab"], dict) for run in data["runs"]):
            raise ValueError("it has other fields")
        return data


def write_measurement(file, data):
    """One with a line for each result, so that a difference shows its rows."""
    runs = []
    for run in data["runs"]:
        head = json.dumps(run | {"results": []}, indent=1).removesuffix("[]\n}")
        runs.append(head + "[\n" + ",\n".join("  " + json.dumps(result) for result in run["results"]) + "\n ]\n}")
    head = json.dumps(data | {"runs": []}, indent=1).removesuffix("[]\n}")
    file.write_text(head + "[\n" + ",\n".join(runs) + "\n ]\n}\n", encoding="utf-8")


def size(number):
    """A number of bytes, in words."""
    for unit in ("B", "KiB"):
        if number < KIBI:
            return f"{number:g} {unit}"
        number /= KIBI
    return f"{number:g} MiB"
