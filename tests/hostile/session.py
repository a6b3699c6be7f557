#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=36 transport=sctp hosts
"""Hostile peers of DDP over SCTP (RFC 5043), with plain SCTP from host B: as clients to an rping
server on host A, and as servers to an rping client there. For labs with WEFT_TRANSPORT=sctp."""
import contextlib
import socket
import struct
import sys
import time

import counters
import ring
from association import SCTP_PR_SUPPORTED, Session, sctp_socket
from handshake import REQUEST_LIMIT, lasts
from hosts import OVER_SCTP, PORT, PROMPT, SERVER, case, check, kernel_log, listen, meanwhile, reset, setting, written
from pinging import caller
from wire import ddp, mpa
from wire.sctp import (ACCEPT, ADAPTATION, CONTROL, ENHANCED_ACCEPT, ENHANCED_INITIATE, ENHANCED_REJECT, EXTEND, INITIATE,
                       REJECT, SEGMENT, TERMINATE, numbered, split)

# The most memory of messages behind one that is missing, and what both ends of the socket hold besides.
AHEAD, IN_SOCKETS = 4 << 20, 1 << 20
# A type of chunk (RFC 9260), and how long SCTP waits for the end of an association that Weft has closed.
SHUTDOWN, GUARD = 7, 10


def associated(adaptation=ADAPTATION):
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
@case
def stranger(adaptation):
    counted = kernel_log().count("without an indication of DDP")
    # The refusal may come before connect() returns.
    with contextlib.suppress(ConnectionResetError):
        associated(adaptation).ends()
    check(kernel_log().count("without an indication of DDP") > counted, "the kernel log says nothing")


def silence():
    began = time.monotonic()
    associated().ends(REQUEST_LIMIT + PROMPT)
    check(time.monotonic() - began > 1, "ended at once, though nothing was wrong yet")


@case
def dropped(ppid, message):
    """The association ends for this first message."""
    session = associated()
    session.raw(ppid, message)
    session.ends()


@case
def dropped_later(ppid, data, ssn=None):
    """A session in full operation ends for this message."""
    session = accepted()
    session.put(ppid, data, ssn=ssn)
    session.ends()


def plain():
    session = accepted()
    _, abandons = struct.unpack("iI", session.sock.getsockopt(socket.IPPROTO_SCTP, SCTP_PR_SUPPORTED, 8))
    check(not abandons, "messages may be abandoned")
    gone(session)


@case
def enhanced(extend, limits):
    session = associated()
    session.control(ENHANCED_INITIATE | extend, limits)
    depths = session.expect_control(ENHANCED_ACCEPT | extend)
    check(len(depths) == 4, f"IRD and ORD are {depths.hex()}")
    gone(session)


def bad_segment():
    """A segment that DDP refuses gets a Terminate message of RDMAP's before the end."""
    session = accepted()
    session.put(SEGMENT, ddp.untagged(ddp.SEND, queue=7))
    got = session.expect_segment()
    check(got[1] & 0x0F == ddp.TERMINATE, f"{got.hex()} is no Terminate")
    session.ends()


def behind_a_refused():
    """What comes behind such a segment goes the way of the connection."""
    session = accepted()
    session.put(SEGMENT, ddp.untagged(ddp.SEND, queue=7))
    with contextlib.suppress(OSError):
        for _ in range(200):
            session.put(SEGMENT, ddp.send(bytes(1000)))
            time.sleep(0.001)
    session.ends()


def initiate_then_gone():
    for wait in (0, 0.01, 0.05, 0.2) * 2:
        session = associated()
        session.control(INITIATE)
        time.sleep(wait)
        gone(session)
        time.sleep(0.5)


def unplugged():
    """Nothing that host B sends arrives."""
    return meanwhile(["tc -n B qdisc add dev eth0 root netem loss 100%"], ["tc -n B qdisc del dev eth0 root"])


def begun_anew():
    """A host that has forgotten an association makes another of the same ports, which is that of another program.
    SCTP goes on with the old one for it, and its first message, of the right number, comes with the news."""
    session = accepted()
    own = session.sock.getsockname()
    with unplugged():
        gone(session)
    before = counters.read()["rx_fpdus"]
    another = Session(sctp_socket())
    another.sock.bind(own)
    another.put(SEGMENT, ddp.send(bytes(16)), ssn=session.ssn, to=(SERVER, PORT))
    another.ends()
    taken = counters.read()["rx_fpdus"] - before
    check(taken == 0, f"the old queue pair took {taken} segment")


def behind_a_gap():
    """Weft holds messages behind a missing one, as far as 4 MiB.
    A send is told of the abort, at the latest the next one. If the case asked select() as well, and the abort came between
    select() and the send, ends() would wait in vain, because the kernel tells of an abort once."""
    size, sent = 60000, 0
    with written("/sys/module/weft_sctp/parameters/out_of_order", "off"):
        session = accepted()
        session.ssn += 1
        while sent < 2 * AHEAD and not session.aborted:
            session.put(SEGMENT, ddp.send(bytes(size)))
            sent += size
        session.ends()
    check(AHEAD <= sent <= AHEAD + IN_SOCKETS, f"ended after {sent} bytes, not about {AHEAD}")


