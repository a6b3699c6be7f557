# SPDX-License-Identifier: GPL-2.0
"""Judges queue pairs of two Weft ends with several paths (docs/wire.md) in a capture: a first connection whose handshake
agrees on paths, and those that join it by proofs of its key; their frames; that each segment's number is there, with the
same bytes wherever it was sent; and the DDP segments in the order of their numbers."""
from collections import Counter

from segments import Segments
from streams import agreed, handshake, read_streams
from wire import Malformed, mpa
from wire.path import ACK, ADDRESSES, ANSWER, CHALLENGE, END, JOIN, NUMBER, SEGMENT, Frame, Told, mapped, proof


class Line:
    """One direction of one path."""

    def __init__(self, name, data, start, cut):
        self.name = name
        self.data = data
        self.at = start
        self.cut = cut  # bytes are missing behind its last one
        self.errors = []
        self.acked = 0

    def error(self, what):
        self.errors.append(f"{self.name}: stream offset {self.at}: {what}")

    def frames(self, crc):
        """Yields them as far as they are whole and right."""
        while (end := mpa.end_of(self.data, self.at)) <= len(self.data):
            fpdu = mpa.Fpdu(self.data, self.at)
            try:
                frame = Frame(fpdu.ulpdu)
            except Malformed as error:
                self.error(str(error))
                return
            for fault in fpdu.faults(crc):
                self.error(fault)
            if frame.reserved.strip(b"\0"):
                self.error(f"bytes 1 to 3 are {frame.reserved.hex()}, not zero")
            if frame.ack - self.acked & 0x80000000:
                self.error(f"ack {frame.ack} behind {self.acked}")
            self.acked = frame.ack
            yield frame
            self.at = end
        self.cut = self.cut or self.at < len(self.data)


class Direction:
    """What one end of a queue pair has sent, on all paths."""

    def __init__(self, name):
        self.name = name
        self.errors = []
        self.segments = {}  # by number
        self.end = None
        self.addresses = None
        self.counts = Counter()
        self.acked = 0
        self.cut = 0  # paths that ended within a frame

    def error(self, place, what):
        self.errors.append(f"{self.name}: segment {place}: {what}")

    def take(self, line, crc, first=()):
        """All frames of a path. `first`: of what types, and with which bytes behind the header, its first ones must be."""
        for number, frame in enumerate(line.frames(crc)):
            kind, ssn, body = frame.kind, frame.ssn, frame.body
            self.acked = max(self.acked, frame.ack)
            if number < len(first):
                if (kind, body) != first[number]:
                    line.error(f"type {kind} at the beginning of a path that joins, or a wrong proof")
                    break
            elif kind == SEGMENT:
                if self.segments.setdefault(ssn, body) != body:
                    line.error(f"segment {ssn} was sent with other bytes before")
                self.counts["segments sent"] += 1
            elif kind == END and not body:
                if self.end not in (None, ssn):
                    line.error(f"end {ssn} after end {self.end}")
                self.end = ssn
            elif kind == ADDRESSES and self.addresses is None:
                try:
                    self.addresses = Told(body)
                except Malformed as error:
                    line.error(f"type {kind}: {error}")
            elif kind != ACK or body:
                line.error(f"type {kind} with {len(body)} bytes")
        self.errors += line.errors
        self.cut += line.cut

    @property
    def whole(self):
        """How many segments there are if none is missing."""
        return max(self.segments, default=-1) + 1

    def check(self):
        missing = next((number for number in range(self.whole) if number not in self.segments), None)
        if missing is not None:
            self.error(missing, "it is missing")
            return
        if self.end not in (None, self.whole):
            self.error(self.end, f"the end, but there are {self.whole}")
        segments = Segments(self.error, extended=True)
        segments.check_all(sorted(self.segments.items()))
        self.counts += segments.counts
        self.counts["sent again"] += self.counts["segments sent"] - self.whole


