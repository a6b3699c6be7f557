# SPDX-License-Identifier: GPL-2.0
"""A measurement of perf/bench: the values of rows and their ratios to TCP, and its tables: all rows, the goals, the answer, and two
measurements side by side."""
import statistics

from perflib.rows import entries, rows
from perflib.tables import LEVELS, table

SUBJECTS = {
    "tcp-big": "BIG TCP, IPv6", "unix": "Unix sockets", "smc": "SMC, loopback", "siw": "siw", "siw-gso": "siw, GSO on",
    "siw-gso-crc": "siw, GSO and CRC", "rxe": "rxe", "weft": "Weft, CRC off", "weft-crc": "Weft, CRC on", "lent-crc": "Weft, CRC on, lent",
    "segment": "Weft, frames of a segment, CRC off", "segment-crc": "Weft, frames of a segment, CRC on",
}
OURS = ("weft", "weft-crc", "segment", "segment-crc")
# TCP's figures: by qperf, by weft-perf with a message in each call, and with 32.
TCP = (("tcp", "qperf"), ("tcp", "weft-perf"), ("tcp-gather", "weft-perf"))
# Kinds of goals for rows' ratios to TCP: as counted or timed, or at real prices at each level of memory.
RATIOS = ("ratio", "real")
# The tables of `answer`: title, the instrument that counts, the one that measures time, subjects, rows.
ANSWERS = (
    ("veth", "icount", "uml", (*OURS, "siw", "rxe"),
     ("send-64k", "send-1m", "read-64k", "send-4k", "messages-64", "latency-64", "latency-64-polled")),
    ("virtio-net with TSO", "virtio", None, ("weft", "weft-crc", "lent-crc", "segment", "segment-crc"),
     ("virtio-64k-sender", "virtio-64k-receiver", "virtio-1m-sender", "virtio-1m-receiver")),
)
# The instruments and subjects that stand side by side: counts repeat to a per cent on a busy machine too, times do not.
COUNTED = ("icount", "virtio")
BESIDE = {"weft": "CRC off", "weft-crc": "CRC on", "segment": "frames of a segment, CRC off",
          "segment-crc": "frames of a segment, CRC on", "tcp": "TCP"}
HEAD = (
    "Measured at {}, Linux {}. In parentheses: the ratio to TCP, by qperf or by weft-perf, whichever is better, and behind the "
    "semicolon weft-perf's at real prices, with the memory in the second cache, in the third, in none; for latency and "
    "instructions, less is better."
)


def is_number(value):
    return isinstance(value, (int, float))


def present(results):
    """The subjects that have results, in order."""
    return [subject for subject in SUBJECTS if any(result.get("subject") == subject for result in results)]


def measured(results, row):
    """Subject and tool to the row's values, one of each turn, and subject and tool to the reason there is none."""
    found, failed = {}, {}
    for result in (result for result in results if result.get("row") in (row["name"], "all")):
        if "failure" in result:
            failed.setdefault((result["subject"], result.get("tool", "weft-perf")), result["failure"])
        elif row["field"] in result:
            found.setdefault((result["subject"], result["tool"]), []).append(result[row["field"]])
    return found, failed


def values(results, row):
    """Subject and tool to the row's value, the median of all turns, or to the reason there is none."""
    found, failed = measured(results, row)
    return {key: statistics.median(of) for key, of in found.items()} | failed


def half_range(figures):
    """Half the way from the least to the most, as a part of the median."""
    return (max(figures) - min(figures)) / 2 / statistics.median(figures)


def reference(found, row, subject="tcp"):
    """TCP's value: the best of qperf's and weft-perf's, with a message in each call or with several."""
    if subject == "rxe" and is_number(found.get(("rxe-tcp", "weft-perf"))):
        return found["rxe-tcp", "weft-perf"]
    there = [found[key] for key in TCP if is_number(found.get(key))]
    return (min if row["better"] == "less" else max)(there, default=None)


def ratio(found, row, subject):
    """The subject's ratio to TCP, or None."""
    value, tcp = found.get((subject, "weft-perf")), reference(found, row, subject)
    return value / tcp if is_number(value) and tcp else None


