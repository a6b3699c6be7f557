#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=35 transport=sctp seldom hosts
# lab: limit=900 where=uml order=49 debug hosts
"""Peers with the manners of hardware, as their drivers in Linux have them; nothing here is hostile.
Each sets up connections as one kind of card does, is as strict about the frames that it gets, and
does what rping does, in both roles. No card was at hand."""
import dataclasses
import socket
import struct
import sys

import ring
from counters import counted
from handshake import ECONNREFUSED, REJECTED, asked
from hosts import HERE, OVER_SCTP, PROMPT, START, case, check, expect_end, reset, setting
from peer import Stream, receive_frame
from pinging import OUR_BUFFER, OUR_STAG, Said, Server, fin, info, ping, region_of
from wire import ddp, mpa
from wire.mpa import Limits

# Longer than the responder that may not speak first would wait for a peer of revision 1.
LISTEN = 0.7
# Several segments long.
PING_SIZE = 5000


@dataclasses.dataclass
class Persona:
    """How a card sets up connections, and what it does not stand."""

    revision: int = 2
    crc: bool = True
    ird: int = 4
    ord: int = 4
    # Kinds of RTR that it proposes; and, the first it finds, takes, as either role.
    proposes: tuple = ("write", "read")
    takes: tuple = ("read", "write")
    # All of the private data, the four bytes of enhanced setup among it.
    longest_private: int = 512
    # As the initiator it refuses a responder that wants more reads than the request allows.
    strict: bool = False
    private: bytes = b""
    # It wants markers in what it receives; and we do in what it sends.
    markers: bool = False
    marks: bool = False
    # The longest frame that it takes; 0: one of a segment. If it takes longer ones, it wants some.
    longest: int = 0


def chosen(persona, limits):
    kind = next((kind for kind in persona.takes if getattr(limits, kind)), None)
    check(kind, f"no ready-to-receive frame of {persona.takes} in {limits}")
    return kind


def gets(persona, frame, key):
    """What a card looks at in either frame before anything else."""
    check(frame.key == key, f"not the frame that was due but {vars(frame)}")
    check(frame.revision == persona.revision, f"revision {frame.revision}, not {persona.revision}")
    check(bool(frame.flags & mpa.MARKERS) == persona.marks, f"flags {frame.flags:#x}")
    check(not frame.flags & mpa.REJECT, f"refused: {vars(frame)}")
    check(len(frame.private) <= persona.longest_private, f"{len(frame.private)} bytes of private data")
    check(bool(frame.flags & mpa.ENHANCED) == (persona.revision == 2), f"flags {frame.flags:#x}")


def flags_of(persona):
    return mpa.CRC * persona.crc | mpa.ENHANCED * (persona.revision == 2) | mpa.MARKERS * persona.markers


# --- the card connects to an rping server ---
def ready(stream, kind):
    """Sends the frame that says that we are in full operation."""
    if kind == "send":
        stream.give(ddp.send(b"", msn=stream.next_msn()))
    elif kind == "write":
        stream.give(ddp.write(0, 0))
    else:
        stream.give(ddp.read_request((0, 0), 0, (OUR_STAG, OUR_BUFFER), msn=1))
        got = stream.expect(ddp.READ_RESPONSE)
        check(got.last and not got.payload and got.stag == OUR_STAG, f"answer to the ready-to-receive frame: {got}")


@case
def initiator(persona):
    since = len(Said.now())
    offered = Limits(persona.ird, persona.ord, **dict.fromkeys(persona.proposes, True))
    private = (offered.packed() if persona.revision == 2 else b"") + persona.private
    sock, answer = asked(flags=flags_of(persona), revision=persona.revision, private=private)
    gets(persona, answer, mpa.REPLY_KEY)
    check(answer.flags & mpa.CRC, "no CRC, though it was asked for")
    stream = Stream(sock, marked=persona.markers, marks=persona.marks)
    if persona.revision == 2:
        got = Limits.parsed(answer.private)
        check(got.p2p, "the reply is not for peer to peer")
        check(not persona.strict or got.ord <= persona.ird, f"the server wants to read {got.ord} at a time")
        check(got.ird >= 1, "no room for the ready-to-receive frame")
        for kind in ("send", "write", "read"):
            check(kind in persona.proposes or not getattr(got, kind), f"RTR by {kind} was not proposed")
        # A byte behind the reply is a protocol error to a card, and so is a word before ours.
        stream.silent(LISTEN)
        ready(stream, chosen(persona, got))
    for _ in range(2):
        ping(stream)
    fin(stream)
    Said.end(since)