def message(code, private=b"", ssn=0):
    return numbered(ssn, numbered(code, private))


# --- we listen: cases against the initiator ---
@contextlib.contextmanager
def called(within):
    """An rping client on host A that comes to us, and a function that accepts its associations."""
    with sctp_socket() as sock:
        listen(sock, within=within)
        with caller() as client:
            yield client, lambda: Session(sock.accept()[0])


@case
def answered(code, private=b""):
    """A client that gets this answer to its Initiate ends by itself."""
    answers = 0
    with called(1) as (client, accept):
        while client.poll() is None:
            with contextlib.suppress(socket.timeout):
                session = accept()
                ppid, data = session.get()
                check(ppid == CONTROL, f"payload {ppid}, not {CONTROL}")
                check(split(data)[0] & 0xFF in (INITIATE, ENHANCED_INITIATE), data.hex())
                session.control(code, private)
                answers += 1
                session.ends()
        check(answers, "no Initiate came")
        check(client.returncode, "the client ended with 0")


@case
def refused_plainly(refuse):
    """A peer that knows no enhanced session is tried again without; refuse(session) is how the peer refuses."""
    with called(PROMPT) as (_, accept):
        first = accept()
        first.expect_control(ENHANCED_INITIATE | EXTEND)
        refuse(first)
        second = accept()
        second.expect_control(INITIATE)
        gone(second)


def terminates(session):
    """Answers an Initiate with a Terminate, and leaves the association to the peer."""
    session.control(TERMINATE)
    session.ends()


def without(chunk):
    """No packet arrives at host B that begins with a chunk of this type."""
    match = f"match ip protocol 132 0xff match u8 {chunk} 0xff at 32"
    drop = f"tc -n B filter add dev eth0 ingress protocol ip u32 {match} action drop"
    return meanwhile(["tc -n B qdisc add dev eth0 clsact", drop], ["tc -n B qdisc del dev eth0 clsact"])


def clings():
    """SCTP aborts an association whose peer goes on to send in place of the answer to a SHUTDOWN."""
    with setting("mpa_revision", "1"), without(SHUTDOWN), called(PROMPT) as (_, accept):
        session = accept()
        session.get()
        session.control(ACCEPT)
        session.expect_segment()
        session.control(TERMINATE)
        with lasts(GUARD):
            deadline = time.monotonic() + 2 * GUARD
            while not session.aborted and time.monotonic() < deadline:
                time.sleep(0.5)
                session.put(SEGMENT, b"x")
            session.ends()


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
    ("a segment at first", dropped(SEGMENT, b"\0\0" + ddp.send(b"hello"))),
    ("an unknown payload", dropped(0, message(INITIATE))),
    ("a plain session", plain),
    ("an enhanced session", enhanced(0, mpa.Limits(1, 1, write=True).packed())),
    ("an enhanced session that extends", enhanced(EXTEND, mpa.rd_limits(1, 1))),
    ("a second Initiate", dropped_later(CONTROL, numbered(INITIATE))),
    ("a DDP-SSN far behind", dropped_later(SEGMENT, ddp.send(b"x"), ssn=0x8001)),
    ("a DDP-SSN twice", dropped_later(SEGMENT, ddp.send(b"x"), ssn=0)),
    ("a segment of no bytes", dropped_later(SEGMENT, b"")),
    ("a payload of another protocol", dropped_later(46, ddp.send(b"x"))),
    ("a segment longer than MPA's", dropped_later(SEGMENT, bytes(65536))),
    ("a segment that DDP refuses", bad_segment),
    ("segments behind one that DDP refuses", behind_a_refused),
    ("an association begun anew", begun_anew),
    ("much behind a gap", behind_a_gap),
    ("Terminate", dropped_later(CONTROL, numbered(TERMINATE))),
    ("Initiate, and gone", initiate_then_gone),
    ("client: Accept of another kind", answered(99)),
    ("client: Reject", answered(REJECT, b"no")),
    ("client: enhanced Reject", answered(ENHANCED_REJECT, bytes(4))),
    ("client: Terminate", answered(TERMINATE)),
    ("client: a peer without enhanced sessions", refused_plainly(gone)),
    ("client: a peer that terminates an enhanced session", refused_plainly(terminates)),
    ("client: a peer that clings to the association", clings),
]

if __name__ == "__main__":
    if not OVER_SCTP:
        sys.exit("session.py: this lab has no WEFT_TRANSPORT=sctp (scripts/lab/run --env)")
    sys.exit(ring.run_with_rping("session.py", CASES))
