# SPDX-License-Identifier: GPL-2.0
"""MPI (ping-pong, rate, allreduce, put, get), rsockets (rstream) and libfabric (fi_pingpong), in turn over TCP and over Weft, and UCX
(ucx_perftest) over TCP, because UCX knows no iWARP. A table of ratios. NAME=VALUE: rounds=3, subjects= (tcp, weft, weft-crc), and
only= of mpi, rsockets, libfabric and ucx, with commas between"""
from perflib import lab
from perflib.experiment import objects
from perflib.ratios import Ratios
from perflib.tables import PROJECT

# An instruction is a nanosecond, and both ends share the processor; so a time is the work of both ends, and of the kernel, for a message.
# Row of MPI to: its title, the fields that tell mpibench's line, and the field and unit of its figure.
MPI = {
    "mpi-64": ("MPI, 64 B, half a round trip", {"experiment": "latency", "size": 64}, "median_us", "us"),
    "mpi-4k": ("MPI, 4 KiB, half a round trip", {"experiment": "latency", "size": 4096}, "median_us", "us"),
    "mpi-1m": ("MPI, 1 MiB, half a round trip", {"experiment": "latency", "size": 1 << 20}, "mean_us", "us"),
    "mpi-rate-64": ("MPI, 64 B one way, 64 outstanding", {"experiment": "bandwidth"}, "oneway_mb_s", "k_s"),
    "mpi-allreduce-8": ("MPI, allreduce of 8 B", {"experiment": "allreduce", "size": 8}, "mean_us", "us"),
    "mpi-allreduce-64k": ("MPI, allreduce of 64 KiB", {"experiment": "allreduce", "size": 1 << 16}, "mean_us", "us"),
    "mpi-put-4k": ("MPI, put of 4 KiB and its flush", {"operation": "put"}, "median_us", "us"),
    "mpi-get-4k": ("MPI, get of 4 KiB and its flush", {"operation": "get"}, "median_us", "us"),
}
MPIBENCH = (
    "latency --sizes 64,4096 --rounds 200 -- latency --sizes 1048576 --rounds 20 -- bandwidth --sizes 64 --rounds 6400 -- "
    "allreduce --sizes 8,65536 --rounds 100 -- onesided --operation put --sizes 4096 --rounds 200 -- "
    "onesided --operation get --sizes 4096 --rounds 200"
)
# Row of rstream to: its title, bytes and number of messages, rounds, and the unit.
RSOCKETS = {
    "rsockets-64": ("rsockets, 64 B, half a round trip", 64, 1, 500, "us"),
    "rsockets-4k": ("rsockets, 4 KiB, half a round trip", 4096, 1, 500, "us"),
    "rsockets-stream-64": ("rsockets, 64 B in a stream, each way in turn", 64, 1000, 4, "mb_s"),
    "rsockets-stream-64k": ("rsockets, 64 KiB in a stream, each way in turn", 65536, 100, 4, "mb_s"),
}
# Row of fi_pingpong to: its title, bytes, rounds.
LIBFABRIC = {
    "libfabric-64": ("libfabric, 64 B, half a round trip", 64, 500),
    "libfabric-4k": ("libfabric, 4 KiB, half a round trip", 4096, 500),
    "libfabric-1m": ("libfabric, 1 MiB, half a round trip", 1 << 20, 20),
}
# The same of ucx_perftest.
UCX = {
    "ucx-64": ("UCX, 64 B, half a round trip", 64, 500),
    "ucx-4k": ("UCX, 4 KiB, half a round trip", 4096, 500),
    "ucx-1m": ("UCX, 1 MiB, half a round trip", 1 << 20, 20),
}


def mpi(steps, tcp, tag):
    """Open MPI's tcp BTL and osc pt2pt, or libfabric's verbs;ofi_rxm and libonesided (apps/mpi)."""
    launch = f'"$LAB_PROJECT/apps/mpi/launch" --agent "$agent" --transport {"tcp" if tcp else "both"} host-A,host-B'
    steps.ask(f'"$agent" host-A timeout 3000 {launch} --devices /proc/1/root/sys/class/infiniband {MPIBENCH} 2>&1 </dev/null', **tag)


def rsockets(steps, tcp, tag):
    """rstream over sockets, or over rsockets that do not poll."""
    for row, (_, size, many, rounds, _) in RSOCKETS.items():
        test, words = "rstream -T blocking" + " -T sockets" * tcp, f"-S {size} -C {many} -I {rounds}"
        steps.ask(f"between 7471 {test} {words} -- {test} -s 10.0.0.1 {words}", row=row, **tag)


