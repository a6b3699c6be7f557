# SPDX-License-Identifier: GPL-2.0
"""Records of experiments as a page that stands for itself, with figures by gnuplot, and as Markdown."""
import html
import subprocess

STYLE = """body { font: 16px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0; font-size: 14px } td, th { border: 1px solid #bbb; padding: 4px 8px; text-align: right }
th { background: #eee } h1, h2, h3 { line-height: 1.2 } svg { max-width: 100%; height: auto } .what { margin-bottom: .3em }
.paper { border-left: 4px solid #9ab; padding-left: .8em; color: #456 } .verdict { font-weight: bold }"""

HEAD = ("Programs that papers measured on other devices, run over Weft and over TCP sockets with the same code. Times are of this "
        "machine, where both hosts share its processors: what counts is one transport beside the other, and the shape of a curve.")


class NoFigure(Exception):
    """Why gnuplot drew nothing."""


def quoted(text):
    """A text for gnuplot, whose strings in single quotes know no escape but the doubled quote."""
    return "'" + text.replace("'", "''").replace("\n", " ") + "'"


def figure(experiment):
    """An SVG of an experiment's series. Throws NoFigure."""
    script = ["set terminal svg noenhanced size 800,420 font 'sans-serif,13' background 'white'", "set key left top", "set grid",
              f"set xlabel {quoted(experiment['xlabel'])}", f"set ylabel {quoted(experiment['ylabel'])}",
              "set offsets graph 0, 0, graph 0.1, 0"]
    if all(y >= 0 for series in experiment["series"] for _, y in series["points"]):
        script.append("set yrange [0:*]")
    if experiment["logx"]:
        script.append("set logscale x 2")
    plots, data = [], []
    for count, series in enumerate(experiment["series"], 1):
        plots.append(f"'-' using 1:2 with linespoints linewidth 2 pointtype {count} title {quoted(series['name'])}")
        data += [f"{x!r} {y!r}" for x, y in series["points"]] + ["e"]
    script += ["plot " + ", ".join(plots), *data]
    try:
        done = subprocess.run(["gnuplot"], input="\n".join(script) + "\n", capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NoFigure("gnuplot is missing: scripts/bootstrap lab") from error
    if done.returncode or "<svg" not in done.stdout:
        raise NoFigure(f"gnuplot drew nothing of '{experiment['title']}': {done.stderr.strip()}")
    return done.stdout[done.stdout.index("<svg"):]


def short(value):
    """Four digits of a number, or all before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def table_of(experiment):
    """A caption and the rows of an experiment's table; without one, of its series, a row for each x."""
    if experiment["table"]:
        return "", experiment["table"]
    places = sorted({point[0] for series in experiment["series"] for point in series["points"]})
    rows = [[experiment["xlabel"], *(series["name"] for series in experiment["series"])]]
    found = [dict(map(tuple, series["points"])) for series in experiment["series"]]
    rows += [[f"{place:.12g}", *(short(points[place]) if place in points else "" for points in found)] for place in places]
    return f"By {experiment['xlabel']}: {experiment['ylabel']}.", rows


def html_table(rows):
    def line(tag, row):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in row) + "</tr>"
    return "<table>" + line("th", rows[0]) + "".join(line("td", row) for row in rows[1:]) + "</table>"


def html_experiment(experiment):
    parts = [f"<h3>{html.escape(experiment['title'])}</h3>"]
    for key, before in (("what", ""), ("paper", "The paper: "), ("verdict", "")):
        if experiment[key]:
            parts.append(f"<p class={key}>{before}{html.escape(experiment[key])}</p>")
    if experiment["series"]:
        parts.append(figure(experiment))
    caption, rows = table_of(experiment)
    if caption:
        parts.append(f"<p>{html.escape(caption)}</p>")
    parts.append(html_table(rows))
    return "\n".join(parts)


def page(records):
    """One HTML file that needs no other. Throws NoFigure."""
    contents = "".join(f'<li><a href="#{html.escape(record["name"])}">{html.escape(record["title"])}</a></li>' for record in records)
    parts = ["<!doctype html>", '<html lang="en"><meta charset="utf-8"><title>Papers, over Weft</title>', f"<style>{STYLE}</style>",
             f"<h1>Papers, over Weft</h1><p>{HEAD}</p><ul>{contents}</ul>"]
    for record in records:
        parts.append(f'<h2 id="{html.escape(record["name"])}">{html.escape(record["title"])}</h2>')
        parts += [html_experiment(experiment) for experiment in record["experiments"]]
    return "\n".join(parts) + "\n"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def markdown_table(rows):
    lines = ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def markdown(records):
    """The same without figures, for a document."""
    lines = []
    for record in records:
        lines += [f"## {record['title']}", ""]
        for experiment in record["experiments"]:
            lines += [f"### {experiment['title']}", "", experiment["what"], ""]
            if experiment["paper"]:
                lines += [f"The paper: {experiment['paper']}", ""]
            caption, rows = table_of(experiment)
            if caption:
                lines += [caption, ""]
            lines += [*markdown_table(rows), ""]
            if experiment["verdict"]:
                lines += [f"**{experiment['verdict']}**", ""]
    return "\n".join(lines)
