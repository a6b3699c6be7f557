# SPDX-License-Identifier: GPL-2.0
"""the work for a message on several processors, each with caches of its own: work, that of the busiest processor, lines that move
between them and which functions move them, memory's traffic. A newer QEMU counts (scripts/debian/emulator). NAME=VALUE:
processors=1,2,4,16, rows=, subjects=, and turn=1000,35000: how many nanoseconds a processor runs before the next is seen to,
which is how long one takes to wake"""
import collections
import json

from perflib import counts, lab
from perflib.experiment import NUMBERS, Experiment, Wrong
from perflib.experiments.applications import REQUESTS
from perflib.ratios import among
from perflib.rows import parameters
from perflib.tables import BENCH, table
from perflib.trial import where

KINDS = ("second", "third", "memory", "moved", "taken")
# Row to: its title, bytes of a message, messages of each pair, and the words of the driver.
ROWS = {
    "latency-64": ("64 B latency", 64, 200, "latency op=send size=64 count=100"),
    "bothway-64": ("64 B both ways at once", 64, 4000, "bandwidth pattern=bothway op=send size=64 count=2000"),
    "messages-64": ("64 B messages, queue kept full", 64, 4000, "bandwidth pattern=oneway op=send size=64 count=4000 batch=32"),
    "send-4k": ("send 4 KiB", 4096, 1000, "bandwidth pattern=oneway op=send size=4k count=1000"),
    "send-64k": ("send 64 KiB", 65536, 100, "bandwidth pattern=oneway op=send size=64k count=100"),
    "send-1m": ("send 1 MiB", 1048576, 32, "bandwidth pattern=oneway op=send size=1m count=32 depth=16"),
    "read-64k": ("read 64 KiB", 65536, 100, "bandwidth pattern=oneway op=read size=64k count=100 depth=16"),
}
# Those of which a socket sends 32 messages in a call.
GATHERED = ("bothway-64", "messages-64", "send-4k")
TITLES = {row: entry[0] for row, entry in ROWS.items()} | {row: entry[-1] for row, entry in REQUESTS.items()}
KNOWN = [row for row in TITLES if not row.startswith("nfs-")]
SUBJECTS = {"tcp": "TCP", "tcp-gather": "TCP, 32 messages a call", "weft": "Weft", "weft-crc": "Weft, CRC on"}
COLUMNS = {
    "sum": "work", "longest": "of the busiest processor", "moved": "lines moved", "wakes_other": "interrupts of another processor",
    "traffic": "bytes of memory for one of payload",
}


def work(cpu, prices):
    """A processor's instructions at real prices: bytes at those of the third cache if their lines came from there or from another
    processor, at those of memory if they came from it; and a line that another processor had changed, where it is not one of a
    copy's, at the time that it takes to come."""
    cost = counts.priced(cpu | {"wakes_other": 0}, prices, "hot")
    ns = cpu["single"]["moved"] * prices["line"]
    for level, lines in (("l3", cpu["bulk"]["third"] + cpu["bulk"]["moved"]), ("cold", cpu["bulk"]["memory"])):
        ns += 64 * lines * (prices["copied_q"][level] - prices["copied_q"]["hot"])
    return cost + ns / prices["instruction"]


def folded(counted, kallsyms, messages, size):
    """The work for a message, and which functions moved lines from which."""
    prices = json.loads(counts.PRICES.read_text(encoding="utf-8"))
    starts, names = counts.symbols(kallsyms)
    beginnings = counts.beginnings(starts, names)
    each, pairs = collections.Counter({column: 0 for column in COLUMNS}), collections.Counter()
    for kind, *words in (line.split() for line in counted.read_text(encoding="ascii").splitlines()):
        if kind == "cpu":
            numbers = [int(word) / messages for word in words[2:]]
            cpu = dict(zip(("instructions", *counts.COLUMNS), numbers))
            rest = numbers[1 + len(counts.COLUMNS) :]
            cpu |= {"single": dict(zip(KINDS, rest)), "bulk": dict(zip(KINDS, rest[len(KINDS) :]))}
            each["sum"] += work(cpu, prices)
            each["longest"] = max(each["longest"], work(cpu, prices))
            each["instructions"] += cpu["instructions"]
            each["accesses"] += int(words[1]) / messages
            for which in KINDS:
                each[which] += cpu["single"][which] + cpu["bulk"][which]
        elif kind == "pair":
            pairs[tuple(counts.function(int(word, 16), starts, names) for word in words[:2])] += int(words[2]) / messages
        elif kind == "block" and int(words[0], 16) in beginnings:
            each[beginnings[int(words[0], 16)]] += int(words[1]) / messages
        elif kind == "traffic":
            each["traffic"] = 64 * (int(words[0]) + int(words[1])) / messages / size
    return dict(each) | {"pairs": [[*pair, number] for pair, number in pairs.most_common(40)]}


def of_lab(out, processors, turn):
    """The results of a lab, whose file `counted` has lines of SUBJECT ROW MESSAGES BYTES KALLSYMS."""
    for line in (out / "counted").read_text(encoding="ascii").splitlines():
        subject, row, messages, size, kallsyms = line.split()
        each = folded(out / f"counts-{subject}-{row}", out / kallsyms, int(messages), int(size))
        yield {"subject": subject, "row": row, "processors": processors, "turn": turn} | each


def cell(result, tcp, column):
    number = result[column]
    ratio = not result["subject"].startswith("tcp") and column in ("sum", "longest")
    return (f"{number:,.0f}" if number >= 100 else f"{number:.2f}") + (f" ({number / tcp[column]:.2f} ×)" if ratio else "")


