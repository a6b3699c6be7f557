# SPDX-License-Identifier: GPL-2.0
"""64 bytes each way alone, and beside a stream of 1 MiB messages on another connection, over TCP and over Weft: median, 99 and
99.9 %. A table; fails where Weft's 99 % is three times that alone. NAME=VALUE: rounds=2000, processors=1 (2: in time),
without=RULE. The word turns: records the scheduler's switches beside a stream the same way instead, and says how long the
stream's sender keeps the processor and how long a woken program waits for it"""
import re
import shutil

from perflib import lab
from perflib.experiment import Experiment, crc
from perflib.tables import BENCH, table

# The most that a stream of large messages on another connection may cost: the 99th percentile, as a multiple of that alone.
GOAL = 3
CARRIERS = {"tcp": "TCP", "verbs": "Weft"}
# Load to: its words, and the host that sends the stream, with its address at the other.
LOADS = {
    "alone": ("alone", ""),
    "same way": ("beside a stream the same way", "B 10.0.0.3"),
    "other way": ("beside one the other way", "A 10.0.0.4"),
}
RECORDS = [BENCH / f"turns.{carrier}" for carrier in CARRIERS]


class Tails(Experiment):
    name, place, quiet, markers = "tails", 14, True, "tails"
    settings = {"rounds": ("2000", r"[1-9]\d*"), "processors": ("1", "[12]"), "without": ("", ".+")}

    def choose(self, words):
        return super().choose([word for word in words if word != "turns"]) | {"turns": "turns" in words}

    def steps(self, chosen):
        steps = lab.Steps(f"weft_hosts crc={crc()} without={chosen['without']}")
        steps.do("ip -n A address add 10.0.0.3/24 dev eth0", "ip -n B address add 10.0.0.4/24 dev eth0")
        turns, rounds = chosen["turns"], int(chosen["rounds"])
        for carrier, load in ((carrier, load) for carrier in CARRIERS for load in LOADS if load == "same way" or not turns):
            stream = LOADS[load][1]
            steps.do(f"stream {stream} {carrier}" if stream else "", "record" if turns else "", f"say '{carrier}, {load}'")
            steps.ask(f"run latency size=64 count={rounds} carrier={carrier}", load=load)
            # Messages of 64 bytes alone are far fewer bytes.
            steps.do(f"recorded turns.{carrier}" if turns else "", f"end_load {rounds * 3000}" if stream else "")
        return steps

    def keep(self, out, steps, chosen):
        if not chosen["turns"]:
            super().keep(out, steps, chosen)
        for record in RECORDS if chosen["turns"] else ():
            shutil.copyfile(out / record.name, record)

    def tell(self, chosen):
        if not chosen["turns"]:
            return super().tell(chosen)
        print(turns_table(RECORDS))
        return 0

    def table(self, results):
        found, body = {(row["carrier"], row["load"]): row for row in results}, []
        self.lacking([f"{carrier}, {load}" for carrier in CARRIERS for load in LOADS if (carrier, load) not in found])
        for carrier, load in ((carrier, load) for carrier in CARRIERS for load in LOADS):
            row, alone = found[carrier, load], found[carrier, "alone"]["p99_us"]
            shares = [f"{row[share]:.0f}" for share in ("median_us", "p99_us", "p999_us")]
            body.append([f"{CARRIERS[carrier]}, {LOADS[load][0]}", *shares, f"{row['p99_us'] / alone:.1f}"])
        return table(["a message of 64 B, µs each way", "median", "99 %", "99.9 %", "99 %, × of alone"], body)

    def judge(self, results):
        times = {row["load"]: row["p99_us"] for row in results if row["carrier"] == "verbs"}
        missed = sum(time > GOAL * times["alone"] for time in times.values())
        return missed and f"in {missed} of 2 the 99th percentile over Weft is more than {GOAL} times that alone"


# --- The scheduler's switches: the first line of a record names the processes of the stream, the others are the kernel's trace ---

HEAD = re.compile(r"sender=(\d+) receiver=(\d+)$")
EVENT = re.compile(r" ([0-9]+\.[0-9]+): (sched_switch|sched_wakeup): (.*)")
SWITCH = re.compile(r"prev_pid=(\d+) .* next_comm=(\S+) next_pid=(\d+)")
WAKEUP = re.compile(r"comm=(\S+) pid=(\d+)")


def turns_and_waits(lines):
    """Turns and waits by process, in microseconds of a machine whose instructions take a nanosecond each, and the driver's processes."""
    turns, waits, woken, ours, began = {}, {}, {}, set(), None
    for event in filter(None, map(EVENT.search, lines)):
        now = float(event[1]) * 1e6
        if event[2] == "sched_wakeup":
            woken.setdefault(WAKEUP.search(event[3])[2], now)
            continue
        before, command, after = SWITCH.search(event[3]).groups()
        if began is not None:
            turns.setdefault(before, []).append(now - began)
        began = now
        if after in woken:
            waits.setdefault(after, []).append(now - woken.pop(after))
        if command == "weft-perf":
            ours.add(after)
    return turns, waits, ours


def turns_table(records):
    """How long the stream's sender keeps the processor, and how long the programs of the small message, which are the other two that
    are called weft-perf, wait for it once woken."""
    body = []
    for record in records:
        first, *lines = record.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
        head, (turns, waits, ours) = HEAD.match(first), turns_and_waits(lines)
        small = [wait for pid in ours - {*head.groups()} for wait in waits.get(pid, [])] if head else []
        if not small or not turns.get(head[1]):
            raise SystemExit(f"perf: {record} has no turn of the stream's sender, or no program that waits: it was not recorded whole")
        for what, times in (("turns of the stream's sender", turns[head[1]]), ("waits of a small message's program, once woken", small)):
            shares = [f"{sorted(times)[at]:.0f}" for at in (len(times) // 2, len(times) * 99 // 100, -1)]
            body.append([f"{record.suffix[1:]}: {what}", str(len(times)), *shares])
    return table(["µs", "how often", "median", "99 %", "longest"], body)
