# SPDX-License-Identifier: GPL-2.0
"""Judges queue pairs of two Weft ends with several paths (docs/wire.md) in a capture.

A first connection whose handshake agrees on paths, and those that join it by its key: the frames of each, their CRCs
and types; that each segment's number is there, and has the same bytes wherever it was sent; and the DDP segments, in
the order of their numbers.
"""

import struct
from collections import Counter

from packets import crc32c
from segments import Segments
from streams import ANSWER, MPA_REPLY, MPA_REQUEST, OFFER, handshake, read_streams

PATHS = 0x01
CRC = 0x40
SEGMENT, END, ACK, ADDRESSES, JOIN, JOINED = range(1, 7)
HEADER, KEYS, ADDRESS = 12, 20, 16
LONGEST = 16000


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
        """Yields (type, SSN, ack, what the type says), as far as they are whole and right."""
        while self.at + 2 <= len(self.data):
            (length,) = struct.unpack_from(">H", self.data, self.at)
            padded = length + 2 + 3 & ~3
            frame = self.data[self.at:self.at + padded + 4]
            if len(frame) < padded + 4:
                break
            if length < HEADER or len(frame) > LONGEST:
                self.error(f"a frame of {length} bytes")
                return
            (sent,) = struct.unpack_from("<I", frame, padded)
            if crc and sent != crc32c(frame[:padded]):
                self.error(f"CRC {sent:08x}, computed {crc32c(frame[:padded]):08x}")
            if frame[length + 2:padded].strip(b"\0"):
                self.error("padding is not zero")
            kind, reserved, ssn, ack = struct.unpack_from(">B3sII", frame, 2)
            if reserved.strip(b"\0"):
                self.error(f"bytes 1 to 3 are {reserved.hex()}, not zero")
            if ack - self.acked & 0x80000000:
                self.error(f"ack {ack} behind {self.acked}")
            self.acked = ack
            yield kind, ssn, ack, frame[2 + HEADER:2 + length]
            self.at += len(frame)
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

    def take(self, line, crc, first=None):
        """All frames of a path. `first`: of what type, and with which bytes behind the header, its first one must be."""
        for number, (kind, ssn, ack, body) in enumerate(line.frames(crc)):
            self.acked = max(self.acked, ack)
            if first and number == 0:
                if (kind, body) != first:
                    line.error(f"type {kind} at the beginning of a path that joins, or a wrong key")
                    break
            elif kind == SEGMENT:
                if self.segments.setdefault(ssn, body) != body:
                    line.error(f"segment {ssn} was sent with other bytes before")
                self.counts["segments sent"] += 1
            elif kind == END and not body:
                if self.end not in (None, ssn):
                    line.error(f"end {ssn} after end {self.end}")
                self.end = ssn
            elif kind == ADDRESSES and self.addresses is None and self.are_addresses(body):
                self.addresses = body
            elif kind != ACK or body:
                line.error(f"type {kind} with {len(body)} bytes")
        self.errors += line.errors
        self.cut += line.cut

    @staticmethod
    def are_addresses(body):
        return len(body) >= KEYS and len(body) == KEYS + ADDRESS * body[19] and 1 <= body[19] <= 8

    def check(self, extended):
        whole = max(self.segments, default=-1) + 1
        missing = next((number for number in range(whole) if number not in self.segments), None)
        if missing is not None:
            self.error(missing, "it is missing")
            return
        if self.end not in (None, whole):
            self.error(self.end, f"the end, but there are {whole}")
        segments = Segments(self.error, extended)
        for number in range(whole):
            if not segments.check(self.segments[number], number):
                break
        self.counts += segments.counts
        self.counts["sent again"] += self.counts["segments sent"] - whole


def joins_of(found):
    """The connections that begin with a join, by (server's port, key): both lines' names and bytes."""
    joins = {}
    for (source, destination), (data, cut) in found.items():
        if len(data) >= 2 + HEADER + 8 + 2 + 4 and data[2] == JOIN and data[:2] == struct.pack(">H", HEADER + 8):
            back, back_cut = found.get((destination, source), (b"", True))
            key = data[2 + HEADER:2 + HEADER + 8]
            joins.setdefault((destination[1], key), []).append((source[1], data, cut, back, back_cut))
    return joins


def judge(path):
    """Checks every queue pair of a capture that agreed on paths; returns (errors, counts, segments)."""
    errors, counts, bodies = [], Counter(), []
    found = {}
    for ends, stream in read_streams(path).items():
        data, _ = stream.assemble()
        found[ends] = data, stream.gap is not None
    joins = joins_of(found)
    for (source, destination), (data, cut) in found.items():
        request = handshake(data, MPA_REQUEST)
        back, back_cut = found.get((destination, source), (b"", True))
        reply = handshake(back, MPA_REPLY)
        if request is None or reply is None:
            continue
        wanted, granted = request[1], reply[1]
        if wanted & (OFFER | PATHS) != OFFER | PATHS or granted & (ANSWER | PATHS | OFFER) != ANSWER | PATHS:
            counts["connections without paths"] += 1
            continue
        counts["connections"] += 1
        counts["extended"] += 1
        counts["paths"] += 1
        crc = bool((wanted | granted) & CRC)
        name = f"of port {source[1]}"
        ends = Direction(f"initiator {name}"), Direction(f"responder {name}")
        ends[1].take(Line(f"responder {name}", back, reply[0], back_cut), crc)
        ends[0].take(Line(f"initiator {name}", data, request[0], cut), crc)
        if ends[0].addresses is not None:
            ends[0].error(0, "the initiator tells addresses")
        told = ends[1].addresses
        if told is None:
            ends[1].error(0, "no addresses were told")
        else:
            (port,) = struct.unpack_from(">H", told, 16)
            for number, there, there_cut, here, here_cut in joins.get((port, told[:8]), []):
                counts["paths"] += 1
                if there[6:10] != here[6:10]:
                    ends[1].error(0, f"path {there[6:10].hex()} is answered as {here[6:10].hex()}")
                ends[0].take(Line(f"initiator of a path from port {number}", there, 0, there_cut), crc, (JOIN, told[:8]))
                ends[1].take(Line(f"responder of a path from port {number}", here, 0, here_cut), crc, (JOINED, told[8:16]))
        for mine, other in (ends, ends[::-1]):
            mine.check(True)
            # The end is taken like a segment.
            if other.acked > max(mine.segments, default=-1) + 1 + (mine.end is not None):
                other.error(other.acked, "acknowledged, but never sent")
            bodies += [mine.segments[number] for number in sorted(mine.segments)]
        for end in ends:
            errors += end.errors
            counts += end.counts
            counts["paths cut"] += end.cut
    counts["segments"] = len(bodies)
    return errors, counts, bodies
