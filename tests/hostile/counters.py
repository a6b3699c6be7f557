# SPDX-License-Identifier: GPL-2.0
"""What the devices have counted, and traced, in a case."""
import contextlib
import functools
import pathlib
import subprocess
import time

from hosts import wait_until

# Of host A's device.
FOLDER = pathlib.Path("/sys/class/infiniband/weft0/ports/1/hw_counters")
TRACING = pathlib.Path("/sys/kernel/tracing")
# Those that say that something went wrong: a case that does not name one must not move it.
TROUBLE = ("rx_crc_errors", "rx_terminates", "tx_terminates", "rnr_timeouts", "conn_refused_by_us", "conn_refused_by_peer",
           "conn_timed_out", "conn_failed", "conn_broken", "path_leaves", "path_refused")
# Seconds after which the RDMA core reads counters again.
STALE = 0.02
PATIENCE = 4


def read():
    return {file.name: int(file.read_text()) for file in FOLDER.iterdir() if file.name != "lifespan"}


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


@functools.cache
def enable(event):
    """Has a tracepoint written from here on. Each change makes the kernel rewrite its own code, which an emulated machine
    of two processors does not always survive. So no event is taken back, and none brings the scheduler's along, from
    which the kernel learns the names of processes."""
    if not (TRACING / "events").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
    (TRACING / "options/record-cmd").write_text("0")
    (TRACING / f"events/weft/{event}/enable").write_text("1")


@contextlib.contextmanager
def traced(event, told):
    """Inside, a line of this tracepoint is written that tells this. Both hosts' devices write."""
    enable(event)
    trace = TRACING / "trace"
    trace.write_text("")
    yield

    def lines():
        return [line.strip() for line in trace.read_text(errors="replace").splitlines() if f" {event}: " in line]

    wait_until(lambda: any(told in line for line in lines()), PATIENCE, lambda: f"no {event} tells '{told}', but: {lines()}", 0.05)
