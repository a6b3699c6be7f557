#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=smp hosts
"""A storm: everything that begins against everything that ends and everything that changes, on two processors.

    tests/integration/run storm
    STORM_SECONDS=14400 scripts/torture storm

Round after round, servers, clients, strangers and objects begin and end by themselves while a schedule kills, resets,
removes and changes what they stand on. Then all of them are killed, and in the calm nothing may be left of them, and an
honest client is served. A round's schedule follows from the seed and the round's number alone, and is printed.

STORM_SECONDS  how long (240)
STORM_SEED     of all schedules (made up and printed, if not given)
STORM_ROUND    this round only, again and again
"""

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(PROJECT, "tests", "hostile"))
from hosts import Failure, on  # noqa: E402
import tap  # noqa: E402

PROGRAM = os.path.join(PROJECT, "build", "tests", "storm", "storm")
COUNTS = "/run/storm.counts"
GROUP = "/run/cgroup"
FAULTS = "/sys/kernel/debug/failslab"
PROCESSOR = "/sys/devices/system/cpu/cpu1/online"
PATIENCE = int(os.environ.get("WEFT_PATIENCE", "1"))
# An honest client's time, from rdma_getaddrinfo() to the last answer. With KASAN and lockdep, ten times a
# user's.
SERVED = 1000 * PATIENCE
ASKED = 3
PORT, HONEST = 7471, 7472
# A change that is refused so often, and never done, changes nothing: by chance one is refused at times, as IPv6 is below an MTU of 1280.
TRIES = 4
# What has refused a command or a word, and why: in a storm, much of what they are about is gone.
refusals = []


def run(*command, limit=30, must=False):
    """Runs a command, in words or in one text, to its end, which must come."""
    command = command if len(command) > 1 else command[0].split()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit * PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"no end of {' '.join(command)} within {limit * PATIENCE} s; {stacks()}") from error
    if done.returncode:
        refusals.append(f"{' '.join(command)}: {done.stderr.strip()}")
        if must:
            raise Failure(refusals[-1])
    return done.stdout


def wait(what, condition, limit):
    deadline = time.monotonic() + limit * PATIENCE
    while (left := condition()):
        if time.monotonic() > deadline:
            raise Failure(f"{what} after {limit * PATIENCE} s: {left}")
        time.sleep(0.2)


def inside(host, *command, **how):
    """Runs a command on a host."""
    return run(*on(host, *command), **how)


def write(path, word):
    """Writes a setting, which may be refused or gone."""
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(str(word))
    except OSError as error:
        refusals.append(f"{word} > {path}: {error}")


def meanwhile(path, word, otherwise, seconds):
    """A setting that says something else for so long."""
    write(path, word)
    time.sleep(seconds)
    write(path, otherwise)


# --- the hosts: A has servers, B clients; C hangs on A by a cable of its own, and goes at times ---


def make_third():
    run("ip netns add C")
    run("ip link add eth2 netns A address 02:00:00:00:00:03 type veth peer name eth0 netns C address 02:00:00:00:00:04")
    for host, device, number in (("A", "eth2", 1), ("C", "eth0", 2)):
        run(f"ip -n {host} link set {device} up")
        run(f"ip -n {host} addr add 10.2.0.{number}/24 dev {device}")
    add_link("A", "weft2", "eth2")
    add_link("C", "weft3")


LINKS = (("A", "weft0"), ("B", "weft1"))
BLACKHOLE = "blackhole 10.0.0.2/32"


def add_link(host, name, netdev="eth0"):
    inside(host, "rdma", "link", "add", name, "type", "weft", "netdev", netdev)


def add_links():
    for host, name in LINKS:
        add_link(host, name)


def set_both(setting, word):
    for _, name in LINKS:
        write(f"/sys/class/infiniband/{name}/weft/{setting}", word)


def give_addresses():
    for host, number in (("A", 1), ("B", 2)):
        run(f"ip -n {host} link set eth0 up")
        run(f"ip -n {host} addr replace 10.0.0.{number}/24 dev eth0")
        run(f"ip -n {host} addr replace fd00::{number}/64 dev eth0 nodad")


