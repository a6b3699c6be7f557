#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Peers and neighbours that the namespaces test needs, in the namespace that they are started in.

    namespace_peers.py port PORT            a plain TCP server that takes the port
    namespace_peers.py mute ADDRESS PORT    connects, and after the Reply neither reads nor closes
    namespace_peers.py refused ADDRESS PORT NUMBER
                                            makes NUMBER refused connections, and closes none
    namespace_peers.py owner ADDRESS PORT
                                            makes a queue pair, prints its number, and connects it
                                            once it reads a line
    namespace_peers.py dropper USER ADDRESS PORT
                                            the same, as USER from when the queue pair is there
    namespace_peers.py thief QPN ADDRESS PORT
                                            connects the queue pair of that number
    namespace_peers.py hoard DEVICE NUMBER  makes NUMBER queue pairs

Each prints a line when it is ready, and waits to be killed; owner, dropper and thief say how it ended.
"""

import os
import resource
import signal
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from wire import mpa  # noqa: E402


def say(text):
    print(text, flush=True)


def connected(address, port, request):
    sock = socket.create_connection((address, port), 20)
    sock.sendall(request)
    reply = sock.recv(mpa.HEADER_LEN, socket.MSG_WAITALL)
    return sock, mpa.Parsed(reply)


def port(number):
    sock = socket.socket()
    sock.bind(("0.0.0.0", int(number)))
    sock.listen()
    say("ready")
    signal.pause()


def mute(address, number):
    sock, reply = connected(address, int(number), mpa.request())
    say("refused" if reply.flags & mpa.REJECT else "ready")
    signal.pause()
    sock.close()


def refused(address, port_number, number):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    kept = []
    for _ in range(int(number)):
        # Peer to peer, and no frame by which we would say that we are ready.
        request = mpa.request(flags=mpa.CRC | mpa.ENHANCED, revision=2, private=mpa.rd_limits(0x8004, 4))
        sock, reply = connected(address, int(port_number), request)
        if not reply.flags & mpa.REJECT:
            say("accepted")
            return
        kept.append(sock)
    say("ready")
    signal.pause()


def identifier(address, number):
    from pyverbs.cm_enums import RDMA_PS_TCP
    from pyverbs.cmid import CMID, AddrInfo

    info = AddrInfo(dst=address, dst_service=number, port_space=RDMA_PS_TCP)
    return CMID(creator=info)


def connect(cmid, number):
    from pyverbs.cmid import ConnParam

    try:
        cmid.connect(ConnParam(qp_num=number))
    except Exception as error:  # pyverbs has one class for everything
        say(f"failed: {error}")
        return
    say("connected")


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
    cmid = identifier(address, number)
    (pair,) = queue_pairs(cmid.context, 1)
    if user is not None:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    say(f"queue pair {pair.qp_num}")
    sys.stdin.readline()
    connect(cmid, pair.qp_num)


def dropper(user, address, number):
    owner(address, number, int(user))


def hoard(device, number):
    from pyverbs.device import Context

    kept = queue_pairs(Context(name=device), int(number))
    say("ready")
    signal.pause()
    del kept


def thief(qpn, address, number):
    connect(identifier(address, number), int(qpn))


def main():
    commands = {"port": port, "mute": mute, "refused": refused, "owner": owner, "dropper": dropper}
    commands |= {"thief": thief, "hoard": hoard}
    if len(sys.argv) < 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
