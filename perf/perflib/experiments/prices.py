# SPDX-License-Identifier: GPL-2.0
"""the time of this machine for a byte that is copied, cleared or checked, for a locked operation, a system call and wake-ups, and for
an instruction: of a TCP message, which a lab counts. The machine should be idle. Copy build/bench/prices.json to
perf/prices.json, by which all counts are priced"""
import datetime
import json
import pathlib
import platform
import re

from perflib import counts, lab
from perflib.experiment import Experiment
from perflib.tables import LEVELS, PROJECT, table

PROGRAM, MESSAGES, ROUNDS = "build/perf/weft-prices", 2000, 8
TITLES = {
    "copied_b": "a byte copied by rep movsb", "copied_q": "a byte copied by rep movsq", "cleared": "a byte cleared",
    "checked": "a byte of CRC32C", "string": "a string instruction, besides its bytes", "locked": "a locked operation, its line at hand",
    "line": "a line that another processor has written", "system_call": "a system call", "wake": "a wake-up on this processor",
    "wake_other": "a wake-up on another processor", "message": "64 B over TCP on loopback", "instruction": "an instruction",
}


def model():
    found = re.search(r"^model name.*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return found[1] if found else platform.machine()


def least(measured):
    """The least of several measurements, value by value: other work of the machine only added to each."""
    if isinstance(measured[0], dict):
        return {key: least([one[key] for one in measured]) for key in measured[0]}
    return min(measured)


def joined(measured, counted):
    """The prices, of several measurements of weft-prices and of a lab's count of the same messages. An instruction takes the time of a
    message over TCP, by the instructions of the guest's kernel without those that move bytes."""
    prices = least(measured)
    prices["instruction"] = round(prices["message"] / (counted["instructions"] - counted["steps"]), 4)
    return {"processor": model(), "kernel": platform.release().partition("-")[0], "date": datetime.date.today().isoformat()} | prices


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


class Prices(Experiment):
    name, place, markers = "prices", 50, "prices"

    def run(self, words):
        if not (PROJECT / PROGRAM).exists():
            raise SystemExit("perf: prices are of x86-64's instructions, and this machine has others")
        print("perf: measuring eight times, two minutes; the machine should have nothing else to do", flush=True)
        measured = [json.loads(lab.output_of(PROGRAM)) for _ in range(ROUNDS)]
        name, command = "bench-prices", f"{PROGRAM} messages {MESSAGES} && cat /proc/kallsyms >$LAB_OUT/kallsyms"
        with lab.lab(name, ["--icount", "--cpu", "max", "--quiet", *lab.plugin(name)], ["sh", "-c", command]) as (out,):
            # A message there, and one back.
            counted, _, _ = counts.folded(out.parent / "counts", out / "kallsyms", 2 * MESSAGES)
        text = json.dumps(joined(measured, counted), indent=1)
        self.file.write_text(text + "\n", encoding="utf-8")
        print(text)
        print("perf: the prices, in nanoseconds, are in build/bench/prices.json; perf/prices.json is what counts are priced by")
        return 0

    def read(self, files):
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]

    def table(self, results):
        """The prices, in nanoseconds and in instructions; `results` has one object."""
        (prices,), body = results, []
        for name, title in TITLES.items():
            values = [prices[name][level] for level in LEVELS] if isinstance(prices[name], dict) else [prices[name]]
            body.append([title, *(" / ".join(shown(value / unit) for value in values) for unit in (1, prices["instruction"]))])
        return f"{prices['processor']}, Linux {prices['kernel']}, {prices['date']}.\n\n" + table(["", "ns", "instructions"], body)
