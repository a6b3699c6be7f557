# SPDX-License-Identifier: GPL-2.0
"""Judges DDP over SCTP (RFC 5043) in a capture that was made without segmentation offload and with checksums: CRCs, adaptation
indications, user messages (one DATA chunk each, unordered, on stream 0, numbered by their DDP-SSN from 0), session control
messages, and DDP segments in the order of their numbers."""
import socket
import struct
from collections import Counter, defaultdict

from crc32c import crc32c

from packets import ip_payload, read_pcap
from segments import Segments
from wire import Malformed
from wire.sctp import (ACCEPT, ADAPTATION, CONTROL, ENHANCED_ACCEPT, ENHANCED_INITIATE, ENHANCED_REJECT, EXTEND, INITIATE,
                       REJECT, SEGMENT, TERMINATE, split)

DATA, INIT, INIT_ACK = 0, 1, 2
UNORDERED_AND_WHOLE = 7  # a DATA chunk's flags
INDICATION = 0xC006  # the type of a parameter that is an adaptation indication


class Direction:
    """What one end of an association has sent: its messages by TSN, and the parameter of its INIT or INIT-ACK."""

    def __init__(self):
        self.initiator = None
        self.first = None  # the TSN of the first DATA chunk
        self.adaptation = None
        self.chunks = {}  # TSN, from 0, to (flags, stream, payload protocol identifier, bytes)
        self.retransmitted = 0

    def begin(self, kind, chunk):
        (self.first,) = struct.unpack_from(">I", chunk, 16)
        self.initiator = kind == INIT
        for parameter in parts_of(chunk, 20):
            if struct.unpack_from(">H", parameter) == (INDICATION,):
                (self.adaptation,) = struct.unpack_from(">I", parameter, 4)

    def add(self, chunk):
        """Returns what is wrong with a DATA chunk beside those before it, or None."""
        if self.first is None:
            return "a message in an association whose beginning was not captured"
        flags, _, tsn, stream, _, ppid = struct.unpack_from(">BHIHHI", chunk, 1)
        at = tsn - self.first & 0xFFFFFFFF
        message = (flags & 7, stream, ppid, chunk[16:])
        if self.chunks.setdefault(at, message) is not message:
            self.retransmitted += 1
            if self.chunks[at] != message:
                return f"TSN {tsn} has come with other bytes before"
        return None


def parts_of(data, at):
    """The chunks of a packet, or the parameters of a chunk, from there on. Both say in their third and fourth byte how long
    they are, and the next one begins at a multiple of four."""
    while at < len(data):
        length = int.from_bytes(data[at + 2:at + 4], "big")
        if length < 4:
            raise ValueError(f"a chunk or a parameter of {length} bytes")
        yield data[at:at + length]
        at += length + 3 & ~3


def read_associations(path, errors):
    """The directions of a capture by (source, destination)."""
    directions = defaultdict(Direction)
    for frame, length in read_pcap(path):
        found = ip_payload(frame, length, socket.IPPROTO_SCTP)
        if found is None:
            continue
        source, destination, packet = found
        ports = struct.unpack_from(">HH", packet)
        (crc,) = struct.unpack_from("<I", packet, 8)
        computed = crc32c(packet[:8] + bytes(4) + packet[12:])
        if crc != computed:
            errors.append(f"port {ports[0]} to {ports[1]}: CRC {crc:08x} of a packet, computed {computed:08x}")
        direction = directions[(source, ports[0]), (destination, ports[1])]
        for chunk in parts_of(packet, 12):
            kind = chunk[0]
            if kind in (INIT, INIT_ACK):
                direction.begin(kind, chunk)
            elif kind == DATA:
                wrong = direction.add(chunk)
                if wrong:
                    errors.append(f"port {ports[0]} to {ports[1]}: {wrong}")
    return directions


class Judge:
    """Checks the messages of one end in the order of their TSNs, which is the one they were sent in."""

    def __init__(self, name, direction):
        self.name = name
        self.direction = direction
        self.errors = []
        self.control = []  # session control messages: place, function code, private data
        self.bodies = []  # segments: place, bytes

    def error(self, place, what):
        self.errors.append(f"{self.name}: message {place}: {what}")

    def collect(self):
        if self.direction.adaptation != ADAPTATION:
            self.error(0, f"adaptation indication {self.direction.adaptation} instead of {ADAPTATION}")
        terminated = False
        for place, (at, (flags, stream, ppid, message)) in enumerate(sorted(self.direction.chunks.items())):
            if at != place:
                self.error(place, "it is missing")
                return
            if flags != UNORDERED_AND_WHOLE:
                self.error(place, f"flags {flags}: not whole, or not unordered")
            if stream:
                self.error(place, f"on stream {stream}")
            if terminated:
                self.error(place, "behind Terminate")
            try:
                number, body = split(message)
                if number != place & 0xFFFF:
                    self.error(place, f"DDP-SSN {number:04x}")
                if ppid == SEGMENT:
                    self.bodies.append((place, body))
                elif ppid == CONTROL:
                    code, private = split(body)
                    self.control.append((place, code, private))
                    terminated = code == TERMINATE
                else:
                    self.error(place, f"payload protocol identifier {ppid}, {len(message)} bytes")
            except Malformed as error:
                self.error(place, str(error))

    def check_session(self, first):
        """The control messages: one of `first`, which begins, and then nothing but Terminate."""
        if not self.control or self.control[0][0] or self.control[0][1] not in first:
            self.error(0, f"it begins with none of {', '.join(f'{code:#x}' for code in first)}")
            return None
        for place, code, _ in self.control[1:]:
            if code != TERMINATE:
                self.error(place, f"function code {code:#x} within a session")
        _, code, private = self.control[0]
        if code & ~EXTEND >= ENHANCED_INITIATE and len(private) < 4:
            self.error(0, f"function code {code:#x} without IRD and ORD")
        return code


def judge(path):
    """Checks every association of a capture that has DDP; returns (errors, counts, segments)."""
    errors, counts, bodies = [], Counter(), []
    directions = read_associations(path, errors)
    for (source, destination), direction in list(directions.items()):
        if not direction.initiator:
            continue
        if directions[destination, source].first is None:
            counts["associations refused"] += 1
            continue
        pair = []
        for name, ends in ("initiator", (source, destination)), ("responder", (destination, source)):
            pair.append(Judge(f"{name} of port {source[1]}", directions[ends]))
            pair[-1].collect()
            counts["retransmitted"] += directions[ends].retransmitted
        asked = pair[0].check_session((INITIATE, ENHANCED_INITIATE, ENHANCED_INITIATE | EXTEND))
        enhanced = asked is not None and asked & ~EXTEND == ENHANCED_INITIATE
        answers = (ENHANCED_ACCEPT, ENHANCED_REJECT) if enhanced else (ACCEPT, REJECT)
        if asked is not None and asked & EXTEND:
            answers += (ENHANCED_ACCEPT | EXTEND,)
        answer = pair[1].check_session(answers)
        extended = answer == ENHANCED_ACCEPT | EXTEND
        counts["connections refused" if answer in (REJECT, ENHANCED_REJECT) else "connections"] += 1
        counts["extended"] += extended
        for end in pair:
            segments = Segments(end.error, extended)
            segments.check_all(end.bodies)
            counts += segments.counts
            errors += end.errors
            bodies += [body for _, body in end.bodies]
            counts["Terminates"] += sum(code == TERMINATE for _, code, _ in end.control)
    counts["segments"] = len(bodies)
    return errors, counts, bodies