def level_ratios(results, subject, row):
    """The same at each level of memory, by real prices; none if they were not counted."""
    costs = {
        result["subject"]: [result[level] for level in LEVELS]
        for result in results if result.get("row") == row["name"] and LEVELS[0] in result
    }
    names = ("rxe-tcp",) if subject == "rxe" else ("tcp", "tcp-gather")
    if subject not in costs or names[0] not in costs:
        return []
    best = map(min, zip(*(costs[name] for name in names if name in costs)))
    return [ours / tcp if row["better"] == "less" else tcp / ours for ours, tcp in zip(costs[subject], best)]


def at_levels(ratios):
    """Ratios at each level, to stand behind a ratio."""
    return "".join(f"{sign} {each:.2f}" for sign, each in zip(";,,", ratios))


def show(value, row, figures=()):
    """The value with its unit and, of several turns, how far they lie apart."""
    apart = f" ± {100 * half_range(figures):.0f} %" if len(figures) > 1 else ""
    if row["field"] == "instructions_per_byte":
        return f"{value:.3f} a byte{apart}"
    if row["field"] == "rate_msg_s":
        return f"{value / 1000:.1f} k/s{apart}"
    return (f"{value:.0f} MB/s" if row["field"] == "rate_mb_s" else f"{value:.1f} µs") + apart


def run_table(run):
    """All rows of one instrument."""
    results, subjects, body, footnote = run["results"], present(run["results"]), [], ""

    def cell(subject, row):
        value, to_tcp = found.get((subject, "weft-perf")), ratio(found, row, subject)
        if value is None or isinstance(value, str):
            return "–" if value is None or "there is no" in value else "hangs" if value == "hangs" else "fails"
        behind = "" if to_tcp is None else f" ({to_tcp:.2f} ×{at_levels(level_ratios(results, subject, row))})"
        return show(value, row, turns.get((subject, "weft-perf"), ())) + behind

    for row in rows():
        found, (turns, _) = values(results, row), measured(results, row)
        if found:
            cells = [show(found[key], row, turns[key]) if is_number(found.get(key)) else "–" for key in TCP]
            body.append([row["title"], *cells, *(cell(subject, row) for subject in subjects)])
        if is_number(found.get(("tcp", "iperf3"))):
            footnote = f"\n\nTCP by iperf3, {row['title']}: {show(found['tcp', 'iperf3'], row)}."
    head = ["", "TCP, qperf", "TCP, weft-perf", "the same, 32 messages a call", *(SUBJECTS[subject] for subject in subjects)]
    return table(head, body, run["title"]) + footnote


def named(names):
    """The rows of these names, in their order."""
    return [row for name in names for row in rows() if row["name"] == name]


def answer_cell(counted, native, row, subject):
    """The ratio to TCP at real prices at each level, and in parentheses the counted and the timed ratio."""
    real = " / ".join(f"{each:.2f}" for each in level_ratios(counted, subject, row)) or "–"
    raw = [ratio(values(results, row), row, subject) for results in (counted, native) if results is not None]
    raw = ["–" if each is None else f"{each:.2f}" for each in raw]
    return f"{real} ({'; '.join(raw)})" if {*raw, real} != {"–"} else "–"


def answer(data):
    """The rows and subjects of ANSWERS: in each cell the ratios to TCP of all instruments."""
    results, found = {run["instrument"]: run["results"] for run in data["runs"]}, []
    for title, counts, times, subjects, names in ANSWERS:
        head = f"{title}: memory hot / in the third cache / cold (counted{'; native time' if times else ''})"
        of = results.get(counts, []), results.get(times, []) if times else None
        body = [[row["title"], *(answer_cell(*of, row, subject) for subject in subjects)] for row in named(names)]
        found.append(table([head, *(SUBJECTS[subject] for subject in subjects)], body))
    return "\n\n".join(found)


# --- The goals ---


def calls(results, row, subject, kinds):
    """Messages for each system call of these kinds of the side that makes more, or None."""
    for result in results:
        if (result.get("row"), result["subject"]) == (row["name"], subject) and "client_waits_per_message" in result:
            return 1 / max(sum(result[f"{side}_{kind}_per_message"] for kind in kinds) for side in ("client", "server"))
    return None


def aligned(results, subject):
    """Per cent of the subject's frames that came whole in one packet buffer, or None."""
    for result in results:
        if (result.get("row"), result["subject"]) == ("frames", subject) and result.get("frames"):
            return 100 * (1 - result["split_frames"] / result["frames"])
    return None


