#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=19 debug hosts
# lab: limit=900 where=uml order=34 transport=sctp seldom hosts
"""What hostile peers may write, and what not. A victim on host A (victim.cc), with memory of every kind of right, connects to
this program on host B, whose frames come whole, cut at each byte, and larger than the victim's receive buffer. After each case
every byte of the victim's memory, and its device's counters, are compared with what they should be."""
import contextlib
import socket
import struct
import subprocess
import sys
import time

import ring
from counters import counted
from hosts import OVER_SCTP, START, Failure, case, check, on
from peer import receive_frame
from pinging import fin, rst
from victim import Victim, called, connection
from wire import ddp, mpa
from wire.ddp import BAD_CRC, BOUNDS, LOCAL, MSN, NO_BUFFER, NO_RIGHT, OFFSET, READ_BOUNDS, READ_STAG, STAG, TOO_LONG
from wire.sctp import CONTROL, SEGMENT, TERMINATE

IPV6 = {"family": socket.AF_INET6}
NO_CRC = {"crc": False}
REVISION_1 = {"revision": 1}
EXTENDED = {"extended": True}
VICTIM = None

# Of a frame: length field, control fields, STag, tagged offset; and a SEND's number.
STAG_AT, TO_AT, MSN_AT = 4, 8, 12
EVIL = bytes(range(0xA0, 0xA8))
# What a frame counts as that TCP's buffer cannot hold. SCTP's is made large enough.
STAGED = {} if OVER_SCTP else {"rx_staged_fpdus": None}
REFUSED = {"tx_terminates": 1}
REFUSED_CRC = {"tx_terminates": 1, "rx_crc_errors": 1}


def of_access(reason):
    """Is this a Terminate for memory that the peer may not reach? DDP's type is that of a wrong version, too."""
    return reason[:2] in ((0, 1), (1, 1)) and reason != (1, 1, 4)


def region(name):
    return VICTIM.regions[name]


def write(name="write", at=0, payload=EVIL, **fields):
    return ddp.write(*region(name).place(at), payload, **fields)


@contextlib.contextmanager
def harmless(counts, **manner):
    """A connection over which this is counted, and nothing changes in the victim's memory."""
    with counted(**counts), connection(VICTIM, **manner) as stream:
        yield stream
    VICTIM.unharmed()


# --- frames whose header was damaged on the way, under the CRC of the true one ---
def moved(frame):
    """Another place in the same region."""
    frame[TO_AT + 6] ^= 0x40


def elsewhere(frame):
    """Another region."""
    frame[STAG_AT : TO_AT + 8] = struct.pack(">IQ", *region("second").place(8))


def shortened(frame):
    frame[1] -= 4


def lengthened(frame):
    frame[1] += 8


def renumbered(frame):
    frame[MSN_AT + 3] ^= 1


DAMAGES = (moved, elsewhere, shortened, lengthened)


def damaged(how, ulpdu):
    frame = bytearray(mpa.fpdu(ulpdu))
    how(frame)
    # The rest that a frame with too great a length waits for.
    return bytes(frame) + (bytes(8) if how is lengthened else b"")


def refused_by_crc(data, *cuts, **manner):
    with harmless(REFUSED_CRC, **manner) as stream:
        stream.in_pieces(data, *cuts)
        stream.refused(BAD_CRC)


def in_two(step):
    return lambda length: [(cut,) for cut in range(1, length, step)]


def in_three(end):
    return (1, 2), (2, 3), (3, end - 1), (8, 16), (16, 20), (20, end - 4), (end - 5, end - 3)


def in_many(length):
    return [range(1, length)]


@case
def cut_up(how, cuts_of, ulpdu=lambda: write(at=64), **manner):
    """A damaged frame is refused for its CRC, however cuts_of(its length) cuts it."""
    for cuts in cuts_of(len(damaged(how, ulpdu()))):
        try:
            refused_by_crc(damaged(how, ulpdu()), *cuts, **manner)
        except Failure as error:
            raise Failure(f"cut at {cuts}: {error}") from error


@case
def behind_good_ones(how):
    """The damaged frame begins in the packet in which good ones end."""
    for cut in (1, 2, 10, 17, 25):
        good = mpa.framed(*(write(at=8 * i, last=False) for i in range(4)))
        with counted(**REFUSED_CRC), connection(VICTIM) as stream:
            stream.in_pieces(good + damaged(how, write(at=64)), len(good) + cut)
            stream.refused(BAD_CRC)
        VICTIM.written("write", {0: 4 * EVIL})