class Lines(Experiment):
    """A lab for each number of processors; rows of NVMe have a lab of their own."""

    name, place, markers = "lines", 51, "lines"
    settings = {
        "processors": ("1,2,4,16", NUMBERS), "turn": ("", NUMBERS), "subjects": (",".join(SUBJECTS), ".+"),
        "rows": ("latency-64,bothway-64,messages-64,send-4k,send-64k,read-64k,nvme-4k-read-1,nvme-4k-read-32", ".+"),
    }

    def choose(self, words):
        chosen = {name: value.split(",") if value else [] for name, value in super().choose(words).items()}
        for number in (number for number in map(int, chosen["processors"]) if number > 64 or number > 1 and number % 2):
            raise Wrong(f"lines takes processors=1, or an even number up to 64, not '{number}'")
        chosen["rows"] = among(self.name, "row", ",".join(chosen["rows"]), KNOWN)
        chosen["subjects"] = among(self.name, "subject", ",".join(chosen["subjects"]), SUBJECTS)
        return chosen

    def run(self, words):
        chosen, results = self.choose(words), []
        disks = [row for row in chosen["rows"] if row not in ROWS]
        rows = [row for row in chosen["rows"] if row in ROWS]
        for processors in map(int, chosen["processors"]):
            # Where two ends meet, it matters most how soon one wakes the other.
            for turn in map(int, chosen["turn"] or (["1000", "35000"] if processors == 2 else ["1000"])):
                if rows:
                    results += self.counted("pairs", processors, turn, (processors + 1) // 2, self.pairs(chosen["subjects"], rows))
                if disks:
                    results += self.counted("disk", processors, turn, 1, self.disk(chosen["subjects"], disks, processors))
        self.save(results)
        (BENCH / "lines.txt").write_text(self.told(results) + "\n", encoding="utf-8")
        return self.show(results)

    def counted(self, what, processors, turn, marks, steps):
        """The results of one lab, in which so many programs mark the beginning and the end."""
        name = lab.name_of(self.name)
        lab.say(f"perf: lines: {what}, processors: {processors}, one wakes in {turn} ns")
        options = ["--icount", "--smp", str(processors), "--mem", "4096", "--quiet", "--timeout", "14400"]
        with lab.steps(name, options + lab.plugin(name, "lines", f",pairs={marks},turn={2 * turn}"), self.name, steps) as (out,):
            return list(of_lab(out, processors, turn))

    @staticmethod
    def pairs(subjects, rows):
        """Clients on the even processors, of host B, each with a server of its own on the next, of host A, do the same at once."""
        steps = lab.Steps('"$LAB_PROJECT/scripts/lab/two-hosts" --install', "pair_addresses", "steer eth0 eth0", "preload")
        for subject in subjects:
            tcp = subject.startswith("tcp")
            steps.do(*([] if tcp else [f"modprobe weft {parameters(subject)}", "links weft eth0"]))
            for row in (row for row in rows if subject != "tcp-gather" or row in GATHERED):
                _, size, messages, words = ROWS[row]
                words += f" carrier={'tcp' if tcp else 'verbs'}" + (" gather=32" if subject == "tcp-gather" else "")
                steps.do(f"at_once {subject} {row} {size} {messages} {words}")
            steps.do("" if tcp else "unlinks weft weft")
        return steps

    @staticmethod
    def disk(subjects, rows, processors):
        """fio asks the kernel's own NVMe target, over a disk that does nothing. With one or two processors there is one queue, with
        more as many as processors."""
        steps = lab.Steps("soon=20000", "nvme_hosts", "null_disk", f"queues={processors if processors > 2 else 1}")
        steps.do("steer eth0 eth1", "preload", '"$mark" none')
        for subject in (subject for subject in subjects if subject != "tcp-gather"):
            tcp = subject == "tcp"
            steps.do(*([] if tcp else [f"modprobe weft {parameters(subject)}", "links weft eth1"]), f"attach_over {'tcp' if tcp else 'rdma'}")
            for row in rows:
                words, kib, number, *_ = REQUESTS[row]
                steps.do(f"at_disk {subject} {row} {kib} {number} {words}")
            steps.do("let_go", "" if tcp else "unlinks weft weft")
        return steps

    def table(self, results):
        """A table of each number of processors."""
        text, found = [], {}
        for result in results:
            found.setdefault((result["processors"], result["turn"]), {}).setdefault(result["row"], {})[result["subject"]] = result
        for at in sorted(found):
            body = []
            for row, title in ((row, title) for row, title in TITLES.items() if row in found[at]):
                of_row = found[at][row]
                for subject in sorted(of_row, key=(*SUBJECTS, *of_row).index):
                    tcp = of_row.get("tcp-gather", of_row.get("tcp", of_row[subject]))
                    cells = [cell(of_row[subject], tcp, column) for column in COLUMNS]
                    body.append([f"{title}: {SUBJECTS.get(subject, subject)}", *cells])
            text.append(table(["", *COLUMNS.values()], body, where(*at)))
        told = "Each message; work in instructions at real prices; in parentheses the ratio to TCP, the better of two, of which less is better."
        return "\n\n".join([*text, told])

    def told(self, results):
        """The tables, and for each result the functions between which most lines moved."""
        text = [self.table(results)]
        for result in results:
            of = "{processors} processors, {turn} ns, {row}, {subject}".format(**result)
            text.append(f"\n== {of}: lines moved a message")
            text += [f"{number:10.2f}  {writer} > {reader}" for writer, reader, number in result["pairs"][:12]]
        return "\n".join(text)

    def show(self, results):
        print(self.told(results))
        return 0