# --- rping clients connect to the card ---
def whole_read(stream, region, size, msn, longest):
    """The bytes of a read, whose frames must each fit a segment, or longest if that is not 0."""
    segment = stream.sock.longest_frame() if OVER_SCTP else stream.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    most = 0
    stream.give(ddp.read_request(region, size, (OUR_STAG, OUR_BUFFER), msn=msn))
    data = b""
    while len(data) < size:
        got = stream.expect(ddp.READ_RESPONSE)
        check((got.stag, got.offset) == (OUR_STAG, OUR_BUFFER + len(data)), f"answer {got}")
        check(got.on_wire <= (longest or segment), f"a frame of {got.on_wire} bytes, segments are of {segment}")
        most = max(most, got.on_wire)
        data += got.payload
        check(got.last == (len(data) >= size), f"the last segment comes after {len(data)} bytes")
    check(not longest or most > segment, f"no frame is longer than {most} bytes, segments are of {segment}")
    return data


def serve(stream, read_msn, longest):
    """What an rping server does, for one ping."""
    data = whole_read(stream, region_of(stream, PING_SIZE, START), PING_SIZE, read_msn, longest)
    stream.give(ddp.send(info(), msn=stream.next_msn()))
    stag, address = region_of(stream, PING_SIZE, START)
    for at in range(0, PING_SIZE, 1000):
        stream.give(ddp.write(stag, address + at, data[at : at + 1000], last=at + 1000 >= PING_SIZE))
    stream.give(ddp.send(info(), msn=stream.next_msn()))


def request_comes(persona, listener):
    sock = listener.accept()
    frame = receive_frame(sock, START)
    gets(persona, frame, mpa.REQUEST_KEY)
    # A byte behind the request is a protocol error.
    stream = Stream(sock, marked=persona.markers, marks=persona.marks)
    stream.silent(LISTEN)
    return stream, frame


def reply_as(persona, stream, frame):
    """Replies, and takes the first frame."""
    if persona.revision == 1:
        stream.sock.sendall(mpa.reply(flags=flags_of(persona), revision=1, private=persona.private))
        return
    asked = Limits.parsed(frame.private)
    check(asked.p2p, "the request is not for peer to peer")
    kind = chosen(persona, asked)
    answer = Limits(min(persona.ird, asked.ord), min(persona.ord, asked.ird), **{kind: True})
    check(answer.ird >= 1 or kind != "read", "no read may be sent, and RTR by read is offered")
    stream.sock.sendall(mpa.reply(flags=flags_of(persona), revision=2, private=answer.packed() + persona.private))
    first = stream.segment(START)
    opcode = {"send": ddp.SEND, "write": ddp.WRITE, "read": ddp.READ_REQUEST}[kind]
    check(first.opcode == opcode, f"the ready-to-receive frame is not by {kind} but {first}")
    if kind == "read":
        sink, sink_to, length = struct.unpack(">IQI", first.payload[:16])
        check(length == 0, f"the ready-to-receive frame reads {length} bytes")
        stream.give(ddp.tagged(ddp.READ_RESPONSE, sink, sink_to))
    else:
        check(not first.payload, "the ready-to-receive frame has a payload")


@case
def responder(persona, before=None):
    """before: what the card does with requests that come first, each of them on a connection of its own."""
    with Server() as listener:
        listener.call("-C", "2", "-S", str(PING_SIZE), "-V")
        if before:
            before(listener)
        stream, frame = request_comes(persona, listener)
        reply_as(persona, stream, frame)
        for msn in (1, 2):
            serve(stream, msn, persona.longest)
        stream.ends(START)
        listener.ends_well()


def refuses_revision_2(how):
    return lambda listener: how(listener.accept_request(revision=2))


def rejects(sock):
    sock.sendall(mpa.reply(flags=mpa.REJECT | mpa.CRC, revision=1))
    expect_end(sock, PROMPT)


def no_peer_to_peer():
    """irdma refuses a request without the bit: rping learns that it was refused."""
    with counted(conn_refused_by_peer=1), Server() as listener:
        listener.call()
        sock = listener.accept_request(revision=2)
        sock.sendall(mpa.reply(flags=mpa.REJECT | mpa.CRC | mpa.ENHANCED, revision=2, private=Limits(0, 0, p2p=False).packed()))
        listener.outcome(REJECTED, ECONNREFUSED, PROMPT + START)
        sock.close()


