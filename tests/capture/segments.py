# SPDX-License-Identifier: GPL-2.0
"""Judges DDP segments in the order they were sent, whatever has carried them."""
from collections import Counter

from wire import Malformed, ddp


class Segments:
    """Checks the headers of one direction's segments. `error` is called with a place and what is wrong there."""

    def __init__(self, error, extended):
        self.error = error
        self.opcodes = len(ddp.NAMES) if extended else ddp.IMM
        self.counts = Counter()
        self.messages = Counter()  # last whole message's number of each untagged queue
        self.offsets = Counter()  # bytes so far of the message under way there

    def check_all(self, segments):
        """Checks segments with their places, until one cannot be looked at."""
        for at, segment in segments:
            if not self.check(segment, at):
                break

    def check(self, ulpdu, at):
        """Whether it could be looked at: is behind what is wrong with it still something to judge?"""
        try:
            segment = ddp.Segment(ulpdu)
        except Malformed as error:
            self.error(at, str(error))
            return False
        for fault in segment.faults:
            self.error(at, fault)
        opcode, payload = segment.opcode, segment.payload
        if opcode >= self.opcodes:
            self.error(at, f"RDMAP opcode {opcode}")
            return False
        name = ddp.NAMES[opcode]
        if len(payload) != ddp.SIZES.get(opcode, len(payload)):
            self.error(at, f"{name} of {len(payload)} bytes")
        if opcode in (ddp.IMM, ddp.IMM_SE) and payload[4:].strip(b"\0"):
            self.error(at, "immediate data beyond four bytes")
        if opcode == ddp.ATOMIC_REQUEST and int.from_bytes(payload[:4], "big") > ddp.CMP_SWAP:
            self.error(at, "an atomic operation that there is not")
        if segment.tagged != (opcode in (ddp.WRITE, ddp.READ_RESPONSE)):
            self.error(at, f"{name} with tagged = {segment.tagged}")
        elif not segment.tagged:
            self.check_untagged(segment, at, name)
        self.counts[name] += 1
        return True

    def check_untagged(self, segment, at, name):
        queue, number, offset = segment.queue, segment.msn, segment.mo
        if queue != ddp.QUEUES.get(segment.opcode, ddp.QN_SEND):
            self.error(at, f"{name} on queue {queue}")
        if number != self.messages[queue] + 1:
            self.error(at, f"message {number} on queue {queue} follows {self.messages[queue]}")
        if offset != self.offsets[queue]:
            self.error(at, f"offset {offset} in a message of which {self.offsets[queue]} bytes came before")
        self.offsets[queue] = 0 if segment.last else offset + len(segment.payload)
        if segment.last:
            self.messages[queue] = number
