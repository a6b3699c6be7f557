# SPDX-License-Identifier: GPL-2.0
"""Holds wire/ to bytes that are written out from the RFCs and docs/wire.md. CRCs were computed bit by bit from the polynomial."""
import struct
import unittest

from crc32c import crc32c

from wire import Malformed, ddp, mpa, path, sctp

REQUEST, REPLY = "4d504120494420526571204672616d65", "4d504120494420526570204672616d65"
# A Write of six bytes, and the FPDU that it is.
WRITE = "c140 01020304 05060708090a0b0c aabbccddeeff"
FPDU = f"0014 {WRITE} 0000 3d0a2028"


class Case(unittest.TestCase):
    def same(self, rows):
        """Each is made of these bytes."""
        for made, expected in rows:
            self.assertEqual(made.hex(), expected.replace(" ", ""))

    def refuses(self, take_apart, *wrong):
        for data in wrong:
            self.assertRaises(Malformed, take_apart, data)


class Mpa(Case):
    def test_crc32c(self):
        """RFC 3720, B.4, and that of four zeros."""
        for data, crc in ((b"\0" * 32, 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E),
                          (b"123456789", 0xE3069283), (bytes(4), 0x48674BC7)):
            self.assertEqual(crc32c(data), crc)

    def test_frames(self):
        """RFC 5044, 7.1.1: the key, flags M, C, R, and S of RFC 6581, revision, length, private data."""
        self.same(((mpa.request(), REQUEST + "40 01 0000"),
                   (mpa.reply(flags=mpa.MARKERS | mpa.REJECT, revision=2, private=b"abc"), REPLY + "a0 02 0003 616263"),
                   (mpa.request(flags=mpa.ENHANCED, revision=3, private=b"a", private_len=65535), REQUEST + "10 03 ffff 61"),
                   (mpa.request(flags=mpa.EXTEND | mpa.PATHS), REQUEST + "05 01 0000"),
                   (mpa.reply(flags=mpa.EXTENDED), REPLY + "02 01 0000")))
        self.assertEqual((mpa.REQUEST_KEY, mpa.REPLY_KEY, mpa.RESERVED), (b"MPA ID Req Frame", b"MPA ID Rep Frame", 15))
        got = mpa.Parsed(bytes.fromhex(REPLY + "c0 02 0103") + bytes(range(256)) * 2)
        self.assertEqual((got.key, got.flags, got.revision, got.end), (b"MPA ID Rep Frame", mpa.MARKERS | mpa.CRC, 2, 279))
        self.assertEqual(got.private, bytes(range(256)) + b"\0\1\2")

    def test_enhanced_setup(self):
        """RFC 6581, 9: A, B and IRD; C, D and ORD."""
        for limits, words in ((mpa.Limits(1, 2), "8001 0002"), (mpa.Limits(0x3FFF, 0, send=True), "ffff 0000"),
                              (mpa.Limits(0, 0x3FFF, p2p=False, write=True), "0000 bfff"), (mpa.Limits(3, 4, read=True), "8003 4004")):
            self.same(((limits.packed(), words),))
            for behind in b"", b"private":
                self.assertEqual(mpa.Limits.parsed(bytes.fromhex(words) + behind), limits)
        self.same(((mpa.rd_limits(0x8004, 0x4003), "80044003"), (mpa.rd_limits(mpa.P2P | mpa.BY_SEND, mpa.BY_WRITE | mpa.BY_READ), "c000c000")))
        self.refuses(mpa.Limits.parsed, b"", bytes(3))

    def test_fpdus(self):
        """RFC 5044, 4.1: the length of the ULPDU, that, padding to a multiple of four, and the CRC, least significant byte first."""
        ulpdu = bytes.fromhex(WRITE)
        self.same(((mpa.fpdu(b""), "0000 0000 c74b6748"),
                   (mpa.fpdu(b"ABCDE"), "0005 4142434445 00 25138cd5"),
                   (mpa.fpdu(ulpdu), FPDU),
                   (mpa.fpdu(ulpdu, crc=1), FPDU[:-8] + "01000000"),
                   (mpa.framed(b"", ulpdu), "00000000c74b6748" + FPDU),
                   (mpa.promised(65535, b"ab"), "ffff 6162"),
                   (mpa.promised(0x1234, b"ab"), "1234 6162")))
        self.assertEqual([mpa.fpdu_len(n) for n in (0, 1, 2, 3, 6, 7, 65535)], [8, 8, 8, 12, 12, 16, 65544])

    def test_fpdus_taken_apart(self):
        data = b"before" + bytes.fromhex(FPDU) + b"behind"
        got = mpa.Fpdu(data, 6)
        self.assertEqual((got.raw.hex(), got.ulpdu.hex(), got.padding), (FPDU.replace(" ", ""), WRITE.replace(" ", ""), b"\0\0"))
        self.assertEqual((list(got.faults()), list(got.marker_faults())), ([], []))
        # As far as its bytes tell: where its length ends, and then where it ends itself.
        self.assertEqual([mpa.end_of(data[:end], 6) for end in (6, 7, 8, 30)], [8, 8, 34, 34])
        self.assertEqual((mpa.end_of(b"\0\6"), mpa.Fpdu(data[6:]).raw), (12, got.raw))
        wrong = bytes.fromhex(FPDU.replace("0000 3d0a2028", "0001 3d0a2029"))
        self.assertEqual(list(mpa.Fpdu(wrong).faults(crc=False)), ["padding is not zero"])
        self.assertRegex(list(mpa.Fpdu(wrong).faults())[1], "CRC 29200a3d, computed ")

    def test_markers(self):
        """RFC 5044, 4.3: every 512 bytes, the first in front of the first FPDU, each says how far behind the length field it lies."""
        for place, expected, markers in (
            (0, f"00000000 0014 {WRITE} 0000 ba21125b", [0]),
            (4, FPDU, []),
            (500, "0014c140 01020304 05060708 0000000c 090a0b0c aabbccdd eeff0000 5dda1ec3", [12]),
            (508, "0014c140 00000004 01020304 05060708 090a0b0c aabbccdd eeff0000 9b2fa5fd", [4]),
            (1024, f"00000000 0014 {WRITE} 0000 ba21125b", [0]),
        ):
            self.same(((mpa.marked(bytes.fromhex(FPDU), place), expected),))
            data = bytes.fromhex("abcd" + expected)
            got = mpa.Fpdu(data, 2, place)
            self.assertEqual((got.ulpdu.hex(), got.padding, got.raw), (WRITE.replace(" ", ""), b"\0\0", data[2:]))
            self.assertEqual(list(got.marker_faults()), [(at, "") for at in markers])
            self.assertEqual(list(got.faults()), [])
            self.assertEqual(mpa.end_of(data, 2, place), len(data))
            for at in markers:
                for bit in range(32):
                    wrong = bytearray(data)
                    wrong[2 + at + bit // 8] ^= 1 << bit % 8
                    self.assertTrue([fault for _, fault in mpa.Fpdu(bytes(wrong), 2, place).marker_faults()][0], bit)
        # Two, the second of which has a marker that says something else, and whose CRC does not cover it.
        two = mpa.marked(bytes.fromhex(FPDU) * 2, 484, lambda where, pointer: where << 16 | pointer | 1, covered=False)
        self.same(((two, FPDU + "02000001" + FPDU),))
        # Of a length field that lies behind a marker.
        self.assertEqual([mpa.end_of(two[28:28 + n], 0, 512) for n in (0, 5, 6)], [6, 6, 32])
        # Several in one.
        for place, markers in ((0, {0: "00000000", 512: "000001fc", 1024: "000003fc"}),
                               (100, {412: "0000019c", 924: "0000039c", 1436: "0000059c"})):
            long = mpa.marked(mpa.fpdu(bytes(1500)), place)
            self.assertEqual({at: long[at:at + 4].hex() for at in markers}, markers)
            self.assertEqual(([at for at, fault in mpa.Fpdu(long, 0, place).marker_faults() if not fault], len(long)), (list(markers), 1520))


class Ddp(Case):
    def test_tagged(self):
        """RFC 5041, 4.2; RFC 5040, 4.1: T, L, DV; RV, opcode; STag, tagged offset."""
        self.same(((ddp.write(0x01020304, 0x05060708090A0B0C, bytes.fromhex("aabbccddeeff")), WRITE),
                   (ddp.write(1, 2, b"3", last=False, ddp_version=2, rdmap_version=3), "82c0 00000001 0000000000000002 33"),
                   (ddp.tagged(ddp.READ_RESPONSE, 1, 2**64 - 1), "c142 00000001 ffffffffffffffff")))
        got = ddp.Segment(bytes.fromhex(WRITE))
        self.assertEqual((got.tagged, got.last, got.opcode, got.stag, got.offset), (True, True, ddp.WRITE, 0x01020304, 0x05060708090A0B0C))
        self.assertEqual((got.payload.hex(), got.faults), ("aabbccddeeff", []))
        self.refuses(ddp.Segment, b"", bytes.fromhex(WRITE)[:13])

    def test_untagged(self):
        """RFC 5041, 4.3: a word of RDMAP's, queue, number, offset."""
        self.same(((ddp.send(b"hi"), "4143 00000000 00000000 00000001 00000000 6869"),
                   (ddp.send(b"hi", msn=2, mo=3, queue=4, last=False), "0143 00000000 00000004 00000002 00000003 6869"),
                   (ddp.untagged(ddp.SEND_SE_INV, inv_stag=0x11223344, ddp_version=2), "4246 11223344 00000000 00000001 00000000"),
                   (ddp.untagged(ddp.SEND_IMM, b"x"), "414c 00000000 00000000 00000001 00000000 78"),
                   (ddp.immediate(), "4148 00000000 00000000 00000001 00000000 0000000000000000"),
                   (ddp.immediate(b"12345678", ddp.IMM_SE), "4149 00000000 00000000 00000001 00000000 3132333435363738")))
        got = ddp.Segment(bytes.fromhex("0145 00000009 00000001 00000002 00000003 78"))
        self.assertEqual((got.tagged, got.last, got.opcode, got.queue, got.msn, got.mo), (False, False, ddp.SEND_SE, 1, 2, 3))
        self.assertEqual((got.payload, got.faults), (b"x", []))
        self.refuses(ddp.Segment, bytes.fromhex("4143") + bytes(15))

    def test_control_fields(self):
        for control, said in (("8040", "DDP version 0"), ("8340", "DDP version 3"), ("8100", "RDMAP version 0"), ("81c0", "RDMAP version 3"),
                              ("a140", "reserved bits in DDP control 0xa1"), ("8540", "reserved bits in DDP control 0x85"),
                              ("8160", "reserved bits in RDMAP control 0x60"), ("8150", "reserved bits in RDMAP control 0x50")):
            self.assertEqual(ddp.Segment(bytes.fromhex(control) + bytes(12)).faults, [said])

    def test_requests(self):
        """RFC 5040, 4.4: sink, size, source. RFC 7306, 5: operation, request, STag, offset, data, mask, compare, its mask."""
        self.same(((ddp.read_request((0x11, 0x22), 0x33, (0x44, 0x55), msn=2),
                    "4141 00000000 00000001 00000002 00000000 00000044 0000000000000055 00000033 00000011 0000000000000022"),
                   (ddp.read_request((1, 2), 3),
                    "4141 00000000 00000001 00000001 00000000 00000007 0000000000000000 00000003 00000001 0000000000000002"),
                   (ddp.atomic((1, 2), ddp.CMP_SWAP, 3, 4, 5, 6, 7),
                    "414a 00000000 00000001 00000001 00000000 00000002 00000007 00000001 0000000000000002"
                    "0000000000000003 0000000000000004 0000000000000005 0000000000000006"),
                   (ddp.atomic((1, 2)), "414a 00000000 00000001 00000001 00000000 00000000 00000007 00000001 0000000000000002"
                                        "0000000000000001 0000000000000000 0000000000000000 0000000000000000"),
                   (ddp.atomic_response(1), "414b 00000000 00000003 00000001 00000000 00000001 0000000000000000"),
                   (ddp.atomic_response(1, 2), "414b 00000000 00000003 00000001 00000000 00000001 0000000000000002")))

    def test_names(self):
        self.assertEqual((ddp.NAMES[ddp.READ_RESPONSE], ddp.NAMES[ddp.TERMINATE], ddp.NAMES[ddp.ATOMIC_RESPONSE], ddp.NAMES[ddp.SEND_SE_IMM]),
                         ("read response", "terminate", "atomic response", "send se imm"))

    def test_terminates(self):
        """RFC 5040, 4.8: layer, type, code, M, D, R; the length and the headers of the segment that is refused."""
        head = "4147 00000000 00000002 00000001 00000000"
        self.same(((ddp.terminate(*ddp.BAD_MARKER), head + "20030000"),
                   (ddp.terminate(*ddp.READ_WRAP, control=0xE0, rest=b"\0\x2eAB"), head + "0104e000 002e4142")))
        for payload, expected in (("1204c000 00144142", ((1, 2, 4), True, True, False, 20, b"AB")),
                                  ("0109e000 01004142", ((0, 1, 9), True, True, True, 256, b"AB")),
                                  ("02061f00", ((0, 2, 6), False, False, False, None, b"")),
                                  ("20024000 4142", ((2, 0, 2), False, True, False, None, b"AB"))):
            got = ddp.Terminate(ddp.Segment(bytes.fromhex(head + payload)))
            self.assertEqual((got.reason, got.has_length, got.has_ddp, got.has_rdmap, got.length, got.shown), expected)
        for wrong in (ddp.terminate(0, 0, 0, queue=0), ddp.terminate(0, 0, 0, msn=2), ddp.terminate(0, 0, 0, mo=4),
                      ddp.terminate(0, 0, 0, last=False), ddp.write(0, 0)):
            self.refuses(ddp.Terminate, ddp.Segment(wrong))

    def test_reasons(self):
        """RFC 5040, 4.8; RFC 5041, 7; RFC 5044, 8: those of RDMAP, DDP and MPA."""
        self.assertEqual((ddp.READ_STAG, ddp.READ_BOUNDS, ddp.NO_RIGHT, ddp.READ_PD, ddp.READ_WRAP, ddp.CANNOT_INVALIDATE),
                         ((0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 1, 3), (0, 1, 4), (0, 1, 9)))
        self.assertEqual((ddp.LOCAL, ddp.RDMAP_VERSION, ddp.OPCODE, ddp.CATASTROPHIC), ((0, 0, 0), (0, 2, 5), (0, 2, 6), (0, 2, 7)))
        self.assertEqual((ddp.DDP_LOCAL, ddp.STAG, ddp.BOUNDS, ddp.OTHER_PD, ddp.WRAP, ddp.TAGGED_VERSION),
                         ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 1, 2), (1, 1, 3), (1, 1, 4)))
        self.assertEqual((ddp.QUEUE, ddp.NO_BUFFER, ddp.MSN, ddp.OFFSET, ddp.TOO_LONG, ddp.UNTAGGED_VERSION),
                         ((1, 2, 1), (1, 2, 2), (1, 2, 3), (1, 2, 4), (1, 2, 5), (1, 2, 6)))
        self.assertEqual((ddp.BAD_CRC, ddp.BAD_MARKER), ((2, 0, 2), (2, 0, 3)))


