# SPDX-License-Identifier: GPL-2.0
"""NVMe between two machines whose cards cut large packets: the work of target and host for a request, over nvme-tcp and over
Weft, in instructions; and of both ends what the network adds to the request at the target's own disk. A table of ratios. rows= and
subjects= choose. Where these go is in build/bench/storage-where.txt"""
from perflib import lab
from perflib.experiments.applications import REQUESTS
from perflib.ratios import Ratios, among, counted, gather

# Of 32 at once too many are over before the other machine begins to count.
ROWS = [row for row in REQUESTS if row.startswith("nvme-") and not row.endswith("-32")]
# Subject to weft's settings crc and lend.
SETTINGS = {"weft": ("off", "unchecked"), "weft-crc": ("required", "unchecked"), "lent": ("off", "all"), "lent-crc": ("required", "all")}
ENDS = {"target": "the target", "host": "the host", "both": "both ends"}


class Storage(Ratios):
    """The target is on the server, over a disk that does nothing; its host and fio are on the client. Both go through the same rows
    for the same subjects. Each counts amid a row, and how many requests its own disk had meanwhile, so that neither has to know where
    the other one is."""

    name, place, markers = "storage", 41, "storage"
    settings = {"rows": ("", ".*"), "subjects": ("", ".*")}
    titles = {f"{row}-{end}": f"{REQUESTS[row][-1]}: {title}" for row in ROWS for end, title in ENDS.items()}
    subjects = ("tcp", "tcp-digest", *SETTINGS, "local")

    def run(self, words):
        chosen = self.choose(words)
        steps = self.steps(chosen)
        print("perf: two machines boot; some four minutes on an idle machine", flush=True)
        with lab.machines(lab.name_of(self.name), ["--mem", "2048", "--timeout", "3600"], self.name, steps) as outs:
            self.save_counted([self.spent(out, steps) for out in outs])
        return self.tell(chosen)

    def steps(self, chosen):
        rows, steps = among(self.name, "row", chosen["rows"], ROWS), lab.Steps("machine {side}")
        for subject in self.chosen_subjects(chosen):
            if not subject.startswith(("tcp", "local")):
                rule = "" if subject in SETTINGS else subject.removeprefix("without-")
                crc, lend = SETTINGS.get(subject, SETTINGS["weft"])
                steps.do(f"echo {rule} >/sys/module/weft/parameters/without", f"echo {crc} >/sys/class/infiniband/weft0/weft/crc")
                steps.do(f"echo {lend} >/sys/class/infiniband/weft0/weft/lend")
            transport = {"tcp": "tcp", "tcp-digest": "tcp hdr_digest,data_digest", "local": ""}.get(subject, "rdma")
            steps.do(f"begin_subject {subject} {transport}")
            for row in rows:
                fio, kib, number, *_ = REQUESTS[row]
                steps.ask(f"on_both {subject} {row} {kib} {number} {fio}")
            steps.do("end_subject")
        return steps

    def gathered(self, results):
        found = gather(results)
        for row in ROWS:
            target, host = (found.get(f"{row}-{end}", {}) for end in ("target", "host"))
            both = {"local": target.pop("local")} if "local" in target else {}
            for subject in (subject for subject in target if subject in host):
                (rate, _, costs), (of_host, _, more) = target[subject], host[subject]
                work = 1 / rate + 1 / of_host
                both[subject] = 1 / work, f"{work:,.0f}", [sum(each) for each in zip(costs, more)]
            found[f"{row}-both"] = both
        return {row: subjects for row, subjects in found.items() if subjects}

    def spent(self, out, steps):
        """The work of one side for a request, in instructions and packets, and text of where it went."""
        counts, text = counted(out, [])
        of_row = {(result["subject"], result["row"]): {"instructions": round(result["instructions"])} for result in counts}
        results = self.results(steps.said(out))
        packets = [{"packets_sent": result.pop("packets_sent")} for result in results]
        return [result | of_row[tuple(result.values())] | sent for result, sent in zip(results, packets)] + counts, text
