# SPDX-License-Identifier: GPL-2.0
"""The settings that decide which processor receives, before and after: a table of the operator's guide (perf/run knobs processors)."""
import os
import statistics
import subprocess

from perflib import lab
from perflib.experiment import Experiment, objects
from perflib.tables import table

# A network namespace of its own, in which two tap devices of several queues, card1 and card2, are on one bridge.
CARDS = """ip link add name wire mtu 1500 type bridge && ip link set wire up || exit
for card in card1 card2; do
	ip tuntap add dev $card mode tap multi_queue vnet_hdr && ip link set $card master wire up || exit
done
exec "$@"
"""
NAMESPACE = ("unshare", "--map-root-user", "--net")
WHEN = ("before", "after")
# Knob to: its name, from what to what, with which numbers of connections, and the words of `receive` before and after.
KNOBS = {
    "rss": ("card's queues (RSS)", "1 → 2", (1, 2, 4), "1 0 0", "2 0 0"),
    "rps": ("RPS", "off → both processors", (1, 2, 4), "1 0 0", "1 3 0"),
    "rfs": ("RFS", "off → both processors", (1, 2, 4), "1 0 0", "1 3 256"),
    "numa": ("program and card's interrupts", "on two nodes → on one", (1,), "1 0 0", "1 0 0"),
}


def share(rows, part):
    """The part of their frames that all rounds together had, in hundredths."""
    return f"{100 * sum(map(part, rows)) / sum(sum(row['placed']) for row in rows):.0f} %"


class Processors(Experiment):
    """A and B have a card of two queues each, whose interrupts stay on processor 0 and 1. Each connection has two programs of its own:
    the receiver, on A, stays on one processor and the sender on the other. Counted is on which processor A placed how many frames;
    bandwidth is a time."""

    name, help, markers = "processors", "", "processors"
    settings = {"rounds": ("5", "[1-9]")}

    def lab_options(self, chosen):
        # A processor on each node, and in each card a queue for each of them. The two cards of other makers are asked for their abilities.
        words = ["-device", "e1000e", "-device", "vmxnet3"]
        for number in range(2):
            words += ["-object", f"memory-backend-ram,id=memory{number},size=1536M"]
            words += ["-numa", f"node,nodeid={number},cpus={number},memdev=memory{number}"]
            words += ["-netdev", f"tap,id=wire{number},ifname=card{number + 1},script=no,downscript=no,vhost=off,queues=2"]
            words += ["-device", f"virtio-net-pci,netdev=wire{number},mac=02:00:00:00:00:0{number + 1},mq=on,vectors=6"]
        return ["--smp", "2,sockets=2", "--mem", "3072", *(option for word in words for option in ("--qemu", word))]

    def run(self, words):
        chosen = self.choose(words)
        steps = self.steps(chosen)
        if not os.access("/dev/net/tun", os.W_OK) or subprocess.run([*NAMESPACE, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            raise SystemExit("perf: this machine has no /dev/net/tun (modprobe tun, as root), or lets only root make network namespaces")
        lab.must(["scripts/unpacked", "numactl", "numactl"], stdout=subprocess.DEVNULL)
        options = [*self.lab_options(chosen), "--timeout", "5400"]
        with lab.steps(lab.name_of("knobs"), options, self.name, steps, wrapper=[*NAMESPACE, "sh", "-c", CARDS, "cards"]) as (out,):
            self.keep(out, steps, chosen)
        return self.tell(chosen)

    def steps(self, chosen):
        steps, first = lab.Steps().ask("card_hosts").do("watch_frames", "preload"), 0
        for knob, connections in ((knob, connections) for knob in KNOBS for connections in KNOBS[knob][2]):
            for number in range(first, int(chosen["rounds"]) + 1):
                for when, words in zip(WHEN, KNOBS[knob][3:]):
                    nodes = [str((n + 1) % 2) for n in range(connections)]
                    if knob == "numa":
                        nodes = ["1" if when == "before" else "0"]
                    tag = {"knob": knob, "connections": connections, "round": number, "when": when}
                    steps.do(f"receive {words}").ask(f"connections 400 {' '.join(nodes)}", **tag)
            # The very first round has caches to fill, and is not told.
            first = 1
        return steps

    def results(self, said):
        (_, cards), *rounds = said
        return objects(cards) + [tag | self.placed(lines) for tag, lines in rounds if tag["round"]]

    @staticmethod
    def placed(lines):
        """The bandwidth of all connections together, how many frames each processor placed, and how many the processor of the program
        that they are for."""
        words = [line.split() for line in lines]
        on = {word[1]: word[2] for word in words if word[0] == "on"}
        was = {(word[1], word[2]): int(word[3]) for word in words if word[0] == "was"}
        frames, near = [0, 0], 0
        for _, pair, processor, number in (word for word in words if word[0] == "is" and word[1] in on):
            new = int(number) - was.get((pair, processor), 0)
            frames[int(processor)] += new
            near += new if processor == on[pair] else 0
        rate = sum(result["rate_mb_s"] for result in objects(lines))
        return {"mb_s": round(rate, 2), "placed": frames, "near": near}

    def table(self, results):
        body, missing = [], []
        for knob, connections in ((knob, connections) for knob in KNOBS for connections in KNOBS[knob][2]):
            of_knob = [row for row in results if (row.get("knob"), row.get("connections")) == (knob, connections)]
            before, after = ({row["round"]: row for row in of_knob if row["when"] == when} for when in WHEN)
            if not before or before.keys() != after.keys():
                missing.append(f"{knob} with {connections}")
                continue
            parts = (lambda row: row["near"]), (lambda row: max(row["placed"]))
            shown = [" → ".join(share(rounds.values(), part) for rounds in (before, after)) for part in parts]
            ratios = sorted(after[number]["mb_s"] / before[number]["mb_s"] for number in before)
            gain = "within the noise" if ratios[0] <= 1 <= ratios[-1] else f"{statistics.median(ratios):.2f} ×"
            gain += f" ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            # Of an emulated machine the nodes are as near, so its time says nothing of them.
            body.append([*KNOBS[knob][:2], str(connections), *shown, "–" if knob == "numa" else gain])
        self.lacking(missing)
        head = ["knob", "turned", "connections", "placed where the program is", "placed by the busier processor", "bandwidth"]
        cards = ", ".join(f"{row['card']} {row['ntuple']}" for row in results if "card" in row)
        return table(head, body) + f"\n\nRules (ntuple), as `ethtool -k` shows them of the cards in this machine: {cards}."
