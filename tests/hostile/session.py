#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=36 transport=sctp hosts
"""Hostile peers of DDP over SCTP (RFC 5043).

    scripts/lab/run --env WEFT_TRANSPORT=sctp -- scripts/lab/two-hosts --weft -- tests/hostile/session.py [NAME...]

Speaks plain SCTP from host B: as a client to an rping server on host A, and as a server to an
rping client there.
"""

import contextlib
import socket
import struct
import subprocess
import sys
import time

import counters
import fpdu
import handshake
import ring
from association import (
    ACCEPT,
    CONTROL,
    DDP,
    ENHANCED_ACCEPT,
    ENHANCED_INITIATE,
    ENHANCED_REJECT,
    EXTEND,
    INITIATE,
    REJECT,
    SCTP_PR_SUPPORTED,
    SEGMENT,
    TERMINATE,
    Session,
    sctp_socket,
)
from handshake import REQUEST_LIMIT
from hosts import HERE, OVER_SCTP, OWN_PORT, PORT, PROMPT, SERVER, check, reset

# The most memory of messages behind one that is missing, and what both ends of the socket hold besides.
AHEAD, IN_SOCKETS = 4 << 20, 1 << 20
# A type of chunk (RFC 9260), and how long SCTP waits for the end of an association that Weft has closed.
SHUTDOWN, GUARD = 7, 10


def associated(adaptation=DDP):
    sock = sctp_socket(adaptation)
    sock.settimeout(PROMPT)
    sock.connect((SERVER, PORT))
    return Session(sock)


def accepted():
    """A session in full operation."""
    session = associated()
    session.control(INITIATE)
    check(session.expect_control(ACCEPT) == b"", "private data that nobody gave")
    return session


def gone(session):
    """Leaves as a program that is killed."""
    reset(session.sock)


# --- we associate: cases against the responder ---


def stranger(adaptation):
    def run():
        counted = handshake.kernel_log().count("without an indication of DDP")
        # The refusal may come before connect() returns.
        with contextlib.suppress(ConnectionResetError):
            associated(adaptation).ends()
        check(handshake.kernel_log().count("without an indication of DDP") > counted, "the kernel log says nothing")

    return run


def silence():
    began = time.monotonic()
    associated().ends(REQUEST_LIMIT + PROMPT)
    check(time.monotonic() - began > 1, "ended at once, though nothing was wrong yet")


def dropped(ppid, message):
    """The association ends for this first message."""

    def run():
        session = associated()
        session.raw(ppid, message)
        session.ends()

    return run


def dropped_later(ppid, data, ssn=None):
    """A session in full operation ends for this message."""

    def run():
        session = accepted()
        session.put(ppid, data, ssn=ssn)
        session.ends()

    return run


def plain():
    session = accepted()
    _, abandons = struct.unpack("iI", session.sock.getsockopt(socket.IPPROTO_SCTP, SCTP_PR_SUPPORTED, 8))
    check(not abandons, "messages may be abandoned")
    gone(session)


def enhanced():
    session = associated()
    session.control(ENHANCED_INITIATE, struct.pack(">HH", 0x8000 | 1, 0x8000 | 1))
    depths = session.expect_control(ENHANCED_ACCEPT)
    check(len(depths) == 4, f"IRD and ORD are {depths.hex()}")
    gone(session)


def extending():
    session = associated()
    session.control(ENHANCED_INITIATE | EXTEND, struct.pack(">HH", 1, 1))
    session.expect_control(ENHANCED_ACCEPT | EXTEND)
    gone(session)


def terminate():
    session = accepted()
    session.control(TERMINATE)
    session.ends()


def bad_segment():
    """A segment that DDP refuses gets a Terminate message of RDMAP's before the end."""
    session = accepted()
    session.put(SEGMENT, fpdu.untagged(fpdu.SEND, queue=7))
    got = session.expect_segment()
    check(got[1] & 0x0F == fpdu.TERMINATE, f"{got.hex()} is no Terminate")
    session.ends()


def behind_a_refused():
    """What comes behind such a segment goes the way of the connection."""
    session = accepted()
    session.put(SEGMENT, fpdu.untagged(fpdu.SEND, queue=7))
    with contextlib.suppress(OSError):
        for _ in range(200):
            session.put(SEGMENT, fpdu.send(bytes(1000)))
            time.sleep(0.001)
    session.ends()


