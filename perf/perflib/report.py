# SPDX-License-Identifier: GPL-2.0
"""A self-contained page of a measurement of perf/bench: tables, and figures."""
import html
import re

from perflib import drawing, experiments
from perflib.measurement import SUBJECTS, goal_table, present, ratio, run_table, values
from perflib.ratios import SUBJECTS as TITLES
from perflib.rows import rows
from perflib.tables import load

STYLE = """body { font: 16px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; font-size: 14px } td, th { border: 1px solid #bbb; padding: 4px 8px; text-align: left }
th { background: #eee } h1, h2 { line-height: 1.2 } svg { max-width: 100%; height: auto } .less { color: #777 }
.legend span { margin-right: 1.5em; white-space: nowrap } .legend i { display: inline-block; width: 1.2em; height: .9em; margin-right: .4em; border: 1px solid #222 }"""

INTRODUCTION = """<p>Weft moves data between two computers with RDMA verbs over ordinary TCP. This page sets it beside what does
the same job: plain TCP sockets (what a program without RDMA would use), and the two software RDMA drivers of the
Linux kernel, siw (over TCP) and rxe (over UDP). All ran in one boot of one virtual machine with two hosts in it, one
after the other, every program waiting for events rather than polling.</p>
<p>The numbers to look at are the <b>ratios to TCP</b>: 1.0 means as fast as a plain socket; above 1.0 is faster for
throughput, and slower for latency. Absolute speeds belong to an emulated machine and say nothing by themselves.
<b>CRC</b> is the checksum that iWARP puts on each frame; it costs time and can be switched off when both ends agree.
Two ends of Weft agree on large frames; <b>frames of a segment</b> are what it sends to anyone else. siw's <b>GSO</b>
is a switch that its source has and no user can reach.</p>"""

GOALS = (
    "What the project wants of Weft, and what it is: <b>aim</b> where the more ambitious figure is reached, "
    "<b>must</b> where the less ambitious one is, <b>missed</b> where neither."
)

# Ours in blues and greens, the others in warm colours and grey.
COLOURS = {
    "tcp-big": "#4d4d4d", "unix": "#c9b458", "smc": "#b4637a",
    "siw": "#d9d9d9", "siw-gso": "#a6a6a6", "siw-gso-crc": "#737373", "rxe": "#e08a3c", "weft": "#1f5fa8", "weft-crc": "#7fb2e5",
    "lent-crc": "#b5d3ee", "segment": "#1b7f4d", "segment-crc": "#85c9a3",
}

RATIO_COLOURS = COLOURS | {"lent": "#5f95cf"}

# Field of the rows to: title of their plot.
PLOTS = {
    "rate_mb_s": "Bytes a second, against TCP: higher is better",
    "rate_msg_s": "Small messages a second, against TCP: higher is better",
    "median_us": "Time a message takes to the other side, against TCP: lower is better",
    "instructions_per_byte": "Instructions a byte, against TCP: lower is better",
}


def plot(run, field, title):
    """Bars of ratios to TCP, one group for each row."""
    subjects, groups = present(run["results"]), {}
    for row in (row for row in rows() if row["field"] == field):
        found = values(run["results"], row)
        groups[row["title"]] = [ratio(found, row, subject) for subject in subjects]
    return drawing.bars(title, groups, [COLOURS[subject] for subject in subjects])


def legend(run):
    """The subjects' colours, for all plots of a run."""
    names = [f"<span><i style='background:{COLOURS[s]}'></i>{html.escape(SUBJECTS[s])}</span>" for s in present(run["results"])]
    return f"<p class=legend>{''.join(names)}<span>dashed line: plain TCP</span></p>"


def as_html(markdown):
    """A table of ours, which has no other markup than this."""
    out = []
    for number, line in enumerate(line for line in markdown.splitlines() if line.startswith("|")):
        if set(line) <= set("| -"):
            continue
        tag = "th" if number == 0 else "td"
        cells = (html.escape(cell.strip().replace("**", "")) for cell in line.strip("|").split("|"))
        out.append("<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>")
    return "<table>" + "".join(out) + "</table>"


def figures(directory):
    """The figures that perf/run has left beside the measurement."""
    found = [(entry.caption, directory / f"{entry.name}.svg") for entry in experiments.every().values() if entry.figure]
    found = [(re.sub(r"\*\*(.*?)\*\*", r"<b>\1</b>", what), file.read_text(encoding="utf-8")) for what, file in found if file.exists()]
    if not found:
        return ""
    head = (
        "<h2>Experiments</h2><p>Each is one run of the project's own program over Weft (verbs) and over plain TCP sockets, counted as "
        "above.</p>"
    )
    return head + "".join(f"<p>{what}</p>{svg[svg.index('<svg'):]}" for what, svg in found)


def ratio_bars(names):
    """Bars and tables of these experiments, which have tables of ratios."""
    found = ""
    for entry in (experiments.every()[name] for name in names):
        results = entry.read([entry.file])
        subjects, groups = entry.ratios(results)
        legends = "".join(f"<span><i style='background:{RATIO_COLOURS[s]}'></i>{html.escape(TITLES[s])}</span>" for s in subjects)
        drawn = drawing.bars(f"{entry.name}: times TCP, higher is better", groups, [RATIO_COLOURS[s] for s in subjects])
        found += f"<h2>{entry.name}</h2><p class=legend>{legends}</p>{drawn}{as_html(entry.table(results))}"
    return found


def write(measurement, page, cautions, ran=()):
    """Writes the page, with the figures of perf/run that are beside the measurement, and those experiments' tables of ratios that `ran`
    with it; `cautions` has a text for each instrument."""
    data = load(measurement)
    about = f"Source revision {html.escape(data['revision'])}, Linux {html.escape(data['kernel'])}, {data['date']}."
    body = [f"<h1>Weft beside TCP, siw and rxe</h1>{INTRODUCTION}<p class=less>{about}</p>"]
    for run in data["runs"]:
        routine = html.escape(run["lab"].get("crc32c", "unknown"))
        body.append(f"<h2>{html.escape(run['title'])}</h2><p>{cautions[run['instrument']]} CRC32C routine: {routine}.</p>")
        body.append(legend(run))
        body += [plot(run, field, title) for field, title in PLOTS.items()]
        body.append(f"<p>The figures; in parentheses the ratio to TCP.</p>{as_html(run_table(run))}")
        against = goal_table(run)
        if against:
            body.append(f"<p>{GOALS}</p>{as_html(against)}")
    body += [ratio_bars(ran), figures(measurement.parent)]
    page.write_text(
        f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Weft: performance</title><style>{STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n",
        encoding="utf-8",
    )
