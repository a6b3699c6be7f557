# SPDX-License-Identifier: GPL-2.0
"""The tables of applications: the figure of each row over Weft, beside the same row over TCP in the same boot. With CRCs a
ratio is to nvme-tcp with header and data digests, because that does the same work."""
import statistics

from perflib import counts, trial
from perflib.experiment import Experiment, Wrong
from perflib.measurement import at_levels
from perflib.tables import BENCH, KIBI, LEVELS, read_lines, table

SUBJECTS = {
    "tcp": "TCP", "tcp-digest": "TCP, digests", "weft": "Weft, CRC off", "weft-crc": "Weft, CRC on", "lent": "Weft, CRC off, lent",
    "lent-crc": "Weft, CRC on, lent", "siw": "siw, CRC off", "local": "no network",
}
# The units of figures: the field, how it is written, and its exponent: of times and instructions less is better, and a ratio is of
# rates, so that more is better in all.
UNITS = {
    "io_s": ("{:,} IO/s", 1), "kib_s": ("{:.0f} MB/s", 1), "us": ("{:.4g} µs", -1), "mb_s": ("{:.4g} MB/s", 1),
    "k_s": ("{:.4g} k/s", 1), "instructions": ("{:,}", -1),
}


def figure(result):
    """How good it is (more is better), and its words."""
    unit, *_ = (unit for unit in UNITS if unit in result)
    words, exponent = UNITS[unit]
    value = result[unit] * KIBI / 1e6 if unit == "kib_s" else result[unit]
    return value**exponent, words.format(value)


def gather(results):
    """Row to subject to (figure, its words, costs at LEVELS, if they were counted): of several rounds the median, with half the way
    from the least to the most behind its words."""
    rounds, costs, found = {}, {}, {}
    for result in results:
        key = result["row"], result["subject"]
        if result.get("tool") == "count":
            costs[key] = [result[level] for level in LEVELS if level in result]
        else:
            rounds.setdefault(key, []).append(figure(result))
    for (row, subject), figures in rounds.items():
        value, words = statistics.median_low(sorted(figures))
        if len(figures) > 1:
            words += f" ± {50 * (max(figures)[0] - min(figures)[0]) / value:.1f} %"
        found.setdefault(row, {})[subject] = (value, words, costs.get((row, subject), []))
    return found


def reference(subject, subjects):
    """What a subject is compared with."""
    return "tcp-digest" if subject.endswith("-crc") and "tcp-digest" in subjects else "tcp"


def cell(subject, subjects):
    """A figure, and its ratio to TCP's for subjects that are not TCP."""
    if subject not in subjects:
        return "–"
    value, words, costs = subjects[subject]
    tcp = reference(subject, subjects)
    if subject.startswith(("tcp", "local")) or tcp not in subjects:
        return words
    other, _, other_costs = subjects[tcp]
    ratios = at_levels(theirs / ours for theirs, ours in zip(other_costs, costs))
    return f"{words}, {value / other:.2f} ×" + ratios + tax(subjects.get("local"), subjects[tcp], subjects[subject])


def tax(local, theirs, ours):
    """What the network adds to a request, of TCP to Weft's: above 1 Weft adds less. At LEVELS if all three were counted."""
    if not local:
        return ""
    costs = [found[2] if all(each[2] for each in (local, theirs, ours)) else [1 / found[0]] for found in (local, theirs, ours)]
    return "; tax " + ", ".join(f"{(other - without) / (own - without):.2f}" if own > without else "–" for without, other, own in zip(*costs))


def among(experiment, kind, names, known):
    """The names that are chosen, with commas between, in their order, those of subjects without a rule of kernel/base/policy.h last; all
    of `known` if none is chosen."""
    chosen = [name for name in names.split(",") if name]
    more = [name for name in chosen if name.startswith("without-") and kind == "subject"]
    for name in (name for name in chosen if name not in known and name not in more):
        raise Wrong(f"{experiment} has no {kind} '{name}'; there are {' '.join(known)}")
    return [name for name in known if not chosen or name in chosen] + more


class Ratios(Experiment):
    """An experiment with a table of ratios: row to its title; subjects that can be chosen; of rows that have goals these, in words; and
    whether its labs count instructions as well."""

    titles, subjects, goals, counts = {}, (), {}, True

    def gathered(self, results):
        return gather(results)

    def table(self, results):
        found = self.gathered(results)
        unknown = sorted(set(found) - set(self.titles))
        if unknown or not found:
            raise SystemExit(f"perf: {self.name} has " + (f"rows that nobody knows: {' '.join(unknown)}" if unknown else "no results"))
        subjects = [subject for subject in SUBJECTS if any(subject in row for row in found.values())]
        head = ["", *(SUBJECTS[subject] for subject in subjects), *(["must, aim"] if self.goals else [])]
        body = []
        for row, title in ((row, title) for row, title in self.titles.items() if row in found):
            body.append([title, *(cell(subject, found[row]) for subject in subjects), *([self.goals[row]] if self.goals else [])])
        return table(head, body)

    def ratios(self, results):
        """The subjects that are compared with TCP, and the title of each row to their ratios."""
        found = self.gathered(results)
        subjects = [subject for subject in SUBJECTS if not subject.startswith(("tcp", "local")) and any(subject in row for row in found.values())]
        values = {row: {subject: value for subject, (value, *_) in of.items()} for row, of in found.items() if row in self.titles}
        return subjects, {
            self.titles[row]: [of[subject] / of[reference(subject, of)] if subject in of and reference(subject, of) in of else None for subject in subjects]
            for row, of in values.items()
        }

    def chosen_subjects(self, chosen):
        return among(self.name, "subject", chosen["subjects"], self.subjects)

    def save_counted(self, found):
        """Saves the findings of counted(), of each lab."""
        self.save([result for results, _ in found for result in results])
        (BENCH / f"{self.name}-where.txt").write_text("".join(text for _, text in found), encoding="utf-8")

    def tell(self, chosen):
        where = f", and where the instructions go in {BENCH}/{self.name}-where.txt" if self.counts else ""
        print(f"perf: results are in {self.file}{where}", flush=True)
        if "without-" in chosen["subjects"]:
            print(trial.tables(trial.read([self.file])))
        return self.show(read_lines(self.file))


def counted(out, results):
    """Results of a lab and those that it has counted, and text of the dearest functions."""
    return results + counts.results(out), counts.texts(out, 60)
