# SPDX-License-Identifier: GPL-2.0
"""Figures, which gnuplot draws: curves of an experiment, and bars of ratios."""
import dataclasses
import shutil
import subprocess


@dataclasses.dataclass(frozen=True)
class Figure:
    """An experiment's: the field of x and its title, the curves (field, name), the title of y, and whether y is logarithmic."""

    x: str
    x_title: str
    curves: tuple
    y_title: str
    logarithmic: bool = False


def gnuplot(script):
    """The figure, as SVG."""
    if shutil.which("gnuplot") is None:
        raise SystemExit("perf: there is no gnuplot, which draws figures (apt-get install gnuplot-nox)")
    result = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"perf: gnuplot failed: {result.stderr}")
    return result.stdout


def draw(title, figure, found):
    """Curves: `found` is the name of each to its points."""
    script = f"""set terminal svg size 800,450 font 'sans-serif,12' background 'white'
set title '{title}'
set xlabel '{figure.x_title}'
set ylabel '{figure.y_title}'
set grid
set key outside right top
set yrange [{'*' if figure.logarithmic else '0'}:*]
"""
    if figure.logarithmic:
        script += "set logscale y\n"
    if figure.x in ("size_bytes", "connections", "paths"):
        script += "set logscale x 2\n" + ("set format x '%.0b %BB'\n" if figure.x == "size_bytes" else "")
    if not figure.x_title:
        script += "set xrange [0:2]\nunset xtics\n"
    for number, points in enumerate(found.values()):
        script += f"$d{number} << EOD\n" + "\n".join(f"{a} {b}" for a, b in points) + "\nEOD\n"
    return gnuplot(script + "plot " + ", ".join(f"$d{n} with linespoints title '{name}'" for n, name in enumerate(found)) + "\n")


def bars(title, groups, colours):
    """Bars of ratios to TCP: `groups` is the title of each group to its ratios, None where there is none. Nothing without gnuplot."""
    groups = {name: ratios for name, ratios in groups.items() if any(ratio is not None for ratio in ratios)}
    if not groups or shutil.which("gnuplot") is None:
        return ""
    block = ""
    for name, ratios in groups.items():
        shown = " ".join("NaN" if ratio is None else f"{ratio:.4f}" for ratio in ratios)
        block += '"' + name.replace(", ", "\\n") + f'" {shown}\n'
    # gnuplot refuses a series without a value.
    there = [any(ratios[n] is not None for ratios in groups.values()) for n in range(len(colours))]
    series = ", ".join(f"$data using {n + 2}:xtic(1) linecolor rgb '{colours[n]}'" for n, drawn in enumerate(there) if drawn)
    svg = gnuplot(f"""set terminal svg size 1100,360 font 'sans-serif,13' background 'white'
set title '{title}'
set style data histogram
set style histogram clustered gap 1.5
set style fill solid 1 border -1
set boxwidth 0.9
set yrange [0:*]
set ylabel 'times TCP'
set grid ytics
unset key
set bmargin 4
set xtics scale 0
$data << EOD
{block}EOD
plot {series}, 1 with lines linecolor 'black' linewidth 2 dashtype 2
""")
    return svg[svg.index("<svg"):]
