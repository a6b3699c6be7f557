# SPDX-License-Identifier: GPL-2.0
"""where the instructions of small and large messages go, by group of functions (QEMU counts them; build/bench/where.txt). rows= and
subjects= choose, with commas between: perf/rows, perf/bench --help. perf/table build/bench/where.json --markers
docs/performance/tables.md puts its tables there"""
from perflib import counts, lab
from perflib.experiment import Experiment
from perflib.ratios import among
from perflib.rows import SETS, SUBJECTS as KNOWN, measure_steps, rows
from perflib.tables import BENCH, table

SUBJECTS = {"tcp": "TCP", "weft": "Weft", "weft-crc": "with CRC", "segment": "frames of a segment", "segment-crc": "the same with CRC"}
LEVELS = {"hot": "at real prices, memory in the second cache", "l3": "in the third cache", "cold": "in no cache"}


def is_shown(subject, row):
    """A read over TCP is a stream as a send is, and a small message is a small frame anyhow."""
    return not (subject == "tcp" and row.startswith("read") or subject.startswith("segment") and not row.endswith("64k"))


def row_table(found, row):
    subjects = [subject for subject in dict.fromkeys([*SUBJECTS, *(subject for subject, _ in found)]) if is_shown(subject, row["name"])]
    columns = {SUBJECTS.get(subject, subject): found.get((subject, row["name"])) for subject in subjects}
    columns = {title: column for title, column in columns.items() if column}
    if not columns:
        return ""
    body = [["all", *(f"**{column['instructions']:.0f}**" for column in columns.values())]]
    for level, what in LEVELS.items():
        if all(level in column for column in columns.values()):
            body.append([what, *(f"{column[level]:.0f}" for column in columns.values())])
    for name, what in counts.WHAT.items():
        if any(column["groups"].get(name) for column in columns.values()):
            body.append([what, *(f"{column['groups'].get(name, 0):.0f}" for column in columns.values())])
    return table(["instructions a message", *columns], body, row["title"])


class Where(Experiment):
    name, place, markers = "where", 52, "where"
    settings = {"rows": ("", ".*"), "subjects": (",".join(SUBJECTS), ".+")}

    def run(self, words):
        chosen = self.choose(words)
        only = among(self.name, "row", chosen["rows"], [row["name"] for row in rows() if row["set"] in SETS["where"]])
        subjects = among(self.name, "subject", chosen["subjects"], [subject for subject in KNOWN if not subject.startswith("siw")])
        name, steps = lab.name_of(self.name), measure_steps("where", subjects, only=only)
        with lab.steps(name, [*self.options, "--quiet", "--timeout", "3600", *lab.plugin(name)], "measure", steps) as (out,):
            results, text = counts.results(out), counts.texts(out, 40)
        text += self.table(results) + "\n"
        self.save(results)
        (BENCH / "where.txt").write_text(text, encoding="utf-8")
        print(text, end="")
        return 0

    def table(self, results):
        """A table of each row, with a column for each subject."""
        found = {(result["subject"], result["row"]): result for result in results}
        text = "\n\n".join(filter(None, (row_table(found, row) for row in rows())))
        if not text:
            raise SystemExit("perf: where: no counts")
        return text
