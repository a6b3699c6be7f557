# SPDX-License-Identifier: GPL-2.0
"""The two hosts as the hostile peers know them: addresses, sockets of host B, settings and programs of host A."""
import contextlib
import ctypes
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time

# For tap and wire, which every program here imports behind this.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

SERVER = "10.0.0.1"
HERE = "10.0.0.2"
PORT = 7174
OWN_PORT = 7200
# What is due at once, with the delay that an emulated machine may add.
PROMPT = 4
# rping takes a while to start and to end on a busy emulated machine.
START = 20
# The devices of the lab connect over SCTP.
OVER_SCTP = os.environ.get("WEFT_TRANSPORT") == "sctp"
CLONE_NEWNET = 0x40000000


class Failure(Exception):
    """What a case expected and did not get."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def wait_until(holds, within, what, pause=0.02):
    """Waits until holds() does. what: the failure if it does not, or a function that says it."""
    deadline = time.monotonic() + within
    while not holds():
        check(time.monotonic() < deadline, what() if callable(what) else what)
        time.sleep(pause)


def case(body):
    """A maker of cases: each calls the body, when its turn comes, with the maker's arguments."""
    return lambda *given, **fields: lambda: body(*given, **fields)


@contextlib.contextmanager
def host_b(host="B"):
    """Sockets made inside belong to host B, or to another."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net", "rb") as home, open(f"/run/netns/{host}", "rb") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter host {host}; run this in scripts/lab/two-hosts")
        try:
            yield
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def on(host, *command):
    return ["ip", "netns", "exec", host, *command]


@contextlib.contextmanager
def meanwhile(begin, end):
    """Runs these commands, each a line, before the block and behind it."""
    try:
        for command in begin:
            subprocess.run(command.split(), check=True)
        yield
    finally:
        for command in end:
            subprocess.run(command.split(), check=True)


def unload():
    subprocess.run(["modprobe", "-r", "weft_sctp", "weft_paths", "weft"], check=True, timeout=20)


@contextlib.contextmanager
def written(path, value):
    """A file of the kernel's that says something else for as long as the block runs."""
    file = pathlib.Path(path)
    before = file.read_text(encoding="ascii")
    file.write_text(value, encoding="ascii")
    try:
        yield
    finally:
        file.write_text(before or "\n", encoding="ascii")


def setting(name, value):
    """A setting of host A's device, for as long as the block runs."""
    return written(f"/sys/class/infiniband/weft0/weft/{name}", value)


def kernel_log():
    return subprocess.run(["dmesg"], capture_output=True, check=True).stdout.decode(errors="replace")


def tcp_socket(family=socket.AF_INET, host="B"):
    with host_b(host):
        sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def listen(sock, address=(HERE, OWN_PORT), within=START, backlog=8):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(address)
    sock.listen(backlog)
    sock.settimeout(within)


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


# --- bytes from a peer ---
def receive(sock, most, deadline, missing):
    """Some bytes, at the latest at that time; none: the peer has ended the connection. missing: the failure if none come."""
    sock.settimeout(max(deadline - time.monotonic(), 0.01))
    try:
        return sock.recv(most)
    except socket.timeout as error:
        raise Failure(missing) from error


def receive_exactly(sock, length, within):
    deadline = time.monotonic() + within
    data = b""
    while len(data) < length:
        piece = receive(sock, length - len(data), deadline, f"{len(data)} of {length} bytes after {within} s")
        check(piece, f"the peer closed after {len(data)} of {length} bytes")
        data += piece
    return data


def until_end(sock, within):
    """All that comes before the peer closes or resets."""
    deadline = time.monotonic() + within
    data = b""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while piece := receive(sock, 65536, deadline, f"still open after {within} s"):
            data += piece
    sock.close()
    return data


def expect_end(sock, within, silent=True):
    """The peer closes or resets; with silent, it says nothing before."""
    data = until_end(sock, within)
    check(not (silent and data), f"it answered {data!r}")
