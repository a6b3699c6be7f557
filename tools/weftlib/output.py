# SPDX-License-Identifier: GPL-2.0
"""How things are printed. Names of processes and of network devices are other users': a terminal gets no control
character of theirs, and a locale that lacks one of their letters gets a question mark."""

import json
import sys


def say(line, file=None):
    """Prints one line."""
    file = file or sys.stdout
    encoding = getattr(file, "encoding", None) or "utf-8"
    shown = "".join(character if character.isprintable() else "?" for character in line)
    print(shown.encode(encoding, "replace").decode(encoding), file=file)


def print_json(value):
    print(json.dumps(value, indent=2))


def table(head, rows, notes=()):
    """Lines of a table with columns as wide as they must be; none if it has no row. Behind a row come its notes."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(row):
        return "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()

    lines = [line(head)]
    for number, row in enumerate(rows):
        lines.append(line(row))
        lines += [f"  {note}" for note in (notes[number] if number < len(notes) else ())]
    return lines
