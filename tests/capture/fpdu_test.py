# SPDX-License-Identifier: GPL-2.0
"""Tests fpdu.py on captures made here: a sound one, and one for each fault it must see."""
import struct

import fpdu
from made import CLIENT, SEGMENT, SERVER, Case, Connection, judged, make_fpdu, tcp_packet
from wire import mpa

FULL = make_fpdu(b"x" * (SEGMENT - 2 - 14 - 4), last=False)


class Capture(Connection):
    """A connection with its handshake; then what the initiator sends, packet by packet."""

    def __init__(self, reply_flags=0x40, request_flags=0x40):
        super().__init__()
        self.send(mpa.request(flags=request_flags, private=b"hello")).send(mpa.reply(flags=reply_flags), SERVER)

    def let(self, size):
        """The server's window lets the client send this much more."""
        edge = self.sequence[CLIENT] + size - 65535 & 0xFFFFFFFF
        self.packets.append(tcp_packet(SERVER, CLIENT, 5000, acknowledged=edge))
        return self

    def judge(self, mode, crc=True):
        return judged(self.packets, lambda path: fpdu.judge(path, mode, crc))


class Fpdu(Case):
    def test_full_segment(self):
        self.assertEqual(len(FULL), SEGMENT)

    def test_sound_segments(self):
        capture = Capture().send(FULL).send(FULL).send(make_fpdu(b"tail"))
        capture.send(make_fpdu(b"m", opcode=3)).send(make_fpdu(b"m", opcode=3, message=2))
        errors, counts = capture.judge("segments")
        self.assertEqual(errors, [])
        self.assertEqual((counts["write"], counts["send"], counts["CRCs checked"]), (3, 2, 5))

    def test_sound_packets(self):
        train = FULL * 20 + make_fpdu(b"tail")
        errors, counts = Capture().send(train).send(FULL).send(make_fpdu(b"")).judge("packets")
        self.assertEqual(errors, [])
        self.assertEqual(counts["aligned packets"], 3)

    def test_retransmission_is_not_judged_twice(self):
        capture = Capture().send(FULL)
        capture.packets.append(capture.packets[-1])
        errors, counts = capture.send(make_fpdu(b"")).judge("segments")
        self.assertEqual(errors, [])
        self.assertEqual(counts["retransmitted"], 1)

    def test_bad_crc(self):
        self.expect(Capture().send(make_fpdu(b"abc", crc=1)), "segments", "CRC 00000001")

    def test_flipped_payload_bit(self):
        broken = bytearray(FULL)
        broken[700] ^= 4
        self.expect(Capture().send(bytes(broken)), "segments", "computed")

    def test_misaligned_segment(self):
        capture = Capture().send(FULL[:100]).send(FULL[100:])
        self.expect(capture, "segments", "ends within an FPDU")
        self.expect(capture, "packets", "does not start with an FPDU")

    def test_window_within_an_fpdu(self):
        train = FULL * 5 + make_fpdu(b"tail")
        capture = Capture().let(2000).send(train[:2000]).send(train[2000:]).send(train)
        errors, counts = capture.judge("packets")
        self.assertEqual(errors, [])
        self.assertEqual((counts["cut by a window"], counts["aligned packets"]), (1, 1))
        # A second window ends in the same buffer, by chance between two FPDUs.
        capture = Capture().let(2000).send(train[:2000]).let(2 * SEGMENT - 2000).send(train[2000:2 * SEGMENT])
        self.assertEqual(capture.send(train[2 * SEGMENT:3000]).send(train[3000:]).judge("packets")[0], [])
        # That excuses what follows until a packet starts with an FPDU, and no more than a chunk.
        capture = Capture().let(2000).send(train[:2000]).send(train[2000:]).send(train[:100])
        self.expect(capture.send(train[100:]), "packets", "a packet of 100 bytes ends within")
        train = FULL * 50
        capture = Capture().let(2000).send(train[:2000])
        for start in range(2000, 160000, 20000):
            rest = start % len(train)
            capture.send((train + train)[rest:rest + 20000])
        self.expect(capture, "packets", "does not start with an FPDU")
        capture = Capture().let(2004).send(train[:2000]).send(train[2000:40000])
        self.expect(capture, "packets", "ends within an FPDU")

    def test_how_far_a_window_shows(self):
        train = FULL * 100
        farthest = 128 * 1024 + 1500
        for beyond in 0, 1:
            capture = Capture().let(2000).send(train[:2000]).send(train[2000:50000]).send(train[50000:100000])
            errors, _ = capture.send(train[100000:farthest + beyond]).judge("packets")
            self.assertEqual(sum("does not start with an FPDU" in error for error in errors), beyond, errors)

    def test_where_borders_are_not_judged(self):
        self.assertEqual(Capture().send(FULL[:100]).send(FULL[100:] + FULL).judge("none")[0], [])

    def test_segments_of_whole_words(self):
        """Of 1001 bytes that fit behind the timestamps, Weft uses 1000."""
        frame = make_fpdu(b"x" * (1000 - 2 - 14 - 4), last=False)
        self.assertEqual(len(frame), 1000)
        capture = Capture()
        capture.packets[1] = tcp_packet(SERVER, CLIENT, 4999, syn=True, options=struct.pack(">BBH", 2, 4, 1001 + 12))
        capture.send(frame * 3).send(make_fpdu(b"tail"))
        self.assertEqual(capture.judge("packets")[0], [])

    def test_two_in_a_segment(self):
        # The end of one message, and the next one's first FPDU, which fills the rest of the segment.
        tail = make_fpdu(b"tail")
        fitted = make_fpdu(b"y" * (SEGMENT - len(tail) - 2 - 14 - 4), last=False)
        capture = Capture().send(tail + fitted).send(FULL).send(tail)
        self.assertEqual(capture.judge("segments")[0], [])
        capture = Capture().send(FULL + tail + fitted + FULL + tail)
        self.assertEqual(capture.judge("packets")[0], [])

    def test_short_fpdu_inside_a_message(self):
        short = make_fpdu(b"a", last=False) + make_fpdu(b"b")
        self.expect(Capture().send(short), "segments", "ends neither message nor segment")

    def test_cut_within_an_fpdu(self):
        self.expect(Capture().send(FULL + make_fpdu(b"short") + FULL), "packets", "segments of 1448 cut an FPDU")

    def test_fpdu_longer_than_a_segment(self):
        self.expect(Capture().send(make_fpdu(b"x" * 5000)), "packets", "segments of 1448 cut an FPDU")

    def test_packet_longer_than_a_segment(self):
        self.expect(Capture().send(FULL * 2), "segments", "but segments hold 1448")

    def test_truncated(self):
        for sent in 1, 2, 100, len(FULL) - 1:
            self.expect(Capture().send(FULL[:sent]), "segments", f"{sent} bytes at the end are no whole FPDU")

    def test_gap(self):
        capture = Capture().send(FULL)
        capture.sequence[CLIENT] += 1000
        capture.send(make_fpdu(b"behind", crc=1))
        self.expect(capture, "segments", "1000 bytes are missing")
        # Bytes that come late are not missing.
        capture = Capture().send(FULL).send(FULL).send(make_fpdu(b"tail"))
        capture.packets[-1], capture.packets[-2] = capture.packets[-2], capture.packets[-1]
        self.assertEqual(capture.judge("segments")[0], [])

    def test_headers(self):
        self.expect(Capture().send(make_fpdu(b"", control=0xC2)), "segments", "DDP version 2")
        self.expect(Capture().send(make_fpdu(b"", control=0xC5)), "segments", "reserved bits")
        self.expect(Capture().send(make_fpdu(b"", opcode=3, message=2)), "segments", "message 2 on queue 0 follows 0")
        self.expect(Capture().send(make_fpdu(b"m", opcode=3, last=False)).send(make_fpdu(b"m", opcode=3)), "segments",
                    "offset 0 in a message of which 1 bytes came before")
        capture = Capture().send(mpa.fpdu(b"\xc1\x40" + bytes(3)))
        self.expect(capture, "segments", "less than a DDP header")
        # Nothing behind that is judged.
        self.assertEqual(len(capture.send(make_fpdu(b"", crc=1)).judge("segments")[0]), 1)

    def test_rdmap_headers(self):
        for error, segment in (("RDMAP version 2", {"rdmap": 0x80}), ("reserved bits in RDMAP", {"rdmap": 0x50}),
                               ("write with tagged = False", {"control": 0x41}), ("send on queue 1", {"opcode": 3, "queue": 1})):
            self.expect(Capture().send(make_fpdu(b"", **segment)), "segments", error)

    def test_extended(self):
        frames = (make_fpdu(b"\1\2\3\4" + bytes(4), opcode=8, message=1) + make_fpdu(b"", opcode=13, message=2) +
                  make_fpdu(bytes(52), opcode=10) + make_fpdu(bytes(12), opcode=11))
        errors, counts = Capture(0x42, 0x44).send(frames).judge("segments")
        self.assertEqual(errors, [])
        self.assertEqual(counts["immediate"] + counts["atomic request"] + counts["extended"], 3)
        # Not with a peer that did not agree: no offer, no answer, an echo. Nor do the bits beside these mean it.
        for reply, request in ((0x42, 0x40), (0x40, 0x44), (0x46, 0x44), (0x42, 0x41), (0x41, 0x44)):
            self.expect(Capture(reply, request).send(frames), "segments", "RDMAP opcode 8")
        for frame, error in ((make_fpdu(bytes(4), opcode=9), "immediate se of 4 bytes"),
                             (make_fpdu(bytes(7) + b"x", opcode=8), "beyond four bytes"),
                             (make_fpdu(bytes(51), opcode=10), "atomic request of 51 bytes"),
                             (make_fpdu(b"\0\0\0\3" + bytes(48), opcode=10), "operation"),
                             (make_fpdu(bytes(12), opcode=11, message=2), "follows 0")):
            self.expect(Capture(0x42, 0x44).send(frame), "segments", error)

    def test_markers(self):
        # Markers before the first FPDU, in it, and between two.
        frames = [make_fpdu(b"x" * 800), make_fpdu(b"y" * 176), make_fpdu(b"z" * 9)]
        marked = mpa.marked(b"".join(frames))
        self.assertEqual([len(mpa.marked(b"".join(frames[:n]))) for n in (1, 2, 3)], [828, 1024, 1060])
        errors, counts = Capture(reply_flags=0xC0).send(marked).judge("segments")
        self.assertEqual(errors, [])
        self.assertEqual((counts["markers of the initiator"], counts["CRCs checked"]), (3, 3))
        # Asked for by the end that sends them, and so not to be sent; or asked for and not sent.
        self.expect(Capture(request_flags=0xC0).send(marked), "segments", "is less than")
        self.expect(Capture(reply_flags=0xC0).send(b"".join(frames)), "segments", "a marker with")

    def test_planted_markers(self):
        frame = make_fpdu(b"x" * 1300)
        for wrong, place, fields in ((lambda _, pointer: pointer + 4 if pointer == 1020 else pointer, 1049, "0x0, 1024, 1020"),
                                     (lambda _, pointer: pointer or 4, 25, "0x0, 4, -4"),
                                     (lambda _, pointer: pointer | 1, 25, "0x0, 1, -4"),
                                     (lambda _, pointer: pointer | 0x10000, 25, "0x1, 0, -4")):
            capture = Capture(reply_flags=0xC0).send(mpa.marked(frame, point=wrong))
            self.expect(capture, "segments", f"offset {place}: a marker with {fields} bytes behind its FPDU's length field")
        capture = Capture(reply_flags=0xC0).send(mpa.marked(frame, covered=False))
        self.expect(capture, "segments", "computed")
        self.expect(Capture(reply_flags=0xC0).send(mpa.marked(frame, at=4)), "segments", "a marker with")

    def test_markers_of_the_responder(self):
        frames = make_fpdu(b"", opcode=3) + make_fpdu(b"x" * 600)
        for beyond, errors_and_markers in (0, (0, 2)), (8, (1, 1)):
            capture = Capture(request_flags=0xC0)
            marked = mpa.marked(frames, point=lambda _, pointer, beyond=beyond: pointer + beyond)
            errors, counts = capture.send(marked, SERVER).judge("segments")
            self.assertEqual((len(errors), counts["markers of the responder"]), errors_and_markers, errors)

    def test_crc_as_wanted(self):
        errors, _ = Capture().judge("segments", crc=False)
        self.assertIn("CRC was negotiated", errors)

    def test_refused_connection(self):
        _, counts = Capture(reply_flags=0x60).judge("segments")
        self.assertEqual(counts["connections"], 0)