class Sctp(Case):
    # RFC 5043 and 6581: session control messages, and the frame of MPA that says the same, in flags and revision.
    CONTROLS = (
        ("0001 616263", mpa.REQUEST_KEY, 0x40, 1), ("0002", mpa.REPLY_KEY, 0x40, 1), ("0003 6e6f", mpa.REPLY_KEY, 0x60, 1),
        ("0005 00010002", mpa.REQUEST_KEY, 0x50, 2), ("0006 00010002", mpa.REPLY_KEY, 0x50, 2), ("0007 00010002", mpa.REPLY_KEY, 0x70, 2),
        ("8005 00010002", mpa.REQUEST_KEY, 0x54, 2), ("8006 00010002", mpa.REPLY_KEY, 0x52, 2),
    )

    def test_messages(self):
        self.same(((sctp.numbered(0xFFFE, b"x"), "fffe78"), (sctp.numbered(sctp.TERMINATE), "0004")))
        self.assertEqual(sctp.split(b"\x80\x05ab"), (0x8005, b"ab"))
        self.refuses(sctp.split, b"", b"\0")
        self.assertEqual((sctp.ADAPTATION, sctp.SEGMENT, sctp.CONTROL), (1, 16, 17))

    def test_controls(self):
        for control, key, flags, revision in self.CONTROLS:
            frame = mpa.frame(key, flags, revision, bytes.fromhex(control)[2:])
            self.assertEqual(sctp.frame_of(bytes.fromhex(control)), frame)
            self.same(((sctp.control_of(frame), control),))
        self.same(((sctp.control_of(mpa.request(flags=mpa.EXTENDED)), "0001"), (sctp.control_of(mpa.reply(flags=mpa.EXTEND)), "0002")))
        self.refuses(sctp.frame_of, b"", b"\0", b"\0\4", b"\0\0", b"\0\x08", b"\x80\x08")


