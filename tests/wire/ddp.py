# SPDX-License-Identifier: GPL-2.0
"""DDP segments and RDMAP messages (RFC 5040, 5041, 7306), and the reasons of a Terminate."""
import struct

from wire import Malformed

WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE = range(8)
# The opcodes from here on need the agreement of both ends, and the last two are Weft's own.
IMM, IMM_SE, ATOMIC_REQUEST, ATOMIC_RESPONSE, SEND_IMM, SEND_SE_IMM = range(8, 14)
NAMES = ("write", "read request", "read response", "send", "send inv", "send se", "send se inv", "terminate", "immediate",
         "immediate se", "atomic request", "atomic response", "send imm", "send se imm")

TAGGED, LAST = 0x80, 0x40
TAGGED_LEN, UNTAGGED_LEN, READ_REQUEST_LEN = 14, 18, 28
QN_SEND, QN_READ, QN_TERMINATE, QN_ATOMIC_RESPONSE = range(4)
# Queues other than QN_SEND, and payloads of a fixed size.
QUEUES = {READ_REQUEST: QN_READ, TERMINATE: QN_TERMINATE, ATOMIC_REQUEST: QN_READ, ATOMIC_RESPONSE: QN_ATOMIC_RESPONSE}
SIZES = {READ_REQUEST: READ_REQUEST_LEN, IMM: 8, IMM_SE: 8, ATOMIC_REQUEST: 52, ATOMIC_RESPONSE: 12}
FETCH_ADD, SWAP, CMP_SWAP = range(3)


def _controls(flags, last, opcode, ddp_version, rdmap_version):
    return bytes([flags | (LAST if last else 0) | ddp_version, rdmap_version << 6 | opcode])


def tagged(opcode, stag, offset, payload=b"", last=True, ddp_version=1, rdmap_version=1):
    """The ULPDU of a tagged segment."""
    return _controls(TAGGED, last, opcode, ddp_version, rdmap_version) + struct.pack(">IQ", stag, offset) + payload


def untagged(opcode, payload=b"", msn=1, mo=0, queue=None, last=True, inv_stag=0, ddp_version=1, rdmap_version=1):
    """The ULPDU of an untagged segment; queue None means the opcode's own."""
    queue = QUEUES.get(opcode, QN_SEND) if queue is None else queue
    return _controls(0, last, opcode, ddp_version, rdmap_version) + struct.pack(">IIII", inv_stag, queue, msn, mo) + payload


def write(stag, offset, payload=b"", **fields):
    return tagged(WRITE, stag, offset, payload, **fields)


def send(payload=b"", **fields):
    return untagged(SEND, payload, **fields)


def read_request(source, size, sink=(7, 0), **fields):
    """source and sink: STag and tagged offset."""
    return untagged(READ_REQUEST, struct.pack(">IQIIQ", *sink, size, *source), **fields)


def immediate(data=bytes(8), opcode=IMM, **fields):
    return untagged(opcode, data, **fields)


def atomic(target, operation=FETCH_ADD, data=1, mask=0, compare=0, compare_mask=0, number=7, **fields):
    """target: STag and tagged offset."""
    body = struct.pack(">IIIQQQQQ", operation, number, *target, data, mask, compare, compare_mask)
    return untagged(ATOMIC_REQUEST, body, **fields)


def atomic_response(number, value=0, **fields):
    return untagged(ATOMIC_RESPONSE, struct.pack(">IQ", number, value), **fields)


def terminate(layer, etype, code, control=0, rest=b"", **fields):
    return untagged(TERMINATE, bytes([layer << 4 | etype, code, control, 0]) + rest, **fields)


class Segment:
    """A segment taken apart; faults: those of the control fields."""

    def __init__(self, ulpdu):
        self.ulpdu = ulpdu
        self.tagged = bool(ulpdu[:1] and ulpdu[0] & TAGGED)
        header = TAGGED_LEN if self.tagged else UNTAGGED_LEN
        if len(ulpdu) < header:
            raise Malformed(f"a segment of {len(ulpdu)} bytes is less than a DDP header")
        control, rdmap = ulpdu[:2]
        self.last, self.opcode = bool(control & LAST), rdmap & 0x0F
        if self.tagged:
            self.stag, self.offset = struct.unpack(">IQ", ulpdu[2:header])
        else:
            self.queue, self.msn, self.mo = struct.unpack(">III", ulpdu[6:header])
        self.payload = ulpdu[header:]
        self.faults = [fault for wrong, fault in (
            (control & 0x3C, f"reserved bits in DDP control {control:#04x}"), (control & 3 != 1, f"DDP version {control & 3}"),
            (rdmap >> 6 != 1, f"RDMAP version {rdmap >> 6}"), (rdmap & 0x30, f"reserved bits in RDMAP control {rdmap:#04x}")) if wrong]

    def __repr__(self):
        return f"opcode {self.opcode}: {self.ulpdu.hex()}"


class Terminate:
    """The payload of a Terminate, taken apart (RFC 5040, 4.8)."""

    def __init__(self, segment):
        if segment.tagged or segment.queue != QN_TERMINATE or not segment.last or segment.mo or segment.msn != 1:
            raise Malformed(f"a Terminate in an odd segment, {segment}")
        payload = segment.payload
        self.reason = (payload[0] >> 4, payload[0] & 0x0F, payload[1])
        self.has_length, self.has_ddp, self.has_rdmap = (bool(payload[2] & bit) for bit in (0x80, 0x40, 0x20))
        self.length = int.from_bytes(payload[4:6], "big") if self.has_length else None
        self.shown = payload[6 if self.has_length else 4:]


# Reasons: layer, error type, error code.
RDMAP, DDP, MPA = range(3)
LOCAL = (RDMAP, 0, 0)
READ_STAG, READ_BOUNDS, NO_RIGHT, READ_PD, READ_WRAP = ((RDMAP, 1, code) for code in range(5))
CANNOT_INVALIDATE = (RDMAP, 1, 9)
RDMAP_VERSION, OPCODE, CATASTROPHIC = ((RDMAP, 2, code) for code in range(5, 8))
DDP_LOCAL = (DDP, 0, 0)
STAG, BOUNDS, OTHER_PD, WRAP, TAGGED_VERSION = ((DDP, 1, code) for code in range(5))
QUEUE, NO_BUFFER, MSN, OFFSET, TOO_LONG, UNTAGGED_VERSION = ((DDP, 2, code) for code in range(1, 7))
BAD_CRC, BAD_MARKER = (MPA, 0, 2), (MPA, 0, 3)
