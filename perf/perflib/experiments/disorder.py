# SPDX-License-Identifier: GPL-2.0
"""writes of 64 KiB and 1 MiB over a wire of 2 ms that loses no packet, 0.1 % and 1 %: over TCP sockets, over Weft on TCP, with one
path and two, and on SCTP, with early bytes placed in their turn or at once. NAME=VALUE: count=64 (messages of 1 MiB)"""
from perflib import lab
from perflib.drawing import Figure
from perflib.experiment import Experiment, number, objects
from perflib.experiments.transports import WINDOW
from perflib.tables import KIBI, table

ORDER = "/sys/module/weft_sctp/parameters/out_of_order"
# Kind of connection to the step that makes it, and its carrier.
KINDS = {
    "TCP sockets": ("set_all transport tcp", "tcp"),
    "Weft on TCP": ("", "verbs"),
    "Weft on two paths of TCP": ("set_all paths 2", "verbs"),
    "Weft on SCTP, in order": (f"set_all transport sctp && echo off >{ORDER}", "verbs"),
    "Weft on SCTP, out of order": (f"echo on >{ORDER}", "verbs"),
}
# Fields of its second table, with their titles.
BESIDE = {"early_bytes": "placed before their turn, KiB", "kept_bytes": "kept at most, KiB"}


class Disorder(Experiment):
    name, place, in_all = "disorder", 24, True
    settings = {"count": ("64", r"\d+")}
    caption = (
        "**Disorder**: writes over one wire of 2 ms that loses packets. Over SCTP, what comes before its turn is placed in its turn "
        "or at once; a message completes in its turn in any case."
    )
    figure = Figure("loss_percent", "packets lost, per cent", (("rate_mb_s", ""),), "MB/s")

    def steps(self, chosen):
        # Packets are of a segment, so that the wire loses such, and not trains of forty.
        steps = lab.Steps("weft_hosts", "modprobe sctp", *(f"ip -n {host} link set eth0 gso_max_segs 1" for host in "AB"), WINDOW)
        for loss in (0, 0.1, 1):
            steps.do(*(f"tc -n {host} qdisc replace dev eth0 root netem delay 2ms loss {loss}% limit 20000" for host in "AB"))
            for name, (made, carrier) in KINDS.items():
                steps.do(made)
                for size, times in (("64k", 8), ("1m", 1)):
                    words = f"op=write size={size} count={times * int(chosen['count'])} depth=16 carrier={carrier}"
                    steps.ask(f"watched bandwidth pattern=oneway {words}", name=name, loss_percent=loss)
        return steps

    def results(self, said):
        return [tag | kept | sent for tag, (sent, kept) in ((tag, objects(lines)) for tag, lines in said)]

    def curve(self, result):
        return f"{result['name']}, {result['size_bytes'] // KIBI} KiB"

    def table(self, results):
        rows = [(result, [result[field] / KIBI for field in BESIDE]) for result in results]
        body = [[self.curve(result), str(result["loss_percent"]), *map(number, values)] for result, values in rows if any(values)]
        return super().table(results) + "\n\n" + table(["", self.figure.x_title, *BESIDE.values()], body)