def reached(results, goal, subject):
    """The goal's figure, and whether more of it is better; a word or None if there is none."""
    what, wanted = goal["what"], named(goal["rows"])
    if what == "aligned":
        return aligned(results, subject), True
    more = what in ("thousand", "calls", "doorbells") or what in RATIOS and wanted[0]["better"] == "more"
    if what in ("calls", "doorbells"):
        return calls(results, wanted[0], subject, ("doorbells", "waits") if what == "calls" else ("doorbells",)), more
    figures = []
    for row in wanted:
        found = values(results, row)
        value = found.get((subject, "weft-perf"))
        if isinstance(value, str):
            return "fails", more
        of_row = level_ratios(results, subject, row) if what == "real" else [ratio(found, row, subject) if what == "ratio" else value]
        if what == "real" and value is not None and not of_row:
            return "not priced", more
        figures += [figure for figure in of_row if figure is not None]
    if len(figures) < (2 if what == "spread" else 1):
        return None, more
    if what == "spread":
        return figures[0] / figures[-1], more
    return figures[0] / 1000 if what == "thousand" else (min if more else max)(figures), more


def verdict(results, goal, side):
    """Two cells: the goal (must and aim), and the figure with its verdict."""
    subject, must, aim = goal[side]
    value, more = (None, True) if subject == "-" else reached(results, goal, subject)
    if value is None:
        return ["", ""]
    unit = " ×" if goal["what"] in (*RATIOS, "spread") else ""
    wanted = f"{must}{unit} / {aim}{unit}"
    if isinstance(value, str):
        return [wanted, f"**{value}**"]
    sign = 1 if more else -1
    word = next((word for limit, word in ((aim, "aim"), (must, "must")) if sign * value >= sign * float(limit)), "**missed**")
    return [wanted, f"{value:.2f}{unit} {word}" if unit else f"{value:.4g} {word}"]


def goal_table(run):
    """The goals of one instrument, of perf/goals; nothing if it has none."""
    body = []
    for instruments, names, what, *columns, title in entries("goals"):
        if run["instrument"] in instruments.split():
            goal = {"rows": names.split(), "what": what, "off": columns[:3], "on": columns[3:]}
            body.append([title, *verdict(run["results"], goal, "off"), *verdict(run["results"], goal, "on")])
    body = [row for row in body if any(row[1:])]
    return table(["", "CRC off: must / aim", "is", "CRC on: must / aim", "is"], body, run["title"]) if body else ""


def all_goals(data):
    return "\n\n".join(filter(None, map(goal_table, data["runs"])))


def whole(data):
    runs = [run_table(run) for run in data["runs"] if run["instrument"] != "applications"]
    return "\n\n".join([HEAD.format(data["revision"], data["kernel"]), *runs])


# Markers to the text between them.
PARTS = {"answer": answer, "table": whole, "goals": all_goals}

# --- Two measurements ---


def cost_cell(row, before, after):
    """Two values and by how much the second costs more, or the one that is there."""
    shown = [show(value, row) if is_number(value) else value or "–" for value in (before, after)]
    if not (is_number(before) and is_number(after)):
        return shown[0] if shown[0] == shown[1] else " → ".join(shown)
    cost = before / after if row["better"] == "more" else after / before
    return f"{shown[0].partition(' ')[0]} → {shown[1]}, {100 * (cost - 1):+.1f} %".replace("-", "−")


def side_by_side(first, second):
    """Before, after and the change, of rows that both have. TCP's change says how far two boots of one kernel lie apart."""
    head = f"{first['revision']} → {second['revision']}, Linux {second['kernel']}, and the change of the cost: less than nothing is cheaper."
    parts = [head]
    for name, old, new in ((name, old, new) for name in COUNTED for old in first["runs"] for new in second["runs"]):
        if old["instrument"] == new["instrument"] == name:
            body = []
            for row in rows():
                before, after = (values(run["results"], row) for run in (old, new))
                keys = [(subject, "weft-perf") for subject in BESIDE] if before and after else []
                body += [[row["title"], *(cost_cell(row, before.get(key), after.get(key)) for key in keys)]] if keys else []
            parts.append(table(["", *BESIDE.values()], body, new["title"]))
    if len(parts) == 1:
        raise SystemExit("table: the two have no instrument in common that counts")
    return "\n\n".join(parts)
