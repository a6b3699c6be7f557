#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Peers and neighbours of the lab neighbours, in the namespace that they are started in. Each function of COMMANDS is one,
as in `namespace_peers.py port 7401`; it prints a line when it is ready, and waits to be killed. owner and thief print how it ended."""
import os
import resource
import signal
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from wire import mpa  # noqa: E402


def say(text):
    print(text, flush=True)


def ready(*_kept):
    say("ready")
    signal.pause()


def connected(address, number, request):
    sock = socket.create_connection((address, int(number)), 20)
    sock.sendall(request)
    return sock, mpa.Parsed(sock.recv(mpa.HEADER_LEN, socket.MSG_WAITALL))


def port(number):
    """A plain TCP server that takes the port."""
    sock = socket.socket()
    sock.bind(("0.0.0.0", int(number)))
    sock.listen()
    ready()


def mute(address, number):
    """Connects, and after the Reply neither reads nor closes."""
    sock, reply = connected(address, number, mpa.request())
    if reply.flags & mpa.REJECT:
        sys.exit("refused")
    ready(sock)


def refused(address, port_number, number):
    """Makes so many refused connections, and closes none."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    kept = []
    for _ in range(int(number)):
        # Peer to peer, and no frame by which we would say that we are ready.
        request = mpa.request(flags=mpa.CRC | mpa.ENHANCED, revision=2, private=mpa.rd_limits(0x8004, 4))
        sock, reply = connected(address, port_number, request)
        if not reply.flags & mpa.REJECT:
            sys.exit("accepted")
        kept.append(sock)
    ready(kept)


def identifier(address, number):
    from pyverbs.cm_enums import RDMA_PS_TCP
    from pyverbs.cmid import CMID, AddrInfo

    return CMID(creator=AddrInfo(dst=address, dst_service=number, port_space=RDMA_PS_TCP))


def connect(cmid, number):
    from pyverbs.cmid import ConnParam

    try:
        cmid.connect(ConnParam(qp_num=number))
        say("connected")
    except Exception as error:  # pyverbs has one class for everything
        say(f"failed: {error}")


def queue_pairs(context, number):
    from pyverbs.cq import CQ
    from pyverbs.enums import IBV_QPT_RC
    from pyverbs.pd import PD
    from pyverbs.qp import QP, QPCap, QPInitAttr

    pd = PD(context)
    cq = CQ(context, 10)
    init = QPInitAttr(qp_type=IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap())
    return [QP(pd, init) for _ in range(number)]


def owner(address, number, user=None):
    """Makes a queue pair, prints its number, and connects it once it reads a line; as user from when it is there."""
    cmid = identifier(address, number)
    (pair,) = queue_pairs(cmid.context, 1)
    if user is not None:
        os.setresgid(*[int(user)] * 3)
        os.setresuid(*[int(user)] * 3)
    say(f"queue pair {pair.qp_num}")
    sys.stdin.readline()
    connect(cmid, pair.qp_num)


def hoard(device, number):
    """Makes so many queue pairs."""
    from pyverbs.device import Context

    ready(queue_pairs(Context(name=device), int(number)))


def thief(qpn, address, number):
    """Connects another's queue pair."""
    connect(identifier(address, number), int(qpn))


if __name__ == "__main__":
    COMMANDS = (port, mute, refused, owner, hoard, thief)
    dict((command.__name__, command) for command in COMMANDS)[sys.argv[1]](*sys.argv[2:])