# irdma: no connection without the peer-to-peer bit, and one of WRITE and READ must be offered. It takes READ if both come
# back, ends a connection whose peer wants more reads than it may have, and always uses CRCs.
IRDMA = Persona(strict=True)
# cxgb4: proposes RTR by READ alone, and takes no other; 256 bytes of private data, the four of enhanced setup among them.
CXGB4 = Persona(ird=1, ord=1, proposes=("read",), takes=("read",), longest_private=256)
CXGB4_FULL = dataclasses.replace(CXGB4, private=bytes(range(252)))
# qedr: proposes all three, and has more reads.
QEDR = Persona(ird=32, ord=32, proposes=("send", "write", "read"), takes=("send", "write", "read"))
# A card of the first generation.
OLD = Persona(revision=1)
# cxgb4 with markers_enabled=1, which no longer is its default; and a card of the first generation, which
# needs them. Each marker must point to its frame, and lie within what the CRC covers.
MARKED = Persona(markers=True)
MARKED_READ = dataclasses.replace(MARKED, proposes=("read",), takes=("read",))
MARKED_OLD = dataclasses.replace(OLD, markers=True)
MARKS = Persona(marks=True)
MARKS_BOTH_WAYS = Persona(marks=True, markers=True)


@case
def known(run, entry, name="fpdu_peers"):
    """With a device that knows how long frames to this address may be, or with another setting."""
    with setting(name, entry):
        run()


def marking(run):
    """With a device that asks for markers."""
    return known(run, "on", "markers")


CASES = [
    ("be irdma: initiator", initiator(IRDMA)),
    ("be irdma: responder", responder(IRDMA)),
    ("be irdma: responder that takes WRITE", responder(dataclasses.replace(IRDMA, takes=("write",)))),
    ("be irdma: responder that misses a bit", no_peer_to_peer),
    ("be cxgb4: initiator", initiator(CXGB4)),
    ("be cxgb4: initiator, all the private data", initiator(CXGB4_FULL)),
    ("be cxgb4: responder", responder(CXGB4)),
    ("be cxgb4: responder, all the private data", responder(CXGB4_FULL)),
    # T6 with a firmware that takes frames of 16 KiB, and a card that stops before.
    ("be T6: responder that takes long frames", known(responder(dataclasses.replace(CXGB4, longest=16384)), f"{HERE}=16384")),
    ("be T6: responder that takes frames of two segments", known(responder(dataclasses.replace(CXGB4, longest=3000)), f"{HERE}/24=3000")),
    ("be T6: responder that is not listed", known(responder(CXGB4), "10.0.0.0/31=16384 fd00::/8=large")),
    ("be qedr: initiator", initiator(QEDR)),
    ("be qedr: initiator, RTR by WRITE", initiator(dataclasses.replace(QEDR, takes=("write",)))),
    ("be qedr: responder", responder(QEDR)),
    ("be an MPA 1 card: initiator", initiator(OLD)),
    ("be an MPA 1 card: responder that resets revision 2", responder(OLD, refuses_revision_2(reset))),
    ("be an MPA 1 card: responder that closes on revision 2", responder(OLD, refuses_revision_2(socket.socket.close))),
    ("be an MPA 1 card: responder that rejects revision 2", responder(OLD, refuses_revision_2(rejects))),
    ("ask for markers: initiator", initiator(MARKED)),
    ("ask for markers: initiator, RTR by READ", initiator(MARKED_READ)),
    ("ask for markers: initiator of revision 1", initiator(MARKED_OLD)),
    ("ask for markers: responder", responder(MARKED)),
    ("ask for markers: responder, RTR by READ", responder(MARKED_READ)),
    ("send markers: initiator", marking(initiator(MARKS))),
    ("send markers: initiator, and ask for them", marking(initiator(MARKS_BOTH_WAYS))),
    ("send markers: initiator of revision 1", marking(initiator(dataclasses.replace(OLD, marks=True)))),
    ("send markers: responder", marking(responder(MARKS))),
    ("send markers: responder, and ask for them", marking(responder(MARKS_BOTH_WAYS))),
    ("ask for markers: responder of revision 1", responder(MARKED_OLD, refuses_revision_2(reset))),
]


if __name__ == "__main__":
    sys.exit(ring.run_with_rping("personas.py", CASES))