class Path(Case):
    def test_frames(self):
        self.same(((path.frame(path.SEGMENT, 0x102, 0x304, b"abcd"), "0010 01 000000 00000102 00000304 61626364 0000 5982d0fb"),
                   (path.frame(path.ANSWER, crc=1), "000c 0a 000000 00000000 00000000 0000 01000000")))
        got = path.Frame(bytes.fromhex("08 010203 00000004 00000005 6162"))
        self.assertEqual((got.kind, got.reserved, got.ssn, got.ack, got.body), (path.JOIN, b"\1\2\3", 4, 5, b"ab"))
        self.assertEqual((path.SEGMENT, path.END, path.ACK, path.ADDRESSES, path.JOIN, path.CHALLENGE, path.ANSWER), (1, 2, 3, 7, 8, 9, 10))
        self.assertEqual((path.Frame(bytes(12)).body, path.Frame(bytes(15994)).body, path.WINDOW), (b"", bytes(15982), 4096))
        self.refuses(path.Frame, bytes(11), bytes(15995))

    def test_addresses(self):
        key, homes = b"the key of paths", ("00000000000000000000ffff0a090002", "fe800000000000000000000000000001")
        body = path.told(key, 0x1234, "10.9.0.2", "fe80::1", paths=3)
        self.same(((body, key.hex() + "1234 03 02" + "".join(homes)), (path.told(key, 1, num=9), key.hex() + "0001 02 09")))
        got = path.Told(body)
        self.assertEqual((got.key, got.port, got.paths, [home.hex() for home in got.homes]), (key, 0x1234, 3, list(homes)))
        for number in 1, 8:
            self.assertEqual(len(path.Told(path.told(key, 1, *["::"] * number)).homes), number)
        self.refuses(path.Told, b"", body[:19], body[:-1], body + b"\0", path.told(key, 1), path.told(key, 1, "::", num=2),
                     path.told(key, 1, *["::"] * 9))

    def test_siphash(self):
        """The first and others of the vectors of its authors."""
        key = struct.unpack("<QQ", bytes(range(16)))
        for length, vector in (0, 0x726FDB47DD0E0E31), (8, 0x93F5F5799A932462), (15, 0xA129CA6149BE45E5):
            self.assertEqual(path.siphash(key, bytes(range(length))), vector)

    def test_proof(self):
        """The same numbers as in kunit/paths_stranger_test.c."""
        for role, expected in (1, "75d8a32477a64902"), (0, "81c2d4969f51436e"):
            self.same(((path.proof(bytes(range(16)), role, 3, path.mapped("10.9.0.2"), b"\x11" * 8, b"\x22" * 8), expected),))