def settle(stream, msn=1):
    """All that was sent before has been placed when this returns."""
    stream.give(ddp.read_request(region("write").place(), 0, msn=msn))
    stream.expect(ddp.READ_RESPONSE)


LARGE = 40000


@case
def large(how=None, **manner):
    """A frame of a large size over many packets."""
    payload = bytes([0x5A]) * LARGE
    frame = damaged(how, write(at=1000, payload=payload)) if how else mpa.framed(write(at=1000, payload=payload))
    cuts = (1, 1500, 20000, 39000, len(frame) - 3)
    if how:
        refused_by_crc(frame, *cuts, **manner)
        return
    with counted(rx_split_fpdus=0 if OVER_SCTP else None), connection(VICTIM, **manner) as stream:
        stream.in_pieces(frame, *cuts)
        settle(stream)
    VICTIM.written("write", {1000: payload})


@contextlib.contextmanager
def small_buffers():
    """Host A's receive buffers can hold far less than a frame, unless they are made larger. SCTP's are as all hosts'."""
    path = "net.core.rmem_default" if OVER_SCTP else "net.ipv4.tcp_rmem"

    def limits(value=None):
        command = ["sysctl", "-n", path] if value is None else ["sysctl", "-q", "-w", f"{path}={value}"]
        return subprocess.run(command if OVER_SCTP else on("A", *command), check=True, capture_output=True, text=True).stdout.strip()

    before = limits()
    limits("8192" if OVER_SCTP else "4096 8192 8192")
    try:
        yield
    finally:
        limits(before)


@case
def small_buffer(how=None):
    payload = bytes([0xC3]) * LARGE
    with small_buffers():
        if how:
            with harmless({"rx_staged_fpdus": None} | REFUSED_CRC) as stream:
                stream.give_raw(damaged(how, write(at=1000, payload=payload)))
                stream.refused(BAD_CRC)
            return
        with counted(**STAGED, rx_split_fpdus=None if STAGED else 0), connection(VICTIM) as stream:
            stream.give(write(at=1000, payload=payload), write(at=0, payload=EVIL))
            settle(stream)
    VICTIM.written("write", {0: EVIL, 1000: payload})


def small_buffer_no_receive():
    """A SEND that the receive buffer cannot hold waits for a receive until time is up."""
    with small_buffers(), harmless(STAGED | REFUSED | {"rnr_stalls": 1, "rnr_timeouts": 1}, receives=0) as stream:
        stream.give(ddp.send(bytes(LARGE)))
        stream.refused(NO_BUFFER, within=10 + 8)


@case
def small_buffer_then_end(end, **expected):
    with small_buffers(), harmless({"rx_staged_fpdus": None} | expected) as stream:
        stream.give_raw(mpa.framed(write(payload=bytes(LARGE)))[:-1000])
        time.sleep(0.3)
        end(stream)


