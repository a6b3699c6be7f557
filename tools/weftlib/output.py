# SPDX-License-Identifier: GPL-2.0
"""How things are printed."""

import json


def print_json(value):
    print(json.dumps(value, indent=2, ensure_ascii=False))


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
