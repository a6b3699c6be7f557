#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every way a connection can end, in every state it can be in.

    scripts/lab/run ... -- tests/torture/ends.py

Host A has the device and the program; host B is a peer that speaks plain TCP and stops where the
state wants it. The tracepoint weft_conn_state counts the cells of the connection table that were
stepped through; the table comes from kernel/conn/table.c itself. ENDS_ROUNDS: how often all of it.
ENDS_ONLY: ends whose names contain this; then the table is not judged. ENDS_NOT: an end to leave out,
which runs elsewhere.
"""

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(PROJECT, "tests", "hostile"))
from hosts import Failure, host_b, on, reset, wait_until  # noqa: E402
from peer import receive_frame  # noqa: E402
from wire import mpa  # noqa: E402
import tap  # noqa: E402

PROGRAM = os.path.join(PROJECT, "build", "tests", "torture", "torture")
TRACE = "/sys/kernel/tracing"
ROUNDS = int(os.environ.get("ENDS_ROUNDS", "1"))
ONLY, NOT = os.environ.get("ENDS_ONLY", ""), os.environ.get("ENDS_NOT", "")
PATIENCE = int(os.environ.get("WEFT_PATIENCE", "1"))
SERVER, PEER, NOWHERE = "10.0.0.1", "10.0.0.2", "10.0.0.99"
NEIGHBOUR = f"ip -n A neigh replace {NOWHERE} lladdr 02:00:00:00:00:99 dev eth0"
PORT, PEER_PORT = 7174, 7200
# Enhanced setup: peer to peer, and ready-to-receive by a WRITE of nothing.
READY = mpa.Limits(1, 1, write=True).packed()

# Cells that no peer and no operator can bring about when they want, and why.
NEW = "lasts from its making to the next turn of a worker"
LAST = "before a device goes, its queue pairs do, each of which waits until its connection lets go of it"
UNREACHABLE = {
    ("new", "stop"): NEW,
    ("new", "qp-failed"): NEW,
    ("new", "qp-closing"): NEW,
    ("connecting", "stop"): LAST,
    ("requested", "stop"): LAST,
    ("streaming", "stop"): LAST,
    ("pending", "stop"): "rdma_cm rejects requests before a device goes; left are those that iw_cm forgot",
}

log = tap.Log()


def row(what, count, outcome, failure=""):
    failure = failure or ("" if count else "it was tried no times")
    print(f"row|{what}|{count}|{'FAILED: ' + failure if failure else outcome}", flush=True)
    log.tell(what, failure or None)


def run(*command, limit=60, may_fail=False):
    """Runs a command, in words or in one text, to its end, which must come."""
    command = command if len(command) > 1 else command[0].split()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit * PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"no end of {' '.join(command)} within {limit * PATIENCE} s") from error
    if done.returncode and not may_fail:
        raise Failure(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def wait(what, condition, limit=20):
    wait_until(condition, limit * PATIENCE, f"no {what} within {limit * PATIENCE} s", 0.1)


# --- the hosts ---


def no_device(name="weft"):
    """None of such a name is left. rdma(8) fails when one goes while it asks."""
    try:
        return name not in run("rdma link show")
    except Failure:
        return False


def make_hosts():
    """Both hosts with a device each, whatever is left of earlier ones."""
    for name in ("A", "B"):
        run(f"ip netns del {name}", may_fail=True)
    wait("end of the old devices", no_device)
    run("bash", os.path.join(PROJECT, "scripts", "lab", "two-hosts"), "--weft")
    run(NEIGHBOUR)


def add_device(name="weft0", host="A"):
    run(*on(host, "rdma", "link", "add", name, "type", "weft", "netdev", "eth0"))


def repair(end):
    """What that end has taken away, is there again."""
    if end in ("ip link del", "namespace end"):
        make_hosts()
    elif end == "rdma link del":
        add_device()
    elif end == "rmmod":
        run("modprobe weft")
        trace()
        add_device()
        add_device("weft1", "B")


# --- A's programs ---


class Program:
    """A program on host A."""

    def __init__(self, *command):
        # With a pipe each way, so that it never blocks on what it says.
        self.process = subprocess.Popen(on("A", *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def tell(self, word):
        """Has the program "call" do that; what came of it."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        while (answer := self.process.stdout.readline().strip()) == "calling":
            pass
        return answer

    def last_words(self):
        """Ends the program; what it had said that nobody has read."""
        self.process.kill()
        said, _ = self.process.communicate(timeout=20 * PATIENCE)
        return said.strip().replace("\n", "; ") or "nothing"

    def end(self):
        self.process.kill()
        try:
            self.process.wait(20 * PATIENCE)
        except subprocess.TimeoutExpired as error:
            with open(f"/proc/{self.process.pid}/stack", encoding="ascii") as stack:
                print("# " + stack.read().replace("\n", "\n# "))
            raise Failure("the program cannot be killed") from error
        self.process.stdin.close()
        self.process.stdout.close()


