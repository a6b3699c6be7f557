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

Of DDP over SCTP (association.py) and of queue pairs with several paths (paths.py) it checks what carries
the segments, and the segments in the order they were sent.

Prints counts and exits with status 1 if anything is wrong.
"""
import argparse
import sys
from collections import Counter

import association
import paths
from packets import USER0, write_pcap
from segments import Segments
from streams import agreed, handshake, read_streams
from wire import ddp, mpa

# How far the end of a window that cut a buffer shows: what Weft handed over in the same call, a chunk of 128 KiB at
# most, and the rest of the segment that this ends in.
MAX_SHIFT = 131072 + 1500
# How many errors the program prints.
SHOWN = 10


class Judge:
    """Checks the FPDUs of one direction."""

    def __init__(self, name, stream, crc, extended, marked):
        self.name = name
        self.marked = marked
        self.segments = Segments(self.error, extended)
        self.stream = stream
        self.crc = crc
        self.errors = []
        self.fpdus = []  # (offset, length, is last of its message)
        self.counts = self.segments.counts

    def error(self, offset, what):
        self.errors.append(f"{self.name}: stream offset {offset}: {what}")

    def run(self, data, start, borders, mode):
        at = start
        while (end := mpa.end_of(data, at, place := at - start if self.marked else None)) <= len(data):
            if not self.check_fpdu(mpa.Fpdu(data, at, place), at):
                return
            at = end
        if at != len(data):
            self.error(at, f"{len(data) - at} bytes at the end are no whole FPDU")
        self.check_borders([border for border in borders if border[0] >= start], mode)

    def check_fpdu(self, fpdu, at):
        for marker, fault in fpdu.marker_faults():
            self.counts[f"markers of the {self.name.split()[0]}"] += 1
            if fault:
                self.error(at + marker, fault)
                return False
        if not self.segments.check(fpdu.ulpdu, at):
            return False
        for fault in fpdu.faults(self.crc):
            self.error(at, fault)
        self.fpdus.append((at, len(fpdu.raw), bool(fpdu.ulpdu[0] & ddp.LAST)))
        return True

    def check_borders(self, borders, mode):
        starts = {offset for offset, _, _ in self.fpdus}
        ends = {offset + length for offset, length, _ in self.fpdus}
        # Weft lowers the segment size to a multiple of four, since FPDUs are such.
        segment = self.stream.segment & ~3
        self.counts["packets"] += len(borders)
        cuts = set()  # where segments end, after segmentation
        split = None  # where the buffer began that a window's end has cut
        cut = None  # whether the packet before filled up a window
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
            # A buffer that a window cut goes on behind the cut, also if an FPDU happens to begin there.
            if offset in starts and not cut:
                split = None
            cut = full
            if split is not None and end - split <= MAX_SHIFT:
                loose.append(range(offset, end))
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


def judge(path, mode, wanted_crc=None):
    """Checks every iWARP connection of a capture; returns (errors, counts)."""
    streams = read_streams(path)
    errors, counts = [], Counter()
    assembled = {ends: stream.assemble() for ends, stream in streams.items()}
    for (source, destination), stream in streams.items():
        # The capture is whole, so the sender has left bytes out. Nobody can judge the bytes behind them.
        if stream.gap is not None:
            errors.append(f"port {source[1]} to {destination[1]}: stream offset {stream.gap[0]}: "
                          f"{stream.gap[1]} bytes are missing")
    for (source, destination), stream in streams.items():
        data, borders = assembled[source, destination]
        request = handshake(data, mpa.REQUEST_KEY)
        if request is None:
            continue
        back = streams[destination, source]
        back_data, back_borders = assembled[destination, source]
        reply = handshake(back_data, mpa.REPLY_KEY)
        if reply is None or reply.flags & mpa.REJECT:
            counts["connections refused"] += 1
            continue
        counts["connections"] += 1
        counts[f"MPA revision {reply.revision}"] += 1
        crc = bool((request.flags | reply.flags) & mpa.CRC)
        extended = agreed(request, reply)
        counts["extended"] += extended
        if wanted_crc is not None and crc != wanted_crc:
            errors.append(f"CRC was {'' if crc else 'not '}negotiated")
        # Each end is told by the other whether to send markers.
        for name, line, payload, edges, own, other in (("initiator", stream, data, borders, request, reply),
                                                       ("responder", back, back_data, back_borders, reply, request)):
            found = Judge(f"{name} of port {source[1]}", line, crc, extended, bool(other.flags & mpa.MARKERS))
            found.run(payload, own.end, edges, mode)
            errors += found.errors
            counts += found.counts
            counts["retransmitted"] += line.retransmitted
            if crc:
                counts["CRCs checked"] += len(found.fpdus)
    return errors, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", help="pcap file, whole packets")
    parser.add_argument("--mode", choices=("segments", "packets", "none"), default="segments")
    parser.add_argument("--over", choices=("tcp", "sctp", "paths"), default="tcp", help="what carries segments")
    parser.add_argument("--segments", metavar="FILE", help="leave the segments there, a packet each (sctp, paths)")
    parser.add_argument("--crc", choices=("yes", "no"), help="what must have been negotiated")
    parser.add_argument("--least", type=int, default=1, help="FPDUs that must be there")
    parser.add_argument("--needs", action="append", default=[], metavar="WHAT", help="one of what is counted that must be there")
    arguments = parser.parse_args()
    wanted = None if arguments.crc is None else arguments.crc == "yes"
    try:
        if arguments.over == "tcp":
            errors, counts = judge(arguments.capture, arguments.mode, wanted)
        else:
            judged = association.judge if arguments.over == "sctp" else paths.judge
            errors, counts, segments = judged(arguments.capture)
            if arguments.segments:
                # For a dissector that finds DDP at the beginning of a packet.
                write_pcap(arguments.segments, segments, USER0)
    except (OSError, ValueError) as error:
        print(f"fpdu.py: {error}", file=sys.stderr)
        return 2
    print(", ".join(f"{value} {name}" for name, value in sorted(counts.items())))
    total = sum(counts[name] for name in ddp.NAMES)
    if total < arguments.least:
        errors.append(f"only {total} FPDUs in the capture, expected at least {arguments.least}")
    errors += [f"nothing counted as {name}" for name in arguments.needs if not counts[name]]
    for error in errors[:SHOWN]:
        print(error)
    if errors[SHOWN:]:
        print(f"and {len(errors[SHOWN:])} more")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
