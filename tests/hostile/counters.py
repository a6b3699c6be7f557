# SPDX-License-Identifier: GPL-2.0
"""What the devices have counted, and traced, in a case."""
import contextlib
import functools
import os
import subprocess
import time

from hosts import wait_until

# Of host A's device.
FOLDER = "/sys/class/infiniband/weft0/ports/1/hw_counters"

# Those that say that something went wrong: a case that does not name one must not move it.
TROUBLE = ("rx_crc_errors", "rx_terminates", "tx_terminates", "rnr_timeouts", "conn_refused_by_us", "conn_refused_by_peer",
           "conn_timed_out", "conn_failed", "conn_broken", "path_leaves", "path_refused")
# Seconds after which the RDMA core reads counters again.
STALE = 0.02
PATIENCE = 4


def read():
    counted = {}
    for name in os.listdir(FOLDER):
        if name != "lifespan":
            with open(os.path.join(FOLDER, name), encoding="ascii") as file:
                counted[name] = int(file.read())
    return counted


def moved(before):
    time.sleep(STALE)
    return {name: value - before[name] for name, value in read().items()}


@contextlib.contextmanager
def counted(**expected):
    """Inside, each of these counters moves by that much; None: by any number but 0."""
    time.sleep(STALE)
    before = read()
    yield
    wanted = dict.fromkeys(TROUBLE, 0) | expected

    def wrong():
        delta = moved(before)
        return {name: delta[name] for name, value in wanted.items() if (not delta[name] if value is None else delta[name] != value)}

    # A connection's end is counted a moment after the peer sees it.
    wait_until(lambda: not wrong(), PATIENCE, lambda: f"counters moved by {wrong()}, expected "
               f"{({name: wanted[name] for name in wrong()})}", 0.05)


TRACING = "/sys/kernel/tracing"


def write(path, text):
    with open(os.path.join(TRACING, path), "w", encoding="ascii") as file:
        file.write(text)


@functools.cache
def enable(event):
    """
    Has a tracepoint written from here on. Each change makes the kernel rewrite its own code, which an emulated machine
    of two processors does not always survive. So no event is taken back, and none brings the scheduler's along, from
    which the kernel learns the names of processes.
    """
    if not os.path.isdir(os.path.join(TRACING, "events")):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
    write("options/record-cmd", "0")
    write(f"events/weft/{event}/enable", "1")


@contextlib.contextmanager
def traced(event, told):
    """Inside, a line of this tracepoint is written that tells this. Both hosts' devices write."""
    enable(event)
    write("trace", "")
    yield

    def lines():
        with open(os.path.join(TRACING, "trace"), encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in file if f" {event}: " in line]

    wait_until(lambda: any(told in line for line in lines()), PATIENCE,
               lambda: f"no {event} tells '{told}', but: {lines()}", 0.05)