def initiate_then_gone():
    for wait in (0, 0.01, 0.05, 0.2) * 2:
        session = associated()
        session.control(INITIATE)
        time.sleep(wait)
        gone(session)
        time.sleep(0.5)


@contextlib.contextmanager
def unplugged():
    """Nothing that host B sends arrives."""
    device = ["dev", "eth0", "root", "netem", "loss", "100%"]
    subprocess.run(["tc", "-n", "B", "qdisc", "add", *device], check=True)
    try:
        yield
    finally:
        subprocess.run(["tc", "-n", "B", "qdisc", "del", *device[:3]], check=True)


def begun_anew():
    """A host that has forgotten an association makes another of the same ports, which is that of another program.

    SCTP goes on with the old one for it, and its first message, of the right number, comes with the news.
    """
    session = accepted()
    own = session.sock.getsockname()
    with unplugged():
        gone(session)
    before = counters.read()["rx_fpdus"]
    another = Session(sctp_socket())
    another.sock.bind(own)
    another.put(SEGMENT, fpdu.send(bytes(16)), ssn=session.ssn, to=(SERVER, PORT))
    another.ends()
    taken = counters.read()["rx_fpdus"] - before
    check(taken == 0, f"the old queue pair took {taken} segment")


def behind_a_gap():
    """Weft holds messages behind a missing one, as far as 4 MiB.

    A send is told of the abort, at the latest the next one. If the case asked select() as well, and the abort came
    between select() and the send, ends() would wait in vain, because the kernel tells of an abort once.
    """
    size, sent = 60000, 0
    with handshake.written("/sys/module/weft_sctp/parameters/out_of_order", "off"):
        session = accepted()
        session.ssn += 1
        while sent < 2 * AHEAD and not session.aborted:
            session.put(SEGMENT, fpdu.send(bytes(size)))
            sent += size
        session.ends()
    check(AHEAD <= sent <= AHEAD + IN_SOCKETS, f"ended after {sent} bytes, not about {AHEAD}")


def message(code, private=b"", ssn=0):
    return struct.pack(">HH", ssn, code) + private


# --- we listen: cases against the initiator ---


@contextlib.contextmanager
def listening():
    with sctp_socket() as sock:
        sock.bind((HERE, OWN_PORT))
        sock.listen()
        sock.settimeout(PROMPT)
        yield sock