@case
def part_then_end(length, end, **expected):
    """The stream ends inside a frame: nothing of it was placed."""
    with harmless(expected) as stream:
        stream.in_pieces(mpa.framed(write())[:length], length // 2)
        stream.silent(0.2)
        end(stream)


def urgent_in_parts():
    """Urgent bytes in a frame that waits for its CRC are bytes like any other."""
    frame = mpa.framed(write())
    with connection(VICTIM) as stream:
        for at in range(len(frame)):
            stream.sock.send(frame[at : at + 1], socket.MSG_OOB if at % 5 == 3 else 0)
            time.sleep(0.002)
        settle(stream)
    VICTIM.written("write", {0: EVIL})


@case
def promised_at_once(reason, make):
    """Without CRCs what a header says is refused before what it promises has come."""
    with harmless(REFUSED, **NO_CRC) as stream:
        stream.give_raw(mpa.promised(65535, make()))
        stream.refused(reason)


@case
def promised(**manner):
    """A header is believed when its frame's CRC has passed, or at once where there are none."""
    ulpdu = write(at=region("write").length - 4, payload=bytes(64))
    frame = mpa.fpdu(ulpdu)
    with harmless(REFUSED, **manner) as stream:
        stream.give_raw(frame[:30])
        if manner.get("crc", True):
            stream.silent(0.5)
            stream.give_raw(frame[30:])
        stream.refused(BOUNDS, ulpdu)


# --- frames that are what they are meant to be ---
@case
def every_cut(**manner):
    """Good frames, cut at each byte, are placed where they should be and nowhere else."""
    with connection(VICTIM, **manner) as stream:
        for cut in range(1, len(mpa.framed(write()))):
            payload = bytes([cut]) * 8
            stream.in_pieces(mpa.framed(write(at=16, payload=payload)), cut)
            settle(stream, cut)
            VICTIM.written("write", {16: payload})


@case
def refused(reason, make, **manner):
    """What make() returns is refused for this reason; nothing is written."""
    with harmless(REFUSED | {"resp_remote_access_errors": int(of_access(reason))}, **manner) as stream:
        stream.refuses(reason, make(stream), allowed=(ddp.READ_RESPONSE,))


def read(name, at=0, size=8):
    return ddp.read_request(region(name).place(at), size)


def atomic(name, at=0):
    return ddp.atomic(region(name).place(at))


def in_window(key, at=0):
    """The key of a window, and a place in it."""
    where = region("window")
    return key, where.address + where.length // 4 + at


def honest_window():
    half = region("window").length // 2
    with connection(VICTIM, window=True) as stream:
        stream.give(ddp.write(*in_window(stream.window), EVIL), ddp.write(*in_window(stream.window, half - 8), EVIL))
        settle(stream)
        stream.refuses(BOUNDS, ddp.write(*in_window(stream.window, half - 7), EVIL))
    VICTIM.written("window", {half // 2: EVIL, half // 2 + half - 8: EVIL})


def closed_window():
    """A SEND with invalidate closes the window that it names; the key is dead afterwards."""
    with harmless(REFUSED, window=True) as stream:
        stream.give(ddp.untagged(ddp.SEND_INV, b"", inv_stag=stream.window))
        settle(stream)
        stream.refuses(STAG, ddp.write(*in_window(stream.window), EVIL))


def window_of_another():
    """A window of the second type serves the connection it was bound on."""
    with connection(VICTIM, window=True) as first:
        fin(first)
    with harmless(REFUSED | {"resp_remote_access_errors": 1}) as stream:
        stream.give(ddp.write(*in_window(first.window), EVIL))
        term = stream.expect(ddp.TERMINATE)
        check(ddp.Terminate(term).reason[:2] in ((1, 1), (0, 1)), f"{term}")


def good_atomic():
    with connection(VICTIM, **EXTENDED) as stream:
        stream.give(atomic("atomic"))
        stream.expect(ddp.ATOMIC_RESPONSE)
    where = VICTIM.changed()
    VICTIM.ask("renew")
    check(where and region("atomic").offset <= where[0] and where[1] < region("atomic").offset + 8, f"changed: {where}")


def shared_too_long():
    """A SEND too long for a receive of a shared queue: the receive says so."""
    with counted(**REFUSED, resp_local_length_error=1, resp_cqe_error=1), connection(VICTIM, srq=True, receives=1) as stream:
        stream.refuses(TOO_LONG, ddp.send(bytes(60000), last=False), ddp.send(bytes(6000), mo=60000))
    check(any("length" in line for line in stream.said), f"the victim says {stream.said}")
    VICTIM.ask("renew")  # what came before it is undefined


def shared_good():
    with connection(VICTIM, srq=True, receives=2) as stream:
        for msn in (1, 2):
            stream.give(ddp.send(b"", msn=msn))
        fin(stream)
    check(sum(line.startswith("received") for line in stream.said) == 2, f"the victim says {stream.said}")
    VICTIM.unharmed()


def shared_no_receive():
    with harmless(REFUSED | {"rnr_stalls": 1, "out_of_buffer": 1, "rnr_timeouts": 1}, srq=True, receives=0) as stream:
        stream.refuses(NO_BUFFER, ddp.send(EVIL), within=10 + 8)


def full_queue():
    """Nothing is placed after the completion queue was too small: the queue pair has failed."""
    with harmless(REFUSED, deep=1, receives=16) as stream:
        check(stream.entries < 15, f"a queue of {stream.entries} entries")
        sends = [ddp.send(b"", msn=n + 1) for n in range(stream.entries + 1)]
        stream.give(*sends, write())
        stream.refused(LOCAL)


def revision_1_honest():
    with connection(VICTIM, **REVISION_1) as stream:
        stream.give(write())
        settle(stream)
        VICTIM.written("write", {0: EVIL})
        fin(stream)


def any_trailer():
    """Without CRCs the trailer says nothing."""
    with connection(VICTIM, **NO_CRC) as stream:
        for msn, trailer in enumerate((bytes(4), b"\xff" * 4, b"1234"), 1):
            stream.give_raw(mpa.framed(write(payload=bytes([msn]) * 8))[:-4] + trailer)
            settle(stream, msn)
            VICTIM.written("write", {0: bytes([msn]) * 8})


# --- counters ---
def exact_counts():
    """Frames and bytes of both directions, to the last."""
    frames = mpa.framed(*(write(at=8 * n, last=n == 2) for n in range(3)))
    asked, empty = mpa.framed(read("write", size=0)), mpa.framed(ddp.write(0, 0))
    received = {"rx_fpdus": 4, "rx_bytes": len(frames) + len(asked), "rx_split_fpdus": 0, "rx_staged_fpdus": 0}
    sent = {"tx_fpdus": 2, "tx_bytes": 2 * len(empty), "tx_batches": 2, "tx_blocked": 0}
    with counted(conn_opened=1, **received, **sent), connection(VICTIM) as stream:
        stream.give_raw(frames)
        settle(stream)
        fin(stream)
    VICTIM.written("write", {0: 3 * EVIL})


def deaf_reader():
    """A peer that asks for more than TCP holds, and does not take it."""
    with harmless({"tx_blocked": None, "conn_broken": 1}, buffer=4096) as stream:
        stream.give(read("write", size=region("write").length))
        time.sleep(1)
        rst(stream)


@case
def unanswered(event, answer=b"", **counts):
    """A peer that takes the connection, and says no word of a Reply."""
    with counted(**counts), called(VICTIM) as sock:
        receive_frame(sock, START)
        if answer:
            sock.sendall(answer)
        try:
            VICTIM.answer()
        except Failure as error:
            check(event in str(error), str(error))
        else:
            raise Failure("the victim is connected")


# --- what only SCTP has ---
@case
def not_a_segment(spoil, **manner):
    """A WRITE in a message that breaks the session: nothing is placed, and the stream ends without a Terminate."""
    with harmless({"conn_broken": 1}, **manner) as stream:
        settle(stream)
        spoil(stream.sock.session)
        stream.ends()


def numbered(ahead):
    """The WRITE's DDP-SSN is that of the next message, and so many."""
    return lambda session: session.put(SEGMENT, write(), ssn=(session.ssn + ahead) % 0x10000)


def as_payload(ppid):
    return lambda session: session.put(ppid, write())


def behind_terminate():
    """What follows the session's Terminate is not read."""
    with harmless({}) as stream:
        session = stream.sock.session
        session.control(TERMINATE)
        session.put(SEGMENT, write())
        stream.ends()


SCTP_CASES = [
    ("message with the DDP-SSN of the last", not_a_segment(numbered(-1))),
    ("message with the DDP-SSN of the first", not_a_segment(lambda session: session.put(SEGMENT, write(), ssn=0))),
    ("message whose DDP-SSN is 0x8000 away", not_a_segment(numbered(0x8000))),
    ("message without a payload protocol", not_a_segment(as_payload(0))),
    ("message of another payload protocol", not_a_segment(as_payload(SEGMENT << 24))),
    ("segment as session control", not_a_segment(as_payload(CONTROL))),
    ("message behind the session's Terminate", behind_terminate),
]


MANNERS = (("CRC off", NO_CRC), ("revision 1", REVISION_1), ("IPv6", IPV6), ("IPv6, CRC off", IPV6 | NO_CRC), ("extended", EXTENDED))


def refusals(manner):
    """Of each kind one, for peers of that manner."""
    return (
        refused(BOUNDS, lambda s: write(at=region("write").length), **manner),
        refused(BOUNDS, lambda s: write(at=-1), **manner),
        refused(STAG, lambda s: ddp.write(region("write").stag ^ 1, region("write").address, EVIL), **manner),
        refused(STAG, lambda s: write("read"), **manner),
        refused(READ_BOUNDS, lambda s: read("write", at=-1), **manner),
        refused(READ_STAG, lambda s: ddp.read_request((1, 1), 8), **manner),
        refused(MSN, lambda s: ddp.send(EVIL, msn=2), **manner),
        refused(OFFSET, lambda s: ddp.send(EVIL, mo=4), **manner),
    )


@case
def all_of(*cases):
    for each in cases:
        each()


CASES = [
    *((f"damaged header, in two: {how.__name__}", cut_up(how, in_two(1 if how is moved else 4))) for how in DAMAGES),
    *((f"damaged header, in three: {how.__name__}", cut_up(how, in_three)) for how in (moved, elsewhere)),
    *((f"damaged header, in many: {how.__name__}", cut_up(how, in_many)) for how in DAMAGES),
    ("damaged header, in two: a SEND's number", cut_up(renumbered, in_two(3), lambda: ddp.send(EVIL))),
    ("damaged header behind good frames", behind_good_ones(moved)),
    ("damaged header, in two, IPv6", cut_up(moved, in_two(9), **IPV6)),
    ("damaged header, in two, revision 1", cut_up(moved, in_two(9), **REVISION_1)),
    ("damaged header, large frame", large(moved)),
    ("damaged header, large frame, another region", large(elsewhere)),
    ("damaged header, frame larger than the receive buffer", small_buffer(moved)),
    ("good frame, cut at every byte", every_cut()),
    *((f"good frame, cut at every byte, {name}", every_cut(**manner)) for name, manner in MANNERS),
    ("good large frame", large()),
    ("good large frame, extended", large(**EXTENDED)),
    ("good large frame, CRC off", large(**NO_CRC)),
    ("good frame larger than the receive buffer", small_buffer()),
    ("larger than the receive buffer, no receive", small_buffer_no_receive),
    ("larger than the receive buffer, then FIN", small_buffer_then_end(fin)),
    ("larger than the receive buffer, then RST", small_buffer_then_end(rst, conn_broken=1)),
    *((f"{length} bytes of a frame, then FIN", part_then_end(length, fin)) for length in (1, 2, 17, 27)),
    ("17 bytes of a frame, then RST", part_then_end(17, rst, conn_broken=1)),
    ("urgent bytes in a frame in parts", urgent_in_parts),
    ("header that promises too much", promised()),
    ("header that promises too much, CRC off", promised(**NO_CRC)),
    ("WRITE promises 65535 bytes, CRC off", promised_at_once(STAG, lambda: ddp.write(1, 2, EVIL))),
    ("read request promises 65535 bytes, CRC off", promised_at_once(TOO_LONG, lambda: read("write"))),
    ("any trailer, CRC off", any_trailer),
    ("revision 1: honest peer", revision_1_honest),
    *((f"refusals, {name}", all_of(*refusals(manner))) for name, manner in (("plain", {}), *MANNERS, ("shared receives", {"srq": True}))),
    ("right: WRITE to what may be read", refused(STAG, lambda s: write("read"))),
    ("right: WRITE to what is local", refused(STAG, lambda s: write("local"))),
    ("right: WRITE to what takes atomics", refused(STAG, lambda s: write("atomic"))),
    ("right: read of what may be written", refused(NO_RIGHT, lambda s: read("second"))),
    ("right: read of what is local", refused(NO_RIGHT, lambda s: read("local"))),
    ("right: atomic on what may be written", refused(NO_RIGHT, lambda s: atomic("write"), **EXTENDED)),
    ("right: atomic on what may be read", refused(NO_RIGHT, lambda s: atomic("read"), **EXTENDED)),
    ("right: a good atomic", good_atomic),
    ("window: bounds", honest_window),
    ("window: one byte before", refused(BOUNDS, lambda s: ddp.write(*in_window(s.window, -1), EVIL), window=True)),
    ("window: no right to read", refused(NO_RIGHT, lambda s: ddp.read_request(in_window(s.window), 8), window=True)),
    ("window: the region below it", refused(STAG, lambda s: write("window"), window=True)),
    ("window: closed by a SEND", closed_window),
    ("window: of another connection", window_of_another),
    ("shared receives: two SENDs", shared_good),
    ("shared receives: too long", shared_too_long),
    ("shared receives: none in time", shared_no_receive),
    ("counters: frames, bytes and trains", exact_counts),
    ("counters: a peer that does not read", deaf_reader),
    ("counters: a peer that does not answer", unanswered("UNREACHABLE", conn_timed_out=1)),
    ("counters: a peer that answers in another protocol", unanswered("CONNECT_ERROR", b"HTTP/1.1 400 Bad Request\r\n\r\n", conn_failed=1)),
    ("full completion queue, and a WRITE behind it", full_queue),
]


def another_victim():
    """The next case finds a victim that is in no connection."""
    global VICTIM
    VICTIM.process.kill()
    VICTIM.process.wait()
    VICTIM = Victim()


if __name__ == "__main__":
    VICTIM = Victim()
    STATUS = ring.run("placed.py", CASES + (SCTP_CASES if OVER_SCTP else []), another_victim)
    VICTIM.close()
    sys.exit(STATUS)