def libfabric(steps, tcp, tag):
    """fi_pingpong, msg endpoints of the provider tcp or verbs."""
    for row, (_, size, rounds) in LIBFABRIC.items():
        words = f"fi_pingpong -p {'tcp' if tcp else 'verbs'} -e msg -S {size} -I {rounds}"
        words = 'env LD_PRELOAD="$LAB_PROJECT/build/perf/libyield.so" FI_VERBS_IFACE=eth0 ' + words
        steps.ask(f"between 47592 {words} -- {words} 10.0.0.1", row=row, **tag)


def ucx(steps, tcp, tag):
    """ucx_perftest, whose ends sleep until something comes."""
    for row, (_, size, rounds) in UCX.items() if tcp else ():
        words = f"env UCX_TLS=tcp UCX_NET_DEVICES=eth0 ucx_perftest -t tag_lat -s {size} -n {rounds} -w 20 -E sleep -f -v"
        steps.ask(f"between 13337 {words} -- {words} 10.0.0.1", row=row, **tag)


def figures(lines, row):
    """Row, unit and value of each figure in a program's output."""
    if row is None:
        found = objects(lines)
        for row, (_, wanted, field, unit) in MPI.items():
            value = next(line[field] for line in found if line.items() >= wanted.items())
            # 64 bytes a message: megabytes a second are so many millions of messages times 64.
            yield row, unit, round(1000 * value / 64, 2) if unit == "k_s" else value
    elif row in RSOCKETS:
        (_, size, *_, unit), microseconds = RSOCKETS[row], float(lines[-1].split()[7])
        yield row, unit, microseconds if unit == "us" else round(size / microseconds, 3)
    else:
        yield row, "us", float(lines[-1].split(",")[1] if row in UCX else lines[-1].split()[6])


# Kind to: the steps of a round, and those before all. An end of rsockets that waits polls for 10 us before it sleeps, with the
# processor that its peer needs for an answer. So no end polls.
KINDS = {
    "mpi": (mpi, "agent=$LAB_PROJECT/tests/consumers/mpi/agent", "driver=$LAB_PROJECT/build/apps/mpi/mpibench",
            r"printf '10.0.0.1 host-A\n10.0.0.2 host-B\n' >>/etc/hosts"),
    "rsockets": (rsockets, "driver=$(type -P rstream)", "mkdir -p /etc/rdma/rsocket && echo 0 >/etc/rdma/rsocket/polling_time"),
    "libfabric": (libfabric, "driver=$(type -P fi_pingpong)"),
    "ucx": (ucx, "driver=$(type -P ucx_perftest)"),
}


class Programs(Ratios):
    name, place, markers, counts = "programs", 43, "programs", False
    kind = f"({'|'.join(KINDS)})"
    settings = {"only": (",".join(KINDS), f"{kind}(,{kind})*"), "rounds": ("3", "[1-9]"), "subjects": ("", ".*")}
    titles = {row: entry[0] for rows in (MPI, RSOCKETS, LIBFABRIC, UCX) for row, entry in rows.items()}
    subjects = ("tcp", "weft", "weft-crc")

    def run(self, words):
        chosen = self.choose(words)
        kinds, subjects = chosen["only"].split(","), self.chosen_subjects(chosen)
        if "mpi" in kinds:
            lab.must(["make", "-s", "-C", "apps/mpi"])
        if "libfabric" in kinds and not (PROJECT / "build/perf/libyield.so").exists():
            raise SystemExit("programs: there is no libyield.so: apt-get install libfabric-dev, make -C perf/driver")
        for kind in kinds:
            print(f"perf: {kind} begins; some four minutes on an idle machine", flush=True)
        found = lab.together(lambda kind: self.measured(kind, self.steps_of(kind, subjects, int(chosen["rounds"]))), kinds)
        self.save([result for results in found for result in results])
        return self.tell(chosen)

    @staticmethod
    def steps_of(kind, subjects, rounds):
        ask, *prepare = KINDS[kind]
        steps = lab.Steps("weft_hosts crc=off", *prepare, "preload")
        for number, subject in ((number, subject) for number in range(1, rounds + 1) for subject in subjects):
            steps.do(f"set_all crc {'preferred' if subject == 'weft-crc' else 'off'}", f"say '{subject}, round {number}'")
            ask(steps, subject == "tcp", {"subject": subject, "round": number})
        return steps

    def measured(self, kind, steps):
        """The results of one kind: programs pass messages between the two hosts, some rounds of each subject in turn, in one boot."""
        options = [*self.options, "--mem", "3072", "--quiet", "--timeout", "3600"]
        with lab.steps(lab.name_of(self.name, kind), options, self.name, steps) as (out,):
            return [
                {"subject": tag["subject"], "row": row, "round": tag["round"], unit: value}
                for tag, lines in steps.said(out) for row, unit, value in figures(lines, tag.get("row"))
            ]
