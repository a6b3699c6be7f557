# SPDX-License-Identifier: GPL-2.0
"""MPA: the frames of its handshake, and FPDUs with their CRCs and markers (RFC 5044, 6581)."""
import dataclasses
import struct

from crc32c import crc32c

from wire import Malformed

REQUEST_KEY, REPLY_KEY = b"MPA ID Req Frame", b"MPA ID Rep Frame"
HEADER_LEN = 20
# Flags of a frame. The last three, which RFC 5044 reserves, are Weft's (docs/wire.md).
MARKERS, CRC, REJECT, ENHANCED = 0x80, 0x40, 0x20, 0x10
RESERVED, EXTEND, EXTENDED, PATHS = 0x0F, 0x04, 0x02, 0x01
# Where markers lie in a stream, and how long they are.
EVERY, MARKER_LEN = 512, 4


def frame(key, flags=CRC, revision=1, private=b"", private_len=None):
    """A Request or Reply; private_len overrides the truth."""
    return key + struct.pack(">BBH", flags, revision, len(private) if private_len is None else private_len) + private


def request(**fields):
    return frame(REQUEST_KEY, **fields)


def reply(**fields):
    return frame(REPLY_KEY, **fields)


class Parsed:
    """A Request or Reply as received."""

    def __init__(self, data):
        self.key = data[:16]
        self.flags, self.revision, length = struct.unpack(">BBH", data[16:HEADER_LEN])
        self.end = HEADER_LEN + length
        self.private = data[HEADER_LEN:self.end]


# Flags in the two words of enhanced setup (RFC 6581, 9): in the first, peer to peer and RTR by SEND; in
# the second, RTR by WRITE and by READ.
P2P, BY_SEND, BY_WRITE, BY_READ = 0x8000, 0x4000, 0x8000, 0x4000
NUMBER = 0x3FFF


def rd_limits(ird, ord_):
    """The four bytes of enhanced setup; the words may have flags in them."""
    return struct.pack(">HH", ird, ord_)


@dataclasses.dataclass
class Limits:
    """The four bytes of enhanced setup, taken apart."""

    ird: int
    ord: int
    p2p: bool = True
    send: bool = False
    write: bool = False
    read: bool = False

    def packed(self):
        return rd_limits(self.ird | P2P * self.p2p | BY_SEND * self.send, self.ord | BY_WRITE * self.write | BY_READ * self.read)

    @classmethod
    def parsed(cls, data):
        if len(data) < 4:
            raise Malformed(f"no IRD and ORD in {data.hex()}")
        first, second = struct.unpack(">HH", data[:4])
        return cls(first & NUMBER, second & NUMBER, *(bool(word & flag) for word, flag in (
            (first, P2P), (first, BY_SEND), (second, BY_WRITE), (second, BY_READ))))


def fpdu(ulpdu, crc=None):
    """Length, ULPDU, padding, CRC (least significant byte first), which crc overrides."""
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    body += bytes(-len(body) % 4)
    return body + struct.pack("<I", crc32c(body) if crc is None else crc)


def framed(*ulpdus):
    """FPDUs, back to back."""
    return b"".join(fpdu(ulpdu) for ulpdu in ulpdus)


def promised(length, ulpdu):
    """The start of an FPDU whose length field says more than follows."""
    return struct.pack(">H", length) + ulpdu


def fpdu_len(ulpdu_len):
    return (2 + ulpdu_len + 3) // 4 * 4 + 4


def marked(frames, at=0, point=None, covered=True):
    """FPDUs, back to back, with the markers that they need there in the stream.
    point(where, pointer) returns the number that a marker has instead, all 32 bits of it; covered: the CRCs cover the markers."""
    out = b""
    while frames:
        length = fpdu_len(struct.unpack(">H", frames[:2])[0])
        begin, body = at + len(out), b""
        field = begin + (MARKER_LEN if begin % EVERY == 0 else 0)
        for word in range(0, length, 4):
            here = begin + len(body)
            if here % EVERY == 0:
                pointer = 0 if here < field else here - field
                body += struct.pack(">I", point(here, pointer) if point else pointer)
            body += frames[word:word + 4]
        if covered:
            body = body[:-4] + struct.pack("<I", crc32c(body[:-4]))
        out += body
        frames = frames[length:]
    return out


def _plain(data, at, place, wanted):
    """That many bytes of an FPDU from its first on, without markers; where they end; and where those markers are.
    A marker in front of the FPDU belongs to it. place: that of the first byte in the stream; None: there are no markers."""
    if place is None:
        return data[at:at + wanted], at + wanted, []
    pieces, markers, end = [], [], at
    while wanted:
        if (place + end - at) % EVERY == 0:
            markers.append(end)
            end += MARKER_LEN
        piece = min(wanted, EVERY - (place + end - at) % EVERY)
        pieces.append(data[end:end + piece])
        end += piece
        wanted -= piece
    return b"".join(pieces), end, markers


def end_of(data, at=0, place=None):
    """Where the FPDU that begins there ends, which may be behind the bytes. Of one whose length has not come, where that ends."""
    length, end, _ = _plain(data, at, place, 2)
    return end if end > len(data) else _plain(data, at, place, fpdu_len(int.from_bytes(length, "big")))[1]


class Fpdu:
    """The FPDU that begins there, and is whole. place: that of its first byte in a stream with markers; None: it has none."""

    def __init__(self, data, at=0, place=None):
        length = int.from_bytes(_plain(data, at, place, 2)[0], "big")
        plain, end, markers = _plain(data, at, place, fpdu_len(length))
        self.raw = data[at:end]
        self.ulpdu, self.padding = plain[2:2 + length], plain[2 + length:-4]
        self.markers = [marker - at for marker in markers]

    def marker_faults(self):
        """Yields each marker's place behind the FPDU's first byte, and its fault or nothing: it must point to the length field."""
        field = MARKER_LEN if 0 in self.markers else 0
        for at in self.markers:
            reserved, pointer = struct.unpack_from(">HH", self.raw, at)
            right = (reserved, pointer) == (0, max(at - field, 0))
            yield at, "" if right else f"a marker with {reserved:#x}, {pointer}, {at - field} bytes behind its FPDU's length field"

    def faults(self, crc=True):
        """Yields those of padding and CRC. crc: are there CRCs?"""
        if self.padding.strip(b"\0"):
            yield "padding is not zero"
        sent = int.from_bytes(self.raw[-4:], "little")
        if crc and sent != (computed := crc32c(self.raw[:-4])):
            yield f"CRC {sent:08x}, computed {computed:08x}"
