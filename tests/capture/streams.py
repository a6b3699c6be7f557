# SPDX-License-Identifier: GPL-2.0
"""The TCP streams of a capture, and the handshake of MPA at their beginning."""
import socket
import struct
from collections import defaultdict

from packets import ip_payload, read_pcap
from wire import mpa

# Flags of TCP.
SYN, ACK = 0x02, 0x10


class Stream:
    """One direction of a TCP connection: payload by sequence number, and packet borders."""

    def __init__(self):
        self.mss = 536
        self.timestamps = False
        self.first = None
        self.scale = 0  # of the windows that limit this direction
        self.edges = set()  # sequence numbers where those ended
        self.packets = []  # (offset, payload, whether it fills up a window) in capture order
        self.retransmitted = 0
        self.gap = None  # where bytes are missing: what follows can't be judged

    def add(self, sequence, syn, payload):
        if syn:
            self.first = sequence + 1 & 0xFFFFFFFF
            return
        if not payload:
            return
        if self.first is None:
            self.first = sequence
        full = (sequence + len(payload) & 0xFFFFFFFF) in self.edges
        self.packets.append((sequence - self.first & 0xFFFFFFFF, payload, full))

    def assemble(self):
        """The stream's bytes, and its packets as (offset, length, fills window), as far as a gap."""
        data = bytearray()
        borders = []
        for offset, payload, full in sorted(self.packets, key=lambda packet: packet[0]):
            end = offset + len(payload)
            if offset > len(data):
                self.gap = len(data), offset - len(data)
                break
            if end <= len(data):
                self.retransmitted += 1
                continue
            borders.append((offset, len(payload), full))
            data += payload[len(data) - offset:]
        return bytes(data), borders

    @property
    def segment(self):
        """Payload bytes of a full segment."""
        return self.mss - (12 if self.timestamps else 0)


def parse_frame(frame, length):
    """(source, destination, TCP header's fields, payload) of a TCP packet, or None.
    The fields: sequence and acknowledgement number, flags, window, options."""
    found = ip_payload(frame, length, socket.IPPROTO_TCP)
    if found is None:
        return None
    source, destination, tcp = found
    source_port, destination_port, sequence, acknowledged = struct.unpack_from(">HHII", tcp)
    (window,) = struct.unpack_from(">H", tcp, 14)
    header = (tcp[12] >> 4) * 4
    return ((source, source_port), (destination, destination_port), sequence, acknowledged,
            tcp[13], window, tcp[20:header], tcp[header:])


def read_streams(path):
    """The streams of a capture by (source, destination)."""
    streams = defaultdict(Stream)
    for frame, length in read_pcap(path):
        parsed = parse_frame(frame, length)
        if parsed is None:
            continue
        source, destination, sequence, acknowledged, flags, window, options, payload = parsed
        stream, back = streams[source, destination], streams[destination, source]
        at = 0
        while at < len(options) and options[at] != 0:
            if options[at] == 1:
                at += 1
                continue
            # The limit on what we may send is what the peer announces.
            if options[at] == 2 and flags & SYN:
                back.mss = struct.unpack_from(">H", options, at + 2)[0]
            if options[at] == 3 and flags & SYN:
                back.scale = options[at + 2]
            if options[at] == 8:
                stream.timestamps = True
            at += max(options[at + 1], 2)
        if flags & (SYN | ACK) == ACK:
            back.edges.add(acknowledged + (window << back.scale) & 0xFFFFFFFF)
        stream.add(sequence, bool(flags & SYN), payload)
    return streams


def handshake(data, key):
    """The MPA frame at the start, or None if there is none."""
    return mpa.Parsed(data) if data.startswith(key) and len(data) >= mpa.HEADER_LEN else None


def agreed(request, reply, more=0):
    """Have both ends agreed on extensions, and on more flags beside theirs?"""
    offer, answer = mpa.EXTEND | more, mpa.EXTENDED | more
    return request.flags & offer == offer and reply.flags & (answer | mpa.EXTEND) == answer