class Join:
    """A connection that begins with a join: both lines, and what was said before it was a path."""

    def __init__(self, ends, there, here):
        (_, self.source), (address, self.port) = ends
        self.address = mapped(address)
        self.there, self.here = there, here
        asks, answers = first_frame(*there), first_frame(*here)
        self.number, self.nonce = asks.ssn, asks.body
        self.kind, self.back_number = answers and answers.kind, answers and answers.ssn
        said = answers.body if answers else b""
        self.challenge, self.proof = said[:NUMBER], said[NUMBER:]
        # If not, its initiator went away before, or was refused.
        self.challenged = (self.kind, len(said)) == (CHALLENGE, 2 * NUMBER)
        self.taken = False

    def proof_of(self, key, responder):
        return proof(key, responder, self.number, self.address, self.nonce, self.challenge)

    def is_of(self, told):
        """Whether the responder that told this has made the challenge."""
        return self.challenged and self.port == told.port and self.proof == self.proof_of(told.key, 1)


def first_frame(data, cut):
    """The frame at the beginning, if there is one. Its CRC is judged with the others'."""
    return next(Line("", data, 0, cut).frames(crc=None), None)


def judge(path):
    """Checks every queue pair of a capture that agreed on paths; returns (errors, counts, segments)."""
    errors, counts, bodies = [], Counter(), []
    found = {}  # of both directions, also if one said nothing
    for ends, stream in read_streams(path).items():
        data, _ = stream.assemble()
        found[ends] = data, stream.gap is not None
    joins = [Join(ends, there, found[ends[::-1]]) for ends, there in found.items()
             if (first := first_frame(*there)) and (first.kind, len(first.body)) == (JOIN, NUMBER)]
    for (source, destination), (data, cut) in found.items():
        request = handshake(data, mpa.REQUEST_KEY)
        back, back_cut = found[destination, source]
        reply = handshake(back, mpa.REPLY_KEY)
        if request is None or reply is None:
            continue
        if not agreed(request, reply, mpa.PATHS):
            counts["connections without paths"] += 1
            continue
        counts.update(("connections", "extended", "paths"))
        crc = bool((request.flags | reply.flags) & mpa.CRC)
        name = f"of port {source[1]}"
        ends = Direction(f"initiator {name}"), Direction(f"responder {name}")
        ends[1].take(Line(f"responder {name}", back, reply.end, back_cut), crc)
        ends[0].take(Line(f"initiator {name}", data, request.end, cut), crc)
        if ends[0].addresses is not None:
            errors.append(f"initiator {name}: it tells addresses")
        told = ends[1].addresses
        if told is None:
            errors.append(f"responder {name}: it told no addresses")
        else:
            for join in (join for join in joins if join.is_of(told)):
                counts["paths"] += 1
                join.taken = True
                from_port = f"of a path from port {join.source}"
                if join.number != join.back_number:
                    errors.append(f"responder {from_port}: path {join.number} is answered as {join.back_number}")
                if join.address not in told.homes:
                    errors.append(f"initiator {from_port}: it goes to {join.address.hex()}, which was not told")
                answer = join.proof_of(told.key, 0)
                ends[0].take(Line(f"initiator {from_port}", join.there[0], 0, join.there[1]), crc,
                             ((JOIN, join.nonce), (ANSWER, answer)))
                ends[1].take(Line(f"responder {from_port}", join.here[0], 0, join.here[1]), crc,
                             ((CHALLENGE, join.challenge + join.proof),))
        for mine, other in (ends, ends[::-1]):
            mine.check()
            # The end is taken like a segment.
            if other.acked > mine.whole + (mine.end is not None):
                other.error(other.acked, "acknowledged, but never sent")
            bodies += [mine.segments[number] for number in sorted(mine.segments)]
        for end in ends:
            errors += end.errors
            counts += end.counts
            counts["paths cut"] += end.cut
    for join in joins:
        if join.challenged and not join.taken:
            errors.append(f"port {join.port}: a challenge whose proof is of no key")
        if not join.challenged and join.kind is not None:
            errors.append(f"port {join.port}: type {join.kind} answers a join")
    counts["segments"] = len(bodies)
    return errors, counts, bodies
