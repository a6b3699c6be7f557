#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Judges what KCSAN told of a lab.

    tests/torture/races.py NAME WATCHED DMESG [MODULE]

DMESG is the lab's kernel log, WATCHED how many accesses were watched. Prints each race in which code of
the module (default: weft) makes one of the two accesses, once, with its report; the places of the other
reports, which are the kernel's own; and a row and a test for make torture. Fails if there is a race, or if
nothing was watched.
"""

import pathlib
import re
import sys
from collections import Counter

LINE = "=" * 66
STAMP = re.compile(r"^\[ *[0-9.]+\](?:\[ *[TC]\d+\])? ?")
TITLE = re.compile(r"^BUG: KCSAN: (?:assert: race|data-race) in (.*)$")
# An address would make two reports of one place.
OFFSET = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+")


def reports(log):
    """Each report's title and lines. A report stands between two lines of =."""
    title, lines = None, []
    for line in log.splitlines():
        line = STAMP.sub("", line)
        found = TITLE.match(line)
        if found:
            if title:
                yield title, lines
            title, lines = OFFSET.sub("", found[1]), []
        elif line == LINE and title:
            yield title, lines
            title = None
        elif title:
            lines.append(line)
    if title:
        yield title, lines


def main():
    if len(sys.argv) not in (4, 5) or not sys.argv[2].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    name, watched, path = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    module = sys.argv[4] if len(sys.argv) == 5 else "weft"
    ours, others, first = Counter(), Counter(), {}
    try:
        log = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        print(f"not ok - races in {name}: there is no kernel log to judge: {error}")
        return 1
    for title, lines in reports(log):
        mine = f"[{module}]" in title
        (ours if mine else others)[title] += 1
        first.setdefault(title, lines)
    for title in ours:
        print(f"# data-race in {title}")
        for line in first[title]:
            print(f"#   {line}".rstrip())
    for title, count in others.items():
        print(f"# not in {module}: {title}, {count} times")
    why = f"{len(ours)} races" if ours else "" if watched else "nothing was watched"
    print(f"row|races in: {name}|{watched}|" + (f"FAILED: {why}" if why else "accesses were watched; no race"))
    for title, count in ours.items():
        print(f"not ok - races in {name}: {title}, {count} times")
    if why and not ours:
        print(f"not ok - races in {name}: {why}")
    elif not why:
        print(f"ok - races in {name}: none")
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main())
