# SPDX-License-Identifier: GPL-2.0
"""DDP segments and RDMAP messages, written out by hand so that they can be wrong (RFC 5040, 5041)."""

import struct

import mpa

WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE = range(8)
IMM, IMM_SE, ATOMIC_REQUEST, ATOMIC_RESPONSE, SEND_IMM, SEND_SE_IMM = range(8, 14)

TAGGED, LAST = 0x80, 0x40
TAGGED_LEN, UNTAGGED_LEN, READ_REQUEST_LEN = 14, 18, 28
QN_SEND, QN_READ, QN_TERMINATE, QN_ATOMIC_RESPONSE = range(4)
QUEUES = {
    READ_REQUEST: QN_READ,
    TERMINATE: QN_TERMINATE,
    ATOMIC_REQUEST: QN_READ,
    ATOMIC_RESPONSE: QN_ATOMIC_RESPONSE,
}


def first_bytes(flags, last, opcode, ddp_version, rdmap_version):
    return bytes([flags | (LAST if last else 0) | ddp_version, rdmap_version << 6 | opcode])


def tagged(opcode, stag, offset, payload=b"", last=True, ddp_version=1, rdmap_version=1):
    """The ULPDU of a tagged segment."""
    return (
        first_bytes(TAGGED, last, opcode, ddp_version, rdmap_version)
        + struct.pack(">IQ", stag, offset)
        + payload
    )


def untagged(
    opcode, payload=b"", msn=1, mo=0, queue=None, last=True, inv_stag=0, ddp_version=1, rdmap_version=1
):
    """The ULPDU of an untagged segment; queue None means the opcode's own."""
    queue = QUEUES.get(opcode, QN_SEND) if queue is None else queue
    return (
        first_bytes(0, last, opcode, ddp_version, rdmap_version)
        + struct.pack(">IIII", inv_stag, queue, msn, mo)
        + payload
    )


def write(stag, offset, payload=b"", **fields):
    return tagged(WRITE, stag, offset, payload, **fields)


def send(payload=b"", **fields):
    return untagged(SEND, payload, **fields)


def read_request(source, size, sink=(7, 0), **fields):
    """source and sink: STag and tagged offset."""
    return untagged(READ_REQUEST, struct.pack(">IQIIQ", *sink, size, *source), **fields)


def immediate(data=bytes(8), opcode=IMM, **fields):
    return untagged(opcode, data, **fields)


FETCH_ADD, SWAP, CMP_SWAP = range(3)


def atomic(target, operation=FETCH_ADD, data=1, mask=0, compare=0, compare_mask=0, number=7, **fields):
    """target: STag and tagged offset."""
    body = struct.pack(">IIIQQQQQ", operation, number, *target, data, mask, compare, compare_mask)
    return untagged(ATOMIC_REQUEST, body, **fields)


def atomic_response(number, value=0, **fields):
    return untagged(ATOMIC_RESPONSE, struct.pack(">IQ", number, value), **fields)


def terminate(layer, etype, code, control=0, rest=b"", **fields):
    return untagged(TERMINATE, bytes([layer << 4 | etype, code, control, 0]) + rest, **fields)


def framed(*ulpdus):
    """FPDUs, back to back."""
    return b"".join(mpa.fpdu(ulpdu) for ulpdu in ulpdus)


def promised(length, ulpdu):
    """The start of an FPDU whose length field says more than follows."""
    return struct.pack(">H", length) + ulpdu


class Malformed(Exception):
    """What Weft itself sent is wrong."""


class Segment:
    """An FPDU as received, whose CRC is checked unless none are in use.

    marked_at is where in the stream it began, if it has markers.
    """

    def __init__(self, raw, crc=True, marked_at=None):
        self.on_wire = len(raw)
        if crc and struct.unpack("<I", raw[-4:])[0] != mpa.crc32c(raw[:-4]):
            raise Malformed(f"bad CRC in {raw.hex()}")
        if marked_at is not None:
            try:
                raw = mpa.unmarked(raw, marked_at)
            except ValueError as error:
                raise Malformed(str(error)) from error
        length = struct.unpack(">H", raw[:2])[0]
        self.ulpdu = raw[2 : 2 + length]
        first, second = self.ulpdu[:2]
        self.tagged, self.last = bool(first & TAGGED), bool(first & LAST)
        if first & 3 != 1 or second >> 6 != 1:
            raise Malformed(f"wrong version in {raw.hex()}")
        self.opcode = second & 0x0F
        if self.tagged:
            self.stag, self.offset = struct.unpack(">IQ", self.ulpdu[2:TAGGED_LEN])
            self.payload = self.ulpdu[TAGGED_LEN:]
        else:
            self.queue, self.msn, self.mo = struct.unpack(">III", self.ulpdu[6:UNTAGGED_LEN])
            self.payload = self.ulpdu[UNTAGGED_LEN:]

    def __repr__(self):
        return f"opcode {self.opcode}: {self.ulpdu.hex()}"


def frame_len(ulpdu_len):
    return (2 + ulpdu_len + 3) // 4 * 4 + 4


class Terminate:
    """The payload of a Terminate, taken apart (RFC 5040, 4.8)."""

    def __init__(self, segment):
        if segment.tagged or segment.queue != QN_TERMINATE or not segment.last or segment.mo:
            raise Malformed(f"a Terminate in an odd segment, {segment}")
        if segment.msn != 1:
            raise Malformed(f"a Terminate with MSN {segment.msn}")
        payload = segment.payload
        self.reason = (payload[0] >> 4, payload[0] & 0x0F, payload[1])
        self.has_length, self.has_ddp, self.has_rdmap = (bool(payload[2] & bit) for bit in (0x80, 0x40, 0x20))
        at = 4
        self.length = None
        if self.has_length:
            self.length = struct.unpack(">H", payload[4:6])[0]
            at = 6
        self.shown = payload[at:]
