# SPDX-License-Identifier: GPL-2.0
"""Tests association.py on captures made here: a sound one, and one for each fault it must see."""
import socket
import struct

from crc32c import crc32c

import association
from made import CLIENT, PORTS, SERVER, Case, ip_packet, judged, make_segment
from wire.sctp import ACCEPT, CONTROL, ENHANCED_ACCEPT, ENHANCED_INITIATE, EXTEND, INITIATE, REJECT, SEGMENT, TERMINATE, numbered

DEPTHS = struct.pack(">HH", 16, 16)
EXTENDED = (ENHANCED_INITIATE | EXTEND, ENHANCED_ACCEPT | EXTEND)


def chunk(kind, body=b"", flags=0):
    return struct.pack(">BBH", kind, flags, 4 + len(body)) + body


class Capture:
    """An association, with the control messages that begin it, and what both ends send."""

    def __init__(self, codes=(ENHANCED_INITIATE, ENHANCED_ACCEPT), private=DEPTHS, adaptation=1):
        self.packets = []
        self.tsn = {CLIENT: 1000, SERVER: 0xFFFFFFFE}
        self.ssn = {CLIENT: 0, SERVER: 0}
        for source, kind in (CLIENT, 1), (SERVER, 2):  # INIT and INIT ACK
            body = struct.pack(">IIHHI", 1, 65535, 10, 10, self.tsn[source])
            # A parameter of an odd length, which holds what looks like another one.
            body += struct.pack(">HHxHHIxxx", 0x8000, 13, 0xC006, 8, 99)
            if adaptation is not None:
                body += struct.pack(">HHI", 0xC006, 8, adaptation)
            self.packet(source, chunk(kind, body + struct.pack(">HH", 0xC000, 4)))
        for source, code in zip((CLIENT, SERVER), codes):
            self.control(code, private, source=source)

    def packet(self, source, chunks, crc=None):
        to = SERVER if source == CLIENT else CLIENT
        head = struct.pack(">HHI", PORTS[source], PORTS[to], 7)
        body = chunks + bytes(-len(chunks) % 4)
        computed = crc32c(head + bytes(4) + body) if crc is None else crc
        self.packets.append(ip_packet(source, to, socket.IPPROTO_SCTP, head + struct.pack("<I", computed) + body))

    def message(self, ppid, data, source=CLIENT, ssn=None, tsn=None, flags=7, stream=0, before=b"", **packet):
        """`before`: other chunks in the same packet."""
        ssn = self.ssn[source] if ssn is None else ssn
        tsn = self.tsn[source] if tsn is None else tsn
        body = struct.pack(">IHHIH", tsn & 0xFFFFFFFF, stream, 0, ppid, ssn) + data
        self.packet(source, before + chunk(0, body, flags), **packet)
        self.tsn[source] += 1
        self.ssn[source] += 1
        return self

    def control(self, code, private=b"", **message):
        return self.message(CONTROL, numbered(code, private), **message)

    def segment(self, payload=b"x" * 100, source=CLIENT, **segment):
        return self.message(SEGMENT, make_segment(payload, **segment), source=source)

    def judge(self):
        return judged(self.packets, association.judge)


