#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Judges the iWARP traffic in a packet capture (pcap, Ethernet), without help from tshark.

Follows each TCP stream from its MPA handshake on, checks every FPDU (length, padding, CRC32C,
markers where they were asked for, DDP and RDMAP headers) and compares FPDU boundaries with packet and
segment boundaries:

  packets:   every packet starts with an FPDU and holds whole ones; where segmentation
             offload cuts it, at multiples of the maximum segment size, FPDUs begin; and an FPDU
             that is not its message's last fills up a segment. A packet may end where the
             window did that the peer had announced, and what follows in that buffer is cut as
             it happens
  segments:  the same of a capture with segmentation offload off: packets are segments

Prints counts and exits with status 1 if anything is wrong.
"""

import argparse
import struct
import sys
from collections import Counter, defaultdict

MPA_REQUEST = b"MPA ID Req Frame"
MPA_REPLY = b"MPA ID Rep Frame"
OPCODES = ("write", "read request", "read response", "send", "send inv", "send se",
           "send se inv", "terminate", "immediate", "immediate se", "atomic request",
           "atomic response", "send imm", "send se imm")
# Untagged queue of each untagged opcode.
QUEUES = {1: 1, 3: 0, 4: 0, 5: 0, 6: 0, 7: 2, 8: 0, 9: 0, 10: 1, 11: 3, 12: 0, 13: 0}
# Opcodes from here on need the agreement of both ends, and the last two are Weft's own. Of them tshark
# knows only the atomics.
FIRST_EXTENDED = 8
# Payload of the opcodes that have one of a fixed size.
SIZES = {1: 28, 8: 8, 9: 8, 10: 52, 11: 12}
# How far the end of a window that cut a buffer shows: what Weft handed over in the same call, a
# chunk of 128 KiB at most, and the rest of the segment that this ends in.
MAX_SHIFT = 131072 + 1500
# Bits of the handshake's flags by which two ends agree on them.
OFFER, ANSWER = 0x04, 0x02
# The bit by which an end asks for markers, where they lie, and how long they are (RFC 5044, 4.3).
MARKERS = 0x80
EVERY, MARKER = 512, 4


def _crc_tables():
    first = []
    for index in range(256):
        crc = index
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        first.append(crc)
    tables = [first]
    for _ in range(7):
        tables.append([first[crc & 0xFF] ^ crc >> 8 for crc in tables[-1]])
    return tables


_TABLES = _crc_tables()


def crc32c(data):
    """CRC32C (Castagnoli) of bytes, eight at a time."""
    t0, t1, t2, t3, t4, t5, t6, t7 = _TABLES
    crc = 0xFFFFFFFF
    whole = len(data) & ~7
    for low, high in struct.iter_unpack("<II", data[:whole]):
        low ^= crc
        crc = (t7[low & 0xFF] ^ t6[low >> 8 & 0xFF] ^ t5[low >> 16 & 0xFF] ^ t4[low >> 24] ^
               t3[high & 0xFF] ^ t2[high >> 8 & 0xFF] ^ t1[high >> 16 & 0xFF] ^ t0[high >> 24])
    for byte in data[whole:]:
        crc = crc >> 8 ^ t0[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


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


def read_pcap(path):
    """Yields the packets of a classic pcap file with Ethernet frames."""
    with open(path, "rb") as file:
        data = file.read()
    magic = data[:4]
    if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        order = "<"
    elif magic in (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        order = ">"
    else:
        raise ValueError(f"{path} is not a pcap file")
    if struct.unpack(order + "I", data[20:24])[0] != 1:
        raise ValueError(f"{path} does not hold Ethernet frames")
    at = 24
    while at + 16 <= len(data):
        _, _, captured, length = struct.unpack_from(order + "IIII", data, at)
        at += 16
        yield data[at:at + captured], length
        at += captured


def parse_frame(frame, length):
    """(source, destination, TCP header's fields, payload) of a TCP packet, or None.

    The fields: sequence and acknowledgement number, flags, window, options.
    """
    kind, ip = frame[12:14], frame[14:]
    if kind == b"\x08\x00" and ip[9] == 6:
        header = (ip[0] & 15) * 4
        total = struct.unpack_from(">H", ip, 2)[0] or length - 14
        source, destination = ip[12:16], ip[16:20]
    elif kind == b"\x86\xdd" and ip[6] == 6:
        header = 40
        total = (struct.unpack_from(">H", ip, 4)[0] or length - 54) + 40
        source, destination = ip[8:24], ip[24:40]
    else:
        return None
    tcp = ip[header:total]
    if total > length - 14 or len(tcp) < total - header:
        raise ValueError("a packet was not captured whole; use tcpdump -s 0")
    source_port, destination_port, sequence, acknowledged = struct.unpack_from(">HHII", tcp)
    (window,) = struct.unpack_from(">H", tcp, 14)
    options = tcp[20:(tcp[12] >> 4) * 4]
    return ((source, source_port), (destination, destination_port), sequence, acknowledged,
            tcp[13], window, options, tcp[(tcp[12] >> 4) * 4:])


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
            if options[at] == 2 and flags & 2:
                back.mss = struct.unpack_from(">H", options, at + 2)[0]
            if options[at] == 3 and flags & 2:
                back.scale = options[at + 2]
            if options[at] == 8:
                stream.timestamps = True
            at += max(options[at + 1], 2)
        if flags & 0x12 == 0x10:
            back.edges.add(acknowledged + (window << back.scale) & 0xFFFFFFFF)
        stream.add(sequence, bool(flags & 2), payload)
    return streams


class Judge:
    """Checks the FPDUs of one direction."""

    def __init__(self, name, stream, crc, extended, marked=False):
        self.name = name
        self.marked = marked
        self.opcodes = len(OPCODES) if extended else FIRST_EXTENDED
        self.stream = stream
        self.crc = crc
        self.errors = []
        self.fpdus = []  # (offset, length, is last of its message)
        self.counts = Counter()
        self.messages = Counter()  # next message number of each untagged queue

    def error(self, offset, what):
        self.errors.append(f"{self.name}: stream offset {offset}: {what}")

    def run(self, data, start, borders, mode):
        at = start
        while at < len(data):
            head = self.plain(data, at, start, 2)
            if head is None:
                break
            (length,) = struct.unpack(">H", head[0])
            padding = -(length + 2) % 4
            whole = self.plain(data, at, start, 2 + length + padding + 4)
            if whole is None:
                break
            fpdu, end, markers = whole
            if not self.check_markers(data, at, markers):
                return
            if not self.check_fpdu(fpdu, data[at:end], at, length, padding):
                return
            at = end
        if at != len(data):
            self.error(at, f"{len(data) - at} bytes at the end are no whole FPDU")
        self.check_borders([border for border in borders if border[0] >= start], mode)

    def plain(self, data, at, start, wanted):
        """That many bytes of an FPDU without its markers, where they end, and where the markers are.

        None if the stream ends before. A marker in front of the FPDU belongs to it.
        """
        if not self.marked:
            return (data[at:at + wanted], at + wanted, ()) if at + wanted <= len(data) else None
        pieces, markers = [], []
        while wanted:
            if (at - start) % EVERY == 0:
                markers.append(at)
                at += MARKER
            piece = min(wanted, EVERY - (at - start) % EVERY)
            pieces.append(data[at:at + piece])
            at += piece
            wanted -= piece
        return (b"".join(pieces), at, markers) if at <= len(data) else None

    def check_markers(self, data, at, markers):
        """Each must say how far behind the length field of the FPDU it lies."""
        field = at + MARKER if at in markers else at
        for marker in markers:
            reserved, pointer = struct.unpack_from(">HH", data, marker)
            self.counts[f"markers of the {self.name.split()[0]}"] += 1
            if (reserved, pointer) != (0, max(marker - field, 0)):
                self.error(marker, f"a marker with {reserved:#x}, {pointer}, "
                                   f"{marker - field} bytes behind its FPDU's length field")
                return False
        return True

    def check_fpdu(self, fpdu, on_wire, at, length, padding):
        control = fpdu[2]
        tagged, last = bool(control & 0x80), bool(control & 0x40)
        header = 14 if tagged else 18
        if length < header:
            self.error(at, f"MPA length {length} is less than a DDP header")
            return False
        if control & 0x3C:
            self.error(at, f"reserved bits in DDP control {control:#04x}")
        if control & 3 != 1:
            self.error(at, f"DDP version {control & 3}")
        opcode = fpdu[3] & 15
        if fpdu[3] >> 6 != 1:
            self.error(at, f"RDMAP version {fpdu[3] >> 6}")
        if fpdu[3] & 0x30:
            self.error(at, f"reserved bits in RDMAP control {fpdu[3]:#04x}")
        if opcode >= self.opcodes:
            self.error(at, f"RDMAP opcode {opcode}")
            return False
        if length - header != SIZES.get(opcode, length - header):
            self.error(at, f"{OPCODES[opcode]} of {length - header} bytes")
        if opcode in (8, 9) and fpdu[2 + header + 4:2 + header + 8].strip(b"\0"):
            self.error(at, "immediate data beyond four bytes")
        if opcode == 10 and struct.unpack_from(">I", fpdu, 2 + header)[0] > 2:
            self.error(at, "an atomic operation that there is not")
        if tagged != (opcode in (0, 2)):
            self.error(at, f"{OPCODES[opcode]} with tagged = {tagged}")
        if not tagged:
            self.check_untagged(fpdu, at, opcode, last)
        if fpdu[2 + length:2 + length + padding].strip(b"\0"):
            self.error(at, "padding is not zero")
        if self.crc:
            (sent,) = struct.unpack_from("<I", fpdu, 2 + length + padding)
            computed = crc32c(on_wire[:-4])
            if sent != computed:
                self.error(at, f"CRC {sent:08x}, computed {computed:08x}")
        self.fpdus.append((at, len(on_wire), last))
        self.counts[OPCODES[opcode]] += 1
        return True

    def check_untagged(self, fpdu, at, opcode, last):
        queue, number, _ = struct.unpack_from(">III", fpdu, 8)
        if queue != QUEUES[opcode]:
            self.error(at, f"{OPCODES[opcode]} on queue {queue}")
        if number != self.messages[queue] + 1:
            self.error(at, f"message {number} on queue {queue} follows {self.messages[queue]}")
        if last:
            self.messages[queue] = number

    def check_borders(self, borders, mode):
        starts = {offset for offset, _, _ in self.fpdus}
        ends = {offset + length for offset, length, _ in self.fpdus}
        # Weft lowers the segment size to a multiple of four, since FPDUs are such.
        segment = self.stream.segment & ~3
        self.counts["packets"] += len(borders)
        cuts = set()  # where segments end, after segmentation
        split = None  # where the buffer began that a window's end has cut
        loose = []  # ranges of stream offsets in such buffers
        for offset, length, full in borders:
            end = offset + length
            inner = range(offset + segment, end, segment)
            cuts.update(inner)
            cuts.add(end)
            aligned = offset in starts and end in ends and starts.issuperset(inner)
            self.counts["aligned packets"] += aligned
            if mode == "none":
                continue
            if offset in starts:
                split = None
            if split is not None and end - split <= MAX_SHIFT:
                loose.append(range(offset, end + 1))
            elif offset not in starts:
                self.error(offset, "a packet does not start with an FPDU")
            elif end not in ends and full:
                self.counts["cut by a window"] += 1
                split = offset
            elif end not in ends:
                self.error(offset, f"a packet of {length} bytes ends within an FPDU")
            elif not aligned:
                self.error(offset, f"a packet of {length} bytes: segments of {segment} cut an FPDU")
            elif mode == "segments" and length > segment:
                self.error(offset, f"a packet of {length} bytes, but segments hold {segment}")
        for offset, length, last in self.fpdus:
            end = offset + length
            if mode != "none" and not last and end not in cuts and not any(end in r for r in loose):
                self.error(offset, f"an FPDU of {length} bytes ends neither message nor segment")
            self.counts["full segments"] += length == segment


def handshake(data, key):
    """(length of the MPA frame at the start, flags, revision), or None if there is none."""
    if not data.startswith(key) or len(data) < 20:
        return None
    flags, revision, private = struct.unpack_from(">BBH", data, 16)
    return 20 + private, flags, revision


def judge(path, mode, wanted_crc=None):
    """Checks every iWARP connection of a capture; returns (errors, counts)."""
    streams = read_streams(path)
    errors, counts = [], Counter()
    assembled = {ends: stream.assemble() for ends, stream in streams.items()}
    for (source, destination), stream in streams.items():
        # The capture is whole, so the sender has left bytes out. Nobody can judge the bytes behind
        # them.
        if stream.gap is not None:
            errors.append(f"port {source[1]} to {destination[1]}: stream offset {stream.gap[0]}: "
                          f"{stream.gap[1]} bytes are missing")
    for (source, destination), stream in streams.items():
        data, borders = assembled[source, destination]
        request = handshake(data, MPA_REQUEST)
        if request is None:
            continue
        back = streams[destination, source]
        back_data, back_borders = assembled[destination, source]
        reply = handshake(back_data, MPA_REPLY)
        if reply is None or reply[1] & 0x20:
            counts["connections refused"] += 1
            continue
        counts["connections"] += 1
        counts[f"MPA revision {reply[2]}"] += 1
        crc = bool((request[1] | reply[1]) & 0x40)
        extended = bool(request[1] & OFFER and reply[1] & ANSWER and not reply[1] & OFFER)
        counts["extended"] += extended
        if wanted_crc is not None and crc != wanted_crc:
            errors.append(f"CRC was {'' if crc else 'not '}negotiated")
        # Each end is told by the other whether to send markers.
        for name, line, payload, start, edges, wishes in (
                ("initiator", stream, data, request[0], borders, reply[1]),
                ("responder", back, back_data, reply[0], back_borders, request[1])):
            found = Judge(f"{name} of port {source[1]}", line, crc, extended,
                          bool(wishes & MARKERS))
            found.run(payload, start, edges, mode)
            errors += found.errors
            counts += found.counts
            counts["retransmitted"] += line.retransmitted
            if crc:
                counts["CRCs checked"] += len(found.fpdus)
    return errors, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", help="pcap file, whole packets")
    parser.add_argument("--mode", choices=("segments", "packets", "none"), default="segments")
    parser.add_argument("--crc", choices=("yes", "no"), help="what must have been negotiated")
    parser.add_argument("--least", type=int, default=1, help="FPDUs that must be there")
    parser.add_argument("--needs", action="append", default=[], metavar="WHAT",
                        help="one of what is counted that must be there")
    arguments = parser.parse_args()
    wanted = None if arguments.crc is None else arguments.crc == "yes"
    try:
        errors, counts = judge(arguments.capture, arguments.mode, wanted)
    except (OSError, ValueError) as error:
        print(f"fpdu.py: {error}", file=sys.stderr)
        return 2
    print(", ".join(f"{value} {name}" for name, value in sorted(counts.items())))
    total = sum(counts[name] for name in OPCODES)
    if total < arguments.least:
        errors.append(f"only {total} FPDUs in the capture, expected at least {arguments.least}")
    errors += [f"nothing counted as {name}" for name in arguments.needs if not counts[name]]
    for error in errors[:10]:
        print(error)
    if len(errors) > 10:
        print(f"and {len(errors) - 10} more")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
