# SPDX-License-Identifier: GPL-2.0
"""two pairs of programs, and one both ways, on one processor and on two; in time"""
import statistics

from perflib import lab
from perflib.experiment import CARRIERS, Experiment, crc, objects

ROUNDS = 5
# A program, its doorbells and, over veth, the receiving of its messages stay on its processor; the worker that sends for a stream of
# doorbells stays on those that the layout has. Both ways on two processors, each end receives on its own processor, as two machines
# would: else all work may gather on the one that wakes the worker.
# Layout to: pattern, processors of the worker (a mask), those on which A and B receive, and its pairs: server's and client's processor
# and the address. The driver serves one client at each address.
LAYOUTS = {
    "one-pair": ("oneway", 1, "0 0", ("0 0 10.0.0.1",)),
    "two-pairs-one-processor": ("oneway", 1, "0 0", ("0 0 10.0.0.1", "0 0 10.0.0.3")),
    "two-pairs-two-processors": ("oneway", 3, "0 0", ("0 0 10.0.0.1", "1 1 10.0.0.3")),
    "both-ways-one-processor": ("bothway", 1, "0 0", ("0 0 10.0.0.1",)),
    "both-ways-two-processors": ("bothway", 3, "1 2", ("0 1 10.0.0.1",)),
}
COUNTERS = """printf '{"fpdus": %s, "batches": %s}\\n' "$(counted tx_fpdus)" "$(counted tx_batches)\""""


class Scaling(Experiment):
    """The median of five rounds, and for Weft how many FPDUs TCP got at once on average."""

    name, place, options, raw = "scaling", 11, lab.TIMED, True

    def steps(self, chosen):
        steps = lab.Steps(f"weft_hosts crc={crc()}", "ip -n A address add 10.0.0.3/24 dev eth0")
        for carrier, message, layout in ((c, m, l) for c in CARRIERS for m in (("64", 8000), ("64k", 800)) for l in LAYOUTS):
            pattern, worker, receivers, pairs = LAYOUTS[layout]
            tag = {"carrier": carrier, "message": message[0], "layout": layout}
            words = "bandwidth pattern={} op=send size={} count={} carrier={}".format(pattern, *message, carrier)
            steps.ask(COUNTERS, **tag)
            for _ in range(ROUNDS):
                steps.do(f"echo {worker} >/sys/devices/virtual/workqueue/cpumask", f"receivers {receivers}")
                steps.ask(" & ".join([f"pinned {pair} {words}" for pair in pairs] + ["wait"] * (len(pairs) > 1)), **tag)
            steps.ask(COUNTERS, **tag)
        return steps

    def results(self, said):
        layouts = {}
        for tag, lines in said:
            layouts.setdefault(tuple(tag.items()), []).append(objects(lines))
        return [dict(tag) | self.layout(dict(tag), *rounds) for tag, rounds in layouts.items()]

    def layout(self, tag, before, *rounds_and_after):
        *rounds, after = rounds_and_after
        if any(len(rates) != len(LAYOUTS[tag["layout"]][3]) for rates in rounds):
            raise SystemExit(f"perf: scaling: {tag['layout']} over {tag['carrier']}, {tag['message']}, did not run")
        found = {"rate_msg_s": int(statistics.median(sum(rate["rate_msg_s"] for rate in rates) for rates in rounds))}
        fpdus, batches = (after[0][name] - before[0][name] for name in ("fpdus", "batches"))
        return found | ({"fpdus_per_batch": round(fpdus / batches, 1)} if batches else {})
