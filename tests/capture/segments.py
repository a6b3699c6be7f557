# SPDX-License-Identifier: GPL-2.0
"""Judges DDP segments in the order they were sent, whatever has carried them."""

import struct
from collections import Counter

OPCODES = ("write", "read request", "read response", "send", "send inv", "send se",
           "send se inv", "terminate", "immediate", "immediate se", "atomic request",
           "atomic response", "send imm", "send se imm")
# Queue of the untagged opcodes that are not on queue 0.
QUEUES = {1: 1, 7: 2, 10: 1, 11: 3}
# Opcodes from here on need the agreement of both ends, and the last two are Weft's own. Of them tshark
# knows only the atomics.
FIRST_EXTENDED = 8
# Payload of the opcodes that have one of a fixed size.
SIZES = {1: 28, 8: 8, 9: 8, 10: 52, 11: 12}


class Segments:
    """Checks the headers of one direction's segments. `error` is called with a place and what is wrong there."""

    def __init__(self, error, extended):
        self.error = error
        self.opcodes = len(OPCODES) if extended else FIRST_EXTENDED
        self.counts = Counter()
        self.messages = Counter()  # last whole message's number of each untagged queue
        self.offsets = Counter()  # bytes so far of the message under way there

    def check_all(self, segments):
        """Checks segments with their places, until one cannot be looked at."""
        for at, segment in segments:
            if not self.check(segment, at):
                break

    def check(self, segment, at):
        """Whether it could be looked at: is behind what is wrong with it still something to judge?"""
        length = len(segment)
        header = 14 if length and segment[0] & 0x80 else 18
        if length < header:
            self.error(at, f"a segment of {length} bytes is less than a DDP header")
            return False
        control, rdmap = segment[0], segment[1]
        tagged, last, opcode = bool(control & 0x80), bool(control & 0x40), rdmap & 15
        if control & 0x3C:
            self.error(at, f"reserved bits in DDP control {control:#04x}")
        if control & 3 != 1:
            self.error(at, f"DDP version {control & 3}")
        if rdmap >> 6 != 1:
            self.error(at, f"RDMAP version {rdmap >> 6}")
        if rdmap & 0x30:
            self.error(at, f"reserved bits in RDMAP control {rdmap:#04x}")
        if opcode >= self.opcodes:
            self.error(at, f"RDMAP opcode {opcode}")
            return False
        payload = segment[header:]
        if len(payload) != SIZES.get(opcode, len(payload)):
            self.error(at, f"{OPCODES[opcode]} of {len(payload)} bytes")
        if opcode in (8, 9) and payload[4:].strip(b"\0"):
            self.error(at, "immediate data beyond four bytes")
        if opcode == 10 and int.from_bytes(payload[:4], "big") > 2:
            self.error(at, "an atomic operation that there is not")
        if tagged != (opcode in (0, 2)):
            self.error(at, f"{OPCODES[opcode]} with tagged = {tagged}")
        elif not tagged:
            self.check_untagged(segment, at, opcode, last)
        self.counts[OPCODES[opcode]] += 1
        return True

    def check_untagged(self, segment, at, opcode, last):
        queue, number, offset = struct.unpack_from(">III", segment, 6)
        if queue != QUEUES.get(opcode, 0):
            self.error(at, f"{OPCODES[opcode]} on queue {queue}")
        if number != self.messages[queue] + 1:
            self.error(at, f"message {number} on queue {queue} follows {self.messages[queue]}")
        if offset != self.offsets[queue]:
            self.error(at, f"offset {offset} in a message of which {self.offsets[queue]} bytes came before")
        self.offsets[queue] = 0 if last else offset + len(segment) - 18
        if last:
            self.messages[queue] = number


def write_segments(path, segments):
    """Leaves segments in a capture of their own, each a packet, for a dissector that finds DDP at its beginning."""
    user0 = 147
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, user0))
        for segment in segments:
            file.write(struct.pack("<IIII", 0, 0, len(segment), len(segment)) + segment)
