#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=35 transport=sctp seldom hosts
# lab: limit=900 where=uml order=49 debug hosts
"""Peers with the manners of hardware, as their drivers in Linux have them.

    scripts/lab/run -- scripts/lab/two-hosts --weft -- tests/hostile/personas.py [NAME...]

Nothing here is hostile: each persona sets up connections as one kind of card does, is as strict as
that card about frames that it gets, and then does what rping does, in both roles. A frame over which
the card would end the connection fails the case. No card was at hand: the manners are read from
the drivers. With NAMEs only the cases whose names contain one
of them run.
"""

import contextlib
import dataclasses
import socket
import struct
import subprocess
import sys

import fpdu
import handshake
import mpa
import ring
from counters import counted
from handshake import PROMPT, START, Failure, check, on
from hosts import OVER_SCTP
from peer import Stream
from pinging import OUR_BUFFER, OUR_STAG, Said, info, ping

# Flags in the two words of enhanced setup (RFC 6581, 9): in the first, peer to peer and RTR by SEND; in
# the second, RTR by WRITE and by READ.
P2P, BY_SEND, BY_WRITE, BY_READ = 0x8000, 0x4000, 0x8000, 0x4000
NUMBER = 0x3FFF
# Longer than the responder that may not speak first would wait for a peer of revision 1.
LISTEN = 0.7
# Several segments long.
PING_SIZE = 5000


@dataclasses.dataclass
class Limits:
    """The four bytes of enhanced setup, taken apart."""

    ird: int
    ord: int
    p2p: bool = True
    send: bool = False
    write: bool = False
    read: bool = False

    def packed(self):
        first = self.ird | (P2P if self.p2p else 0) | (BY_SEND if self.send else 0)
        second = self.ord | (BY_WRITE if self.write else 0) | (BY_READ if self.read else 0)
        return struct.pack(">HH", first, second)

    @classmethod
    def parsed(cls, data):
        check(len(data) >= 4, "no IRD and ORD")
        first, second = struct.unpack(">HH", data[:4])
        return cls(first & NUMBER, second & NUMBER, bool(first & P2P), bool(first & BY_SEND), bool(second & BY_WRITE), bool(second & BY_READ))


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


def limits_of(persona, **kinds):
    return Limits(persona.ird, persona.ord, **kinds)


def chosen(persona, limits):
    for kind in persona.takes:
        if getattr(limits, kind):
            return kind
    raise Failure(f"no ready-to-receive frame of {persona.takes} in {limits}")


def gets(persona, frame, key):
    """What a card looks at in either frame before anything else."""
    check(frame.key == key, f"not the frame that was due but {vars(frame)}")
    check(frame.revision == persona.revision, f"revision {frame.revision}, not {persona.revision}")
    check(bool(frame.flags & mpa.MARKERS) == persona.marks, f"flags {frame.flags:#x}")
    check(not frame.flags & mpa.REJECT, f"refused: {vars(frame)}")
    check(len(frame.private) <= persona.longest_private, f"{len(frame.private)} bytes of private data")
    check(bool(frame.flags & mpa.ENHANCED) == (persona.revision == 2), f"flags {frame.flags:#x}")


def flags_of(persona):
    return (
        (mpa.CRC if persona.crc else 0)
        | (mpa.ENHANCED if persona.revision == 2 else 0)
        | (mpa.MARKERS if persona.markers else 0)
    )


# --- the card connects to an rping server ---


def ready(stream, kind):
    """Sends the frame that says that we are in full operation."""
    if kind == "send":
        stream.give(fpdu.send(b"", msn=stream.next_msn()))
    elif kind == "write":
        stream.give(fpdu.write(0, 0))
    else:
        stream.give(fpdu.read_request((0, 0), 0, (OUR_STAG, OUR_BUFFER), msn=1))
        got = stream.expect(fpdu.READ_RESPONSE)
        check(got.last and not got.payload and got.stag == OUR_STAG, f"answer to the ready-to-receive frame: {got}")


def initiator(persona):
    def run():
        since = len(Said.now())
        sock = handshake.connected()
        offered = limits_of(persona, **dict.fromkeys(persona.proposes, True))
        private = (offered.packed() if persona.revision == 2 else b"") + persona.private
        sock.sendall(mpa.request(flags=flags_of(persona), revision=persona.revision, private=private))
        answer = handshake.receive_frame(sock)
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
        sock.shutdown(socket.SHUT_WR)
        stream.ends()
        Said.within(PROMPT, since, "server DISCONNECT EVENT")
        for complaint in ("bogus data", "completion failed"):
            check(complaint not in Said.now()[since:], f"the server said {Said.text[since:]!r}")

    return run