def answered(code, private=b"", status=1):
    """A client that gets this answer to its Initiate ends by itself."""

    def run():
        answers = 0
        with listening() as sock:
            client = subprocess.Popen(
                handshake.on("A", "rping", "-c", "-a", HERE, "-p", str(OWN_PORT), "-C", "1"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                while client.poll() is None:
                    with contextlib.suppress(socket.timeout):
                        sock.settimeout(1)
                        session = Session(sock.accept()[0])
                        ppid, data = session.get()
                        check(ppid == CONTROL, f"payload {ppid}, not {CONTROL}")
                        check(struct.unpack(">H", data[:2])[0] & 0xFF in (INITIATE, ENHANCED_INITIATE), data.hex())
                        session.control(code, private)
                        answers += 1
                        session.ends()
                check(answers, "no Initiate came")
                check((client.returncode != 0) == (status != 0), f"the client ended with {client.returncode}")
            finally:
                client.kill()
                client.wait()

    return run


def refused_plainly(refuse):
    """A peer that knows no enhanced session is tried again without; refuse(session) is how the peer refuses."""

    def run():
        with listening() as sock:
            client = subprocess.Popen(
                handshake.on("A", "rping", "-c", "-a", HERE, "-p", str(OWN_PORT), "-C", "1"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                first = Session(sock.accept()[0])
                _, data = first.get()
                check(struct.unpack(">H", data[:2])[0] == ENHANCED_INITIATE | EXTEND, data.hex())
                refuse(first)
                second = Session(sock.accept()[0])
                _, data = second.get()
                check(data[:2] == struct.pack(">H", INITIATE), f"{data.hex()} at the second try")
                gone(second)
            finally:
                client.kill()
                client.wait()

    return run


def terminates(session):
    """Answers an Initiate with a Terminate, and leaves the association to the peer."""
    session.control(TERMINATE)
    session.ends()


@contextlib.contextmanager
def without(chunk):
    """No packet arrives at host B that begins with a chunk of this type."""
    tc = ["tc", "-n", "B"]
    subprocess.run([*tc, "qdisc", "add", "dev", "eth0", "clsact"], check=True)
    try:
        match = ["match", "ip", "protocol", "132", "0xff", "match", "u8", str(chunk), "0xff", "at", "32"]
        subprocess.run([*tc, "filter", "add", "dev", "eth0", "ingress", "protocol", "ip", "u32", *match, "action", "drop"], check=True)
        yield
    finally:
        subprocess.run([*tc, "qdisc", "del", "dev", "eth0", "clsact"], check=True)


def clings():
    """SCTP aborts an association whose peer goes on to send in place of the answer to a SHUTDOWN."""
    with listening() as sock, handshake.setting("mpa_revision", "1"), without(SHUTDOWN):
        client = subprocess.Popen(
            handshake.on("A", "rping", "-c", "-a", HERE, "-p", str(OWN_PORT), "-C", "1"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            session = Session(sock.accept()[0])
            session.get()
            session.control(ACCEPT)
            session.expect_segment()
            session.control(TERMINATE)
            began = time.monotonic()
            while not session.aborted and time.monotonic() < began + 2 * GUARD:
                time.sleep(0.5)
                session.put(SEGMENT, b"x")
            session.ends()
            handshake.lasted(began, GUARD)
        finally:
            client.kill()
            client.wait()


CASES = [
    ("no adaptation indication", stranger(0)),
    ("another adaptation", stranger(7)),
    ("silence", silence),
    ("an empty message", dropped(CONTROL, b"\0")),
    ("half a session control message", dropped(CONTROL, b"\0\0\0")),
    ("an unknown function code", dropped(CONTROL, message(99))),
    ("an Accept at first", dropped(CONTROL, message(ACCEPT))),
    ("a Terminate at first", dropped(CONTROL, message(TERMINATE))),
    ("a wrong DDP-SSN at first", dropped(CONTROL, message(INITIATE, ssn=1))),
    ("too much private data", dropped(CONTROL, message(INITIATE, bytes(513)))),
    ("an enhanced Initiate without depths", dropped(CONTROL, message(ENHANCED_INITIATE, bytes(3)))),
    ("a segment at first", dropped(SEGMENT, b"\0\0" + fpdu.send(b"hello"))),
    ("an unknown payload", dropped(0, message(INITIATE))),
    ("a plain session", plain),
    ("an enhanced session", enhanced),
    ("an enhanced session that extends", extending),
    ("a second Initiate", dropped_later(CONTROL, struct.pack(">H", INITIATE))),
    ("a DDP-SSN far behind", dropped_later(SEGMENT, fpdu.send(b"x"), ssn=0x8001)),
    ("a DDP-SSN twice", dropped_later(SEGMENT, fpdu.send(b"x"), ssn=0)),
    ("a segment of no bytes", dropped_later(SEGMENT, b"")),
    ("a payload of another protocol", dropped_later(46, fpdu.send(b"x"))),
    ("a segment longer than MPA's", dropped_later(SEGMENT, bytes(65536))),
    ("a segment that DDP refuses", bad_segment),
    ("segments behind one that DDP refuses", behind_a_refused),
    ("an association begun anew", begun_anew),
    ("much behind a gap", behind_a_gap),
    ("Terminate", terminate),
    ("Initiate, and gone", initiate_then_gone),
    ("client: Accept of another kind", answered(99)),
    ("client: Reject", answered(REJECT, b"no")),
    ("client: enhanced Reject", answered(ENHANCED_REJECT, bytes(4))),
    ("client: Terminate", answered(TERMINATE)),
    ("client: a peer without enhanced sessions", refused_plainly(gone)),
    ("client: a peer that terminates an enhanced session", refused_plainly(terminates)),
    ("client: a peer that clings to the association", clings),
    ("ordinary rping afterwards", handshake.ordinary_rping),
]

if __name__ == "__main__":
    if not OVER_SCTP:
        sys.exit("session.py: WEFT_TRANSPORT is not sctp here; see its first lines")
    sys.exit(ring.run_with_rping("session.py", CASES) != 0)