def rping_server():
    program = Program("rping", "-s", "-P", "-p", str(PORT))
    wait("listener", lambda: f":{PORT:04X} 00000000:0000 0A" in run(*on("A", "cat", "/proc/net/tcp")))
    return program, PORT


def holder(*options):
    program = Program(PROGRAM, "hold", "--server", SERVER, "--server-netns", "A", "--client-netns", "A", *options)
    return program, int(program.process.stdout.readline().split()[1])


def connected(port):
    with host_b():
        return socket.create_connection((SERVER, port), 20 * PATIENCE)


def frame_from(sock):
    return receive_frame(sock, 20 * PATIENCE)


# --- states: each is made of what is to be closed, a program first ---


def caller(address, port):
    return Program(PROGRAM, "call", "--server", address, "--port", str(port))


def from_program(answer):
    with host_b():
        server = socket.create_server((PEER, PEER_PORT), reuse_port=False)
    server.settimeout(20 * PATIENCE)
    program = caller(PEER, PEER_PORT)
    try:
        sock, _ = server.accept()
    except TimeoutError as error:
        raise Failure(f"nobody connects; the program said: {program.last_words()}") from error
    finally:
        server.close()
    sock.settimeout(20 * PATIENCE)
    request = frame_from(sock)
    if answer:
        sock.sendall(mpa.reply(flags=request.flags & (mpa.CRC | mpa.ENHANCED), revision=request.revision,
                               private=READY if request.flags & mpa.ENHANCED else b""))
    return [program, sock]


def to_program(begin, request=b"", answered=False):
    """A program that listens, and a connection to it with that request; answered: of which the answer is awaited."""
    program, port = begin()
    sock = connected(port)
    sock.sendall(request)
    if answered:
        frame_from(sock)
    return [program, sock]


def streaming():
    return to_program(rping_server, mpa.request(), answered=True)


def unready():
    """Peer to peer: the responder waits for the frame after which it may send."""
    return to_program(rping_server, mpa.request(flags=mpa.CRC | mpa.ENHANCED, revision=2, private=READY), answered=True)


def closing():
    """The program is killed; the peer keeps its end open."""
    things = streaming()
    things[0].end()
    return things


# Each makes such a connection; the state's name in the table is what stands before a comma.
STATES = {
    "connecting": lambda: [caller(NOWHERE, PORT)], "requested": lambda: from_program(False), "accepted": lambda: to_program(rping_server),
    "pending": lambda: to_program(holder, mpa.request()), "streaming, accepted": streaming, "streaming, not ready": unready,
    "streaming, connected": lambda: from_program(True), "closing": closing,
}

# --- ends ---


def link_down(*_):
    run("ip -n A link set eth0 down")
    time.sleep(1)
    run("ip -n A link set eth0 up")
    run(NEIGHBOUR)


def namespace_end(things, _):
    things[0].end()
    run("ip netns del A")
    wait("end of weft0", lambda: no_device("weft0"), 60)


def offline(*_):
    for value in ("0", "1"):
        with open("/sys/devices/system/cpu/cpu1/online", "w", encoding="ascii") as switch:
            switch.write(value)


def garbage(sock):
    with contextlib.suppress(OSError):
        sock.sendall(b"\0" * 256)


def peer(act):
    """The peer does that with its sockets, if it has one."""

    def end(things, _):
        for sock in things[1:]:
            act(sock)
        time.sleep(1)

    return end


def time_is_up(_, state):
    """The state's own limit; PENDING's is a minute."""
    before = stepped[(state, "timeout")]
    wait(f"end of the time of {state}", lambda: stepped[(state, "timeout")] > before, 90)


def drained(things, _):
    answer = things[0].tell("drain")
    if answer != "drain: done":
        raise Failure(f"the queue pair does not go to SQD: {answer}")
    time.sleep(0.3)


# Each takes what the state is made of, and the state's name in the table.
ENDS = {
    "kill -9": lambda things, _: things[0].end(), "link down": link_down,
    "rdma link del": lambda *_: run(*on("A", "rdma", "link", "del", "weft0")),
    "ip link del": lambda *_: run("ip -n A link del eth0"), "namespace end": namespace_end,
    "rmmod": lambda *_: run("modprobe -r weft_sctp weft_paths weft"), "processor offline": offline,
    "peer's FIN": peer(lambda sock: sock.shutdown(socket.SHUT_WR)), "peer's reset": peer(reset), "garbage": peer(garbage),
    "time is up": time_is_up, "queue pair drained": drained,
}
# Ends that not every state can have: STREAMING has no limit once both ends have spoken, and a
# responder has no queue pair of ours.
SOME = {
    "time is up": [name for name in STATES if name not in ("streaming, accepted", "streaming, connected")],
    "queue pair drained": ["connecting", "requested", "streaming, connected"],
}
# Ends that not every machine can have: a file that must be there, and why.
NEEDS = {"processor offline": ("/sys/devices/system/cpu/cpu1/online", "this machine has one processor")}


