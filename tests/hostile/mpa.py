# SPDX-License-Identifier: GPL-2.0
"""MPA frames and FPDUs, written out by hand so that they can be wrong (RFC 5044, 6581)."""

import struct

REQUEST_KEY = b"MPA ID Req Frame"
REPLY_KEY = b"MPA ID Rep Frame"
HEADER_LEN = 20

MARKERS = 0x80
CRC = 0x40
REJECT = 0x20
ENHANCED = 0x10
EXTEND = 0x04
EXTENDED = 0x02
RESERVED = 0x0F


def frame(key, flags=CRC, revision=1, private=b"", private_len=None):
    """A Request or Reply; private_len overrides the truth."""
    length = len(private) if private_len is None else private_len
    return key + struct.pack(">BBH", flags, revision, length) + private


def request(**fields):
    return frame(REQUEST_KEY, **fields)


def reply(**fields):
    return frame(REPLY_KEY, **fields)


def rd_limits(ird, ord_):
    """The four bytes of enhanced setup, without peer-to-peer."""
    return struct.pack(">HH", ird, ord_)


class Parsed:
    """A frame as received."""

    def __init__(self, data):
        self.key = data[:16]
        self.flags, self.revision, length = struct.unpack(">BBH", data[16:20])
        self.private = data[20 : 20 + length]


def _crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def fpdu(ulpdu):
    """Length, ULPDU, padding, CRC (least significant byte first)."""
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    body += bytes(-len(body) % 4)
    return body + struct.pack("<I", crc32c(body))


MARKER_EVERY = 512


def marked_len(length, at):
    """How long that many bytes of an FPDU are with their markers, if they lie there in the stream."""
    end = at
    for _ in range(0, length, 4):
        end += 8 if end % MARKER_EVERY == 0 else 4
    return end - at


def unmarked(data, at):
    """An FPDU that lies there in the stream, without its markers, each of which must point to it."""
    plain, field = b"", at + (4 if at % MARKER_EVERY == 0 else 0)
    for here in range(at, at + len(data), 4):
        word = data[here - at : here - at + 4]
        if here % MARKER_EVERY:
            plain += word
            continue
        pointer = 0 if here < field else here - field
        if word != struct.pack(">HH", 0, pointer):
            raise ValueError(f"the marker at {here} is {word.hex()}, not one with {pointer}")
    return plain


def marked(frames, at, point=None, covered=True):
    """FPDUs, back to back, with the markers that they need there in the stream.

    point(where, pointer) is what a marker is to say instead, all of it; covered: their CRCs cover them.
    """
    out = b""
    while frames:
        length = (2 + struct.unpack(">H", frames[:2])[0] + 3) // 4 * 4 + 4
        begin, body = at + len(out), b""
        field = begin + (4 if begin % MARKER_EVERY == 0 else 0)
        for word in range(0, length, 4):
            here = begin + len(body)
            if here % MARKER_EVERY == 0:
                pointer = 0 if here < field else here - field
                body += struct.pack(">I", point(here, pointer) if point else pointer)
            body += frames[word : word + 4]
        if covered:
            body = body[:-4] + struct.pack("<I", crc32c(body[:-4]))
        out += body
        frames = frames[length:]
    return out


def send_message(msn, payload):
    """An untagged DDP segment, the last of a SEND, on queue 0."""
    ddp, rdmap = 0x41, 0x43
    return struct.pack(">BBIIII", ddp, rdmap, 0, 0, msn, 0) + payload


def rdmap_opcode(received):
    """The RDMAP opcode of the FPDU that the bytes begin with."""
    return received[3] & 0x0F


READ_REQUEST = 1
SEND = 3
TERMINATE = 7
