# SPDX-License-Identifier: GPL-2.0
"""The two hosts as the hostile peers know them: addresses, sockets of host B, programs on host A."""

import contextlib
import ctypes
import os
import socket
import struct
import sys

# For tap.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

SERVER = "10.0.0.1"
HERE = "10.0.0.2"
PORT = 7174
OWN_PORT = 7200
# What is due at once, with the delay that an emulated machine may add.
PROMPT = 4
# The devices of the lab connect over SCTP.
OVER_SCTP = os.environ.get("WEFT_TRANSPORT") == "sctp"

CLONE_NEWNET = 0x40000000


class Failure(Exception):
    """What a case expected and did not get."""


def check(condition, text):
    if not condition:
        raise Failure(text)


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


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