# How often each cell was stepped through, and each state entered.
stepped, states = Counter(), Counter()


def read_trace():
    """Counts as it comes: the kernel empties its trace when the module goes."""
    pattern = re.compile(r"weft_conn_state: conn=\S+ qp=\S+ \w+ ([\w-]+) -> ([\w-]+) on ([\w-]+)")
    with open(f"{TRACE}/trace_pipe", encoding="ascii", errors="replace") as pipe:
        for line in pipe:
            found = pattern.search(line)
            if found:
                stepped[(found[1], found[3])] += 1
                states[found[2]] += 1


def trace():
    """Has the module say what its connections do; anew after each load."""
    with open(f"{TRACE}/events/weft/weft_conn_state/enable", "w", encoding="ascii") as switch:
        switch.write("1")


def table():
    """The cells of handlers[][], from the source."""
    with open(os.path.join(PROJECT, "kernel", "conn", "table.c"), encoding="ascii") as source:
        text = re.search(r"^handlers\[.*?^};", source.read(), re.S | re.M)[0]
    found = []
    for state, body in re.findall(r"\[WEFT_CONN_([A-Z]+)\] = \{(.*?)\n\t\}", text, re.S):
        found += [(state.lower(), event.lower().replace("_", "-")) for event in re.findall(r"\[WEFT_EV_(\w+)\]", body)]
    return found


def nothing_left():
    return "weft0" not in run("rdma res show qp") + run("rdma -dd res show cm_id")


def one(state_name, end_name):
    name = f"{end_name}, {state_name}"
    began = time.monotonic()
    before, state, things = dict(states), state_name.split(",")[0], []
    try:
        things.extend(STATES[state_name]())
        wait(f"connection in {state}", lambda: states[state] > before.get(state, 0))
        ENDS[end_name](things, state)
        things[0].end()
        for sock in things[1:]:
            sock.close()
        repair(end_name)
        wait("end of its objects", nothing_left, 40)
    except (Failure, OSError) as why:
        log.tell(name, why)
        for thing in things:
            with contextlib.suppress(Failure, OSError):
                (thing.end if isinstance(thing, Program) else thing.close)()
        with contextlib.suppress(Failure):
            run("modprobe weft", may_fail=True)
            make_hosts()
            trace()
        return 0
    print(f"# {name}: done, {time.monotonic() - began:.1f} s", flush=True)
    return 1


def rejected():
    """A program that rejects."""
    program, sock = to_program(lambda: holder("--breaks"), mpa.request())
    answer = frame_from(sock)
    sock.close()
    program.end()
    if not answer.flags & mpa.REJECT:
        raise Failure("the request was not rejected")


def connected_twice():
    """A queue pair that has a connection is refused another, whose life ends in NEW."""
    program, sock = from_program(False)
    answer = program.tell("again")
    program.end()
    sock.close()
    if not answer.startswith("again: ") or answer == "again: done":
        raise Failure(f"a second connection for a queue pair: {answer}")


def cells():
    """Prints the table, and judges it."""
    print("# the table: state, event, how often")
    for cell in table():
        print(f"#   {cell[0]:11} {cell[1]:12} {stepped[cell]:5}  {UNREACHABLE.get(cell, '')}")
    left = [cell for cell in table() if not stepped[cell]]
    missing = [" on ".join(cell) for cell in left if cell not in UNREACHABLE]
    row("cells of the connection table", len(table()) - len(left),
        f"of {len(table())}; the other {len(left) - len(missing)} cannot be reached at will",
        f"not reached: {', '.join(missing)}" if missing else "")


def main():
    subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACE], check=False, stderr=subprocess.DEVNULL)
    make_hosts()
    trace()
    threading.Thread(target=read_trace, daemon=True).start()
    total, wanted = Counter(), Counter()
    chosen = [end for end in ENDS if ONLY in end and end != NOT]
    for end, (path, why) in NEEDS.items():
        if end in chosen and not os.path.exists(path):
            chosen.remove(end)
            print(f"row|ends: {end}|0|skipped: {why}")
            log.tell(f"ends: {end}", skip=why)
    for _ in range(ROUNDS):
        for name, special in (("a rejection", rejected), ("a queue pair connected twice", connected_twice)):
            try:
                special()
            except (Failure, OSError) as why:
                log.tell(name, why)
        for end in chosen:
            for state in SOME.get(end, STATES):
                wanted[end] += 1
                total[end] += one(state, end)
    for end in chosen:
        row(f"ends: {end}", total[end], f"in {len(SOME.get(end, STATES))} states; nothing is left",
            "" if total[end] == wanted[end] else f"{wanted[end] - total[end]} of {wanted[end]} went wrong")
    if not ONLY:
        cells()
    return int(log.end() or not log.counts()[0])


if __name__ == "__main__":
    sys.exit(main())