class Association(Case):
    def test_sound(self):
        capture = Capture().segment(last=False).segment(b"").segment(opcode=3).segment(opcode=3, message=2)
        # The peer's numbers wrap.
        capture.segment(source=SERVER, opcode=2).segment(source=SERVER, opcode=3)
        capture.control(TERMINATE).control(TERMINATE, source=SERVER)
        errors, counts, bodies = capture.judge()
        self.assertEqual(errors, [])
        self.assertEqual((counts["write"], counts["send"], counts["read response"], counts["Terminates"]), (2, 3, 1, 2))
        self.assertEqual((counts["connections"], counts["extended"], counts["segments"], len(bodies)), (1, 0, 6, 6))

    def test_chunks_that_share_a_packet(self):
        cookie_ack = chunk(11)
        for size in (*range(8), 300):  # the last one's length takes both bytes
            before = cookie_ack + chunk(3, bytes(size)) + bytes(-size % 4)
            errors, counts, _ = Capture().message(SEGMENT, make_segment(b"x" * 20), before=before).judge()
            self.assertEqual((errors, counts["write"]), ([], 1), size)
        capture = Capture()
        capture.packet(CLIENT, bytes(4))
        with self.assertRaisesRegex(ValueError, "of 0 bytes"):
            capture.judge()

    def test_what_is_not_sctp(self):
        capture = Capture().segment()
        capture.packets.insert(0, ip_packet(CLIENT, SERVER, socket.IPPROTO_UDP, bytes(8)))
        self.assertEqual(capture.judge()[0], [])

    def test_order_of_arrival(self):
        capture = Capture().segment(opcode=3).segment(opcode=3, message=2)
        capture.packets[-2:] = capture.packets[:-3:-1] + capture.packets[-1:]
        errors, counts, _ = capture.judge()
        self.assertEqual((errors, counts["retransmitted"]), ([], 1))
        capture = Capture().segment().message(SEGMENT, make_segment(b"y"), ssn=1, tsn=1001)
        self.expect(capture, "has come with other bytes before")

    def test_extensions(self):
        errors, counts, _ = Capture(EXTENDED).segment(bytes(8), opcode=8).judge()
        self.assertEqual((errors, counts["extended"], counts["Terminates"]), ([], 1, 0))
        for codes in (ENHANCED_INITIATE | EXTEND, ENHANCED_ACCEPT), (ENHANCED_INITIATE, ENHANCED_ACCEPT):
            self.expect(Capture(codes).segment(bytes(8), opcode=8), "RDMAP opcode 8")

    def test_sessions(self):
        self.assertEqual(Capture((INITIATE, ACCEPT), b"private").segment().judge()[0], [])
        self.assertEqual(Capture((INITIATE, REJECT)).judge()[1]["connections refused"], 1)
        for codes in (ACCEPT, ACCEPT), (INITIATE, INITIATE), (INITIATE, ENHANCED_ACCEPT), (ENHANCED_INITIATE, ACCEPT), \
                (INITIATE | EXTEND, ACCEPT), (ENHANCED_INITIATE, ENHANCED_ACCEPT | EXTEND):
            self.expect(Capture(codes), "message 0: it begins with none of")
        self.assertEqual(Capture(private=b"123").judge()[0], [
            "initiator of port 40000: message 0: function code 0x5 without IRD and ORD",
            "responder of port 40000: message 0: function code 0x6 without IRD and ORD"])
        self.expect(Capture().control(ENHANCED_INITIATE, DEPTHS), "within a session")
        self.expect(Capture().control(TERMINATE).segment(), "behind Terminate")
        self.expect(Capture(codes=()).segment().segment(source=SERVER), "it begins with none of")

    def test_nobody_listens(self):
        capture = Capture(codes=())
        del capture.packets[1:]
        errors, counts, _ = capture.judge()
        self.assertEqual((errors, counts["associations refused"], counts["connections"]), ([], 1, 0))

    def test_a_beginning_that_was_not_captured(self):
        capture = Capture()
        del capture.packets[:2]
        self.expect(capture, "an association whose beginning was not captured")

    def test_messages(self):
        for adaptation in 2, None:
            self.expect(Capture(adaptation=adaptation), f"message 0: adaptation indication {adaptation} instead of 1")
        self.expect(Capture().message(SEGMENT, make_segment(b""), flags=3), "not unordered")
        self.expect(Capture().message(SEGMENT, make_segment(b""), flags=6), "not whole")
        self.expect(Capture().message(SEGMENT, make_segment(b""), stream=1), "on stream 1")
        self.expect(Capture().message(SEGMENT, make_segment(b""), ssn=2), "DDP-SSN 0002")
        for data in b"", b"\0":
            capture = Capture()
            capture.packet(CLIENT, chunk(0, struct.pack(">IHHI", 1001, 0, 0, SEGMENT) + data, flags=7))
            self.expect(capture, f"message 1: a message of {len(data)} bytes: {data.hex()}")
        self.expect(Capture().message(SEGMENT, make_segment(b""), tsn=1002), "it is missing")
        self.expect(Capture().message(18, make_segment(b"")), "payload protocol identifier 18")
        self.expect(Capture().message(SEGMENT, make_segment(b""), crc=1), "CRC 00000001 of a packet")

    def test_segments(self):
        self.expect(Capture().segment(opcode=3, message=2), "message 2 on queue 0 follows 0")
        self.expect(Capture().segment(opcode=3, offset=4), "offset 4 in a message")
        self.expect(Capture().message(SEGMENT, b"\xc1\x40"), "less than a DDP header")