# --- rping clients connect to the card ---


def whole_read(stream, region, size, msn, longest):
    """The bytes of a read, whose frames must each fit a segment, or longest if that is not 0."""
    segment = stream.sock.longest_frame() if OVER_SCTP else stream.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    most = 0
    stream.give(fpdu.read_request(region, size, (OUR_STAG, OUR_BUFFER), msn=msn))
    data = b""
    while len(data) < size:
        got = stream.expect(fpdu.READ_RESPONSE)
        check((got.stag, got.offset) == (OUR_STAG, OUR_BUFFER + len(data)), f"answer {got}")
        check(got.on_wire <= (longest or segment), f"a frame of {got.on_wire} bytes, segments are of {segment}")
        most = max(most, got.on_wire)
        data += got.payload
        check(got.last == (len(data) >= size), f"the last segment comes after {len(data)} bytes")
    check(not longest or most > segment, f"no frame is longer than {most} bytes, segments are of {segment}")
    return data


def told(stream):
    """Where a buffer of the client's is."""
    address, stag, size = struct.unpack(">QII", stream.expect(fpdu.SEND, START).payload)
    check(size == PING_SIZE, f"a buffer of {size} bytes")
    return stag, address


def serve(stream, read_msn, longest):
    """What an rping server does, for one ping."""
    data = whole_read(stream, told(stream), PING_SIZE, read_msn, longest)
    stream.give(fpdu.send(info(), msn=stream.next_msn()))
    stag, address = told(stream)
    for at in range(0, PING_SIZE, 1000):
        stream.give(fpdu.write(stag, address + at, data[at : at + 1000], last=at + 1000 >= PING_SIZE))
    stream.give(fpdu.send(info(), msn=stream.next_msn()))