def repair():
    """Both hosts as they were; what is there already is refused."""
    run("modprobe weft")
    run(f"ip -n A route del {BLACKHOLE}")
    for host in ("A", "B"):
        run(f"ip -n {host} link set eth0 mtu 1500")
        run(f"tc -n {host} qdisc del dev eth0 root")
    give_addresses()
    add_links()
    make_third()
    for setting in (("transport", "tcp"), ("crc", "preferred"), ("fpdu", "large")):
        set_both(*setting)


# --- what begins ---


class Actor:
    """A process of the storm on a host, in the control group of all of them."""

    def __init__(self, host, *arguments):
        self.command = on(host, PROGRAM, "--counts", COUNTS, *map(str, arguments))
        self.begin()

    def begin(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        write(f"{GROUP}/storm/cgroup.procs", self.process.pid)

    def kill(self):
        # Its children die with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def reap(self):
        try:
            self.process.wait(20 * PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{' '.join(self.command)} cannot be killed: {stacks()}") from error


def stacks():
    """Where each process of the storm stands in the kernel."""
    said = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{number}/comm", encoding="ascii") as comm, open(f"/proc/{number}/stack", encoding="ascii") as stack:
                if comm.read().strip() == "storm":
                    said.append(" < ".join(line.split()[-1] for line in stack.read().splitlines()))
    return " | ".join(said)


# What a round's connections are: where its servers listen, where clients connect, and by which transport, if not as before.
KINDS = {
    "one address": ("10.0.0.1", "10.0.0.1", None),
    "every address": ("0.0.0.0", "10.0.0.1", None),
    "IPv6": ("fd00::1", "fd00::1", None),
    "every address, IPv6": ("::", "fd00::1", None),
    "SCTP": ("10.0.0.1", "10.0.0.1", "sctp"),
    "two paths": ("10.0.0.1", "10.0.0.1", "paths"),
}


def begin(kind, chance, resident):
    listen, connect, transport = KINDS[kind]
    if transport:
        set_both("transport", transport)
    stranger = ["--listeners", f"/proc/{resident.pid}/net/tcp", *(["--sctp"] if kind == "SCTP" else [])]
    parts = [("A", "serve", listen)] * chance.choice((1, 1, 2)) + [("B", "connect", connect)] * 2
    parts += [("B", "intrude", connect, *stranger)] * chance.choice((1, 2, 3))
    parts += [("A", "serve", "10.2.0.1"), ("C", "connect", "10.2.0.1"), ("A", "churn", "10.0.0.1", "--device", "weft0")]
    return [Actor(host, part, "--seed", chance.randrange(1 << 40), "--port", PORT, "--address", address, *more)
            for host, part, address, *more in parts]


# --- what ends and changes. Each takes the actors and a source of chance ---


def kill_for_good(actors):
    for actor in actors:
        actor.kill()
    for actor in actors:
        actor.reap()


def kill(actors, chance):
    actor = chance.choice(actors)
    kill_for_good([actor])
    actor.begin()


def kill_all(actors, _):
    write(f"{GROUP}/storm/cgroup.kill", 1)
    kill_for_good(actors)
    for actor in actors:
        actor.begin()


def link(_, chance):
    host, name = chance.choice(LINKS)
    inside(host, "rdma", "link", "del", name)
    add_link(host, name)


def for_a_while(command, longest, restore):
    """A change that a command makes, and that is taken back after so many seconds at most."""

    def change(_, chance):
        run(command)
        time.sleep(chance.random() * longest)
        restore()

    return change


def namespace(_, __):
    # Its processes keep it until they are killed; its cable goes now.
    run("ip -n C link del eth0")
    run("ip netns del C")
    make_third()


def module(_, __):
    # Those of other transports stand above it.
    run("modprobe -r weft_sctp weft_paths weft")
    run("modprobe weft")
    add_links()


def settings(_, chance):
    for name in ("weft0", "weft1"):
        setting, words = chance.choice((("crc", ("off", "preferred", "required")), ("fpdu", ("segment", "large")),
                                        ("extensions", ("on", "off")), ("mpa_revision", (1, 2)), ("markers", ("on", "off")),
                                        ("keepalive", (1, 60)), ("lend", ("off", "unchecked", "all"))))
        write(f"/sys/class/infiniband/{name}/weft/{setting}", chance.choice(words))


def mtu(_, chance):
    size = chance.choice((576, 1400, 1500, 9000, 65535))
    for host in ("A", "B"):
        run(f"ip -n {host} link set eth0 mtu {size}")
    give_addresses()  # below 1280 IPv6 goes


def loss(_, chance):
    run(f"tc -n B qdisc replace dev eth0 root netem loss {chance.randrange(1, 20)}% delay {chance.randrange(5)}ms")
    time.sleep(chance.random())
    run("tc -n B qdisc del dev eth0 root")


def shown(_, __):
    for kind in ("qp", "cm_id", "cq", "mr"):
        run(f"rdma -dd res show {kind}")
    run("rdma statistic show")


def short_memory(_, chance):
    write(f"{FAULTS}/verbose", 0)
    write(f"{FAULTS}/times", chance.randrange(20, 400))
    write(f"{FAULTS}/interval", 1)
    meanwhile(f"{FAULTS}/probability", chance.randrange(1, 10), 0, chance.random() / 2)


CHANGES = {
    "kill": kill, "kill_all": kill_all, "freeze": lambda _, chance: meanwhile(f"{GROUP}/storm/cgroup.freeze", 1, 0, chance.random() / 2),
    "short_group": lambda _, chance: meanwhile(f"{GROUP}/storm/memory.high", 1 << 20, "max", chance.random() / 2),
    "reset": lambda _, chance: inside(chance.choice("AB"), "ss", "-K", "state", "connected", chance.choice(("sport", "dport")), "=", f":{PORT}"),
    "link": link, "address": for_a_while("ip -n A addr flush dev eth0", 1 / 5, give_addresses),
    "carrier": for_a_while("ip -n B link set eth0 down", 1 / 5, give_addresses),
    "namespace": namespace, "module": module, "settings": settings, "mtu": mtu,
    "route": for_a_while(f"ip -n A route add {BLACKHOLE}", 1 / 2, lambda: run(f"ip -n A route del {BLACKHOLE}")),
    "loss": loss, "shown": shown, "short_memory": short_memory,
    "processor": lambda _, chance: meanwhile(PROCESSOR, 0, 1, chance.random() / 5),
}
# Those that are due more often; and what not every kernel has: a file that must be there.
TWICE = ("kill", "reset", "link", "settings")
NEEDS = {"short_memory": FAULTS, "processor": PROCESSOR}


def schedule(seed, number):
    """The round of that number: its kind, and when what happens."""
    chance = random.Random(f"{seed} {number}")
    kinds = list(KINDS)
    # Each kind in its turn, so that a short run has all.
    kind = kinds[number % len(kinds)]
    changes = [change for change in CHANGES if os.path.exists(NEEDS.get(change, "/")) for _ in range(1 + (change in TWICE))]
    times = sorted(chance.random() * 6 for _ in range(chance.randrange(3, 12)))
    return kind, [(moment, chance.choice(changes)) for moment in times], chance


# --- calm ---


def objects(kind):
    """What is left of a kind, on Weft's devices."""
    said = run(f"rdma -dd -j res show {kind}", must=True)
    try:
        return [one for one in json.loads(said or "[]", strict=False) if one.get("ifname", "").startswith("weft")]
    except ValueError:
        return [said]


def sockets():
    """Connections of the storm that TCP or SCTP still has, but such as wait for their time to be over."""
    said = [inside(host, "ss", "-HtSan", "exclude", "time-wait").splitlines() for host in ("A", "B")]
    return [line for line in itertools.chain(*said) if f":{PORT} " in line]


def counted():
    """The counters of both devices."""
    said = (json.loads(run(f"rdma -j statistic show link {name}/1") or "[]") for _, name in LINKS)
    return [(*one, {})[0] for one in said]


def ask():
    """Has an honest client be served once; returns in how many milliseconds."""
    return int(inside("B", PROGRAM, "ask", "--address", "10.0.0.1", "--port", str(HONEST), must=True))


def calm():
    """After all processes were killed and what they stand on is there: nothing is left, and a client is served."""
    for kind in ("qp", "cm_id", "mr", "cq", "pd"):
        wait(f"{kind} left", lambda kind=kind: objects(kind), 15)
    # iw_cm answers no request that a listener's end finds in its queue, or for which it has no memory. Weft gives up after a minute.
    wait("sockets left", sockets, 90)
    before = counted()
    server = subprocess.Popen(on("A", PROGRAM, "answer", "--address", "10.0.0.1", "--port", str(HONEST)),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        word = server.stdout.readline()
        if word != "listening\n":
            raise Failure(f"the honest server cannot listen: {word.strip()}")
        times = [ask() for _ in range(ASKED)]
        # The best, because other work of this machine comes between.
        if min(times) > SERVED:
            raise Failure(f"the honest client was served after {times} ms, not {SERVED}")
    finally:
        server.kill()
        server.wait()
    after = counted()
    # Each time 16 messages of 4 KiB each way, in frames, and both ends say so.
    sent = ASKED * 65536
    for number, (name, other) in enumerate((("weft0", 1), ("weft1", 0))):
        grown = {key: after[number][key] - before[number][key] for key in ("tx_bytes", "rx_bytes", "conn_opened", "conn_accepted")}
        theirs = after[other]["rx_bytes"] - before[other]["rx_bytes"]
        if grown["tx_bytes"] < sent or theirs != grown["tx_bytes"]:
            raise Failure(f"{name} counts {grown['tx_bytes']} bytes that it sent, the other {theirs} that came, of {sent} and their headers")
        if grown["conn_opened" if name == "weft1" else "conn_accepted"] != ASKED:
            raise Failure(f"{name} counts {ASKED} connections otherwise: {grown}")
    return min(times)


def rounds(seed, seconds, only, resident, refused):
    """Yields each round's verdict; refused has for each change how it was refused each time, or None once it was not."""
    began = time.monotonic()
    for number in itertools.count() if only is None else itertools.repeat(only):
        if time.monotonic() - began > seconds:
            return
        kind, plan, chance = schedule(seed, number)
        name = f"round {number}, {kind}"
        print(f"# {name}: " + ", ".join(f"{moment:.2f} {change}" for moment, change in plan), flush=True)
        start = time.monotonic()
        actors = []
        try:
            actors = begin(kind, chance, resident)
            for moment, change in plan:
                time.sleep(max(0, start + moment - time.monotonic()))
                refusals.clear()
                CHANGES[change](actors, chance)
                if refused.setdefault(change, []) is not None:
                    refused[change] = [*refused[change], refusals[0]] if refusals else None
            ends = [start, time.monotonic()]
            kill_for_good(actors)
            ends.append(time.monotonic())
            repair()
            ends.append(time.monotonic())
            served = calm()
            ends.append(time.monotonic())
        except Failure as why:
            for actor in actors:
                actor.kill()
            yield name, f"STORM_SEED={seed}: {why}"
            repair()
            continue
        yield name, None
        took = (f"{what} {end - begin:.1f} s"
                for what, (begin, end) in zip(("changes", "killing", "repair", "calm"), itertools.pairwise(ends)))
        print(f"# the honest client was served in {served} ms; {', '.join(took)}", flush=True)


def main():
    seed = os.environ.get("STORM_SEED") or random.SystemRandom().randrange(1 << 32)
    seconds = int(os.environ.get("STORM_SECONDS", "240"))
    only = os.environ.get("STORM_ROUND")
    print(f"# seed {seed}, {os.cpu_count()} processors", flush=True)
    if not os.path.exists("/run/netns/A"):
        run(os.path.join(PROJECT, "scripts", "lab", "two-hosts"), "--weft", limit=120)
    os.makedirs(GROUP, exist_ok=True)
    run(f"mount -t cgroup2 none {GROUP}")
    write(f"{GROUP}/cgroup.subtree_control", "+memory")
    os.makedirs(f"{GROUP}/storm", exist_ok=True)
    run("modprobe sctp")
    repair()
    # Whom strangers ask for A's ports: no storm ends it.
    resident = subprocess.Popen(on("A", "sleep", "infinity"))
    log, refused = tap.Log(), {}
    for case in rounds(seed, seconds, None if only is None else int(only), resident, refused):
        log.tell(*case)
    resident.kill()
    failed = len(log.failed())
    print(f"row|rounds of a storm|{len(log.cases)}|" + (f"FAILED: {failed} of them" if failed else "calm after each"))
    # A storm in which nothing happens proves nothing.
    for change, why in refused.items():
        good = why is None or len(why) < TRIES
        log.tell(f"{change} is not always refused", None if good else str(why[-1]))
    for line in run(PROGRAM, "counts", "--counts", COUNTS).splitlines():
        what, number = line.split()
        log.tell(f"the storm's {what} ({number})", None if int(number) else "none")
    return log.end()


if __name__ == "__main__":
    sys.exit(main())