@contextlib.contextmanager
def rping_client(pings):
    with handshake.Server() as listener:
        listener.client = subprocess.Popen(
            on("A", "rping", "-c", "-a", handshake.HERE, "-p", str(handshake.OWN_PORT), "-C", str(pings), "-S", str(PING_SIZE), "-V"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        yield listener
        try:
            text = listener.client.communicate(timeout=START)[0].decode()
        except subprocess.TimeoutExpired as error:
            raise Failure(f"rping -c still runs after {START} s") from error
        check(handshake.rping_ended_well(listener.client.returncode, text), f"rping -c: status {listener.client.returncode}, {text}")


def request_comes(persona, listener):
    sock = listener.accept()
    frame = handshake.receive_frame(sock, START)
    gets(persona, frame, mpa.REQUEST_KEY)
    # A byte behind the request is a protocol error.
    stream = Stream(sock, marked=persona.markers, marks=persona.marks)
    stream.silent(LISTEN)
    return stream, frame


def reply_as(persona, stream, frame):
    """Replies, and takes the first frame. Returns how many reads the client need not see any more."""
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
    opcode = {"send": fpdu.SEND, "write": fpdu.WRITE, "read": fpdu.READ_REQUEST}[kind]
    check(first.opcode == opcode, f"the ready-to-receive frame is not by {kind} but {first}")
    if kind == "read":
        sink, sink_to, length = struct.unpack(">IQI", first.payload[:16])
        check(length == 0, f"the ready-to-receive frame reads {length} bytes")
        stream.give(fpdu.tagged(fpdu.READ_RESPONSE, sink, sink_to))
    else:
        check(not first.payload, "the ready-to-receive frame has a payload")


def responder(persona, before=None):
    """before: what the card does with requests that come first, each of them on a connection of its own."""

    def run():
        with rping_client(2) as listener:
            if before:
                before(listener)
            stream, frame = request_comes(persona, listener)
            reply_as(persona, stream, frame)
            for msn in (1, 2):
                serve(stream, msn, persona.longest)
            stream.ends(START)

    return run


def refuses_revision_2(how):
    def before(listener):
        sock = listener.accept()
        frame = handshake.receive_frame(sock, START)
        check(frame.revision == 2, f"revision {frame.revision} first")
        how(sock)

    return before


def rejects(sock):
    sock.sendall(mpa.reply(flags=mpa.REJECT | mpa.CRC, revision=1))
    handshake.expect_end(sock, PROMPT)


def no_peer_to_peer():
    """irdma refuses a request without the bit: rping learns that it was refused."""
    with counted(conn_refused_by_peer=1):
        with handshake.Server() as listener:
            listener.call()
            sock = listener.accept_request(revision=2)
            sock.sendall(mpa.reply(flags=mpa.REJECT | mpa.CRC | mpa.ENHANCED, revision=2, private=Limits(0, 0, p2p=False).packed()))
            listener.outcome(handshake.REJECTED, handshake.ECONNREFUSED, PROMPT + START)
            sock.close()


# irdma: no connection without the peer-to-peer bit, and one of WRITE and READ must be offered. It takes
# READ if both come back, ends a connection whose peer wants more reads than it may have, and always
# uses CRCs.
IRDMA = Persona(strict=True)
# cxgb4: proposes RTR by READ alone, and takes no other; 256 bytes of private data, the four of enhanced
# setup among them.
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


# T6 with a firmware that takes frames of 16 KiB, and a card that stops before.
LONG = dataclasses.replace(CXGB4, longest=16384)
LONGER = dataclasses.replace(CXGB4, longest=3000)


def known(run, entry):
    """With a device that knows how long frames to this address may be."""

    def knowing():
        with handshake.setting("fpdu_peers", entry):
            run()

    return knowing


def asked(run):
    """With a device that asks for markers."""

    def asking():
        with handshake.setting("markers", "on"):
            run()

    return asking


CASES = [
    ("be irdma: initiator", initiator(IRDMA)),
    ("be irdma: responder", responder(IRDMA)),
    ("be irdma: responder that takes WRITE", responder(dataclasses.replace(IRDMA, takes=("write",)))),
    ("be irdma: responder that misses a bit", no_peer_to_peer),
    ("be cxgb4: initiator", initiator(CXGB4)),
    ("be cxgb4: initiator, all the private data", initiator(CXGB4_FULL)),
    ("be cxgb4: responder", responder(CXGB4)),
    ("be cxgb4: responder, all the private data", responder(CXGB4_FULL)),
    ("be T6: responder that takes long frames", known(responder(LONG), f"{handshake.HERE}=16384")),
    ("be T6: responder that takes frames of two segments", known(responder(LONGER), f"{handshake.HERE}/24=3000")),
    ("be T6: responder that is not listed", known(responder(CXGB4), "10.0.0.0/31=16384 fd00::/8=large")),
    ("be qedr: initiator", initiator(QEDR)),
    ("be qedr: initiator, RTR by WRITE", initiator(dataclasses.replace(QEDR, takes=("write",)))),
    ("be qedr: responder", responder(QEDR)),
    ("be an MPA 1 card: initiator", initiator(OLD)),
    ("be an MPA 1 card: responder that resets revision 2", responder(OLD, refuses_revision_2(handshake.reset))),
    ("be an MPA 1 card: responder that closes on revision 2", responder(OLD, refuses_revision_2(socket.socket.close))),
    ("be an MPA 1 card: responder that rejects revision 2", responder(OLD, refuses_revision_2(rejects))),
    ("ask for markers: initiator", initiator(MARKED)),
    ("ask for markers: initiator, RTR by READ", initiator(MARKED_READ)),
    ("ask for markers: initiator of revision 1", initiator(MARKED_OLD)),
    ("ask for markers: responder", responder(MARKED)),
    ("ask for markers: responder, RTR by READ", responder(MARKED_READ)),
    ("send markers: initiator", asked(initiator(MARKS))),
    ("send markers: initiator, and ask for them", asked(initiator(MARKS_BOTH_WAYS))),
    ("send markers: initiator of revision 1", asked(initiator(dataclasses.replace(OLD, marks=True)))),
    ("send markers: responder", asked(responder(MARKS))),
    ("send markers: responder, and ask for them", asked(responder(MARKS_BOTH_WAYS))),
    ("ask for markers: responder of revision 1", responder(MARKED_OLD, refuses_revision_2(handshake.reset))),
]


def main():
    return ring.run_with_rping("personas.py", [*CASES, ("ordinary rping afterwards", handshake.ordinary_rping)]) != 0


if __name__ == "__main__":
    sys.exit(main())
