#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests association.py on captures made here: a sound one, and one for each fault it must see."""

import socket
import struct
import unittest

import association
from association import ACCEPT, CONTROL, ENHANCED_ACCEPT, ENHANCED_INITIATE, EXTEND, INITIATE, REJECT, SEGMENT, TERMINATE
from made import CLIENT, PORTS, SERVER, ip_packet, judged, make_segment
from packets import crc32c

DEPTHS = struct.pack(">HH", 16, 16)
EXTENDED = (ENHANCED_INITIATE | EXTEND, ENHANCED_ACCEPT | EXTEND)


class Capture:
    """An association, with the control messages that begin it, and what both ends send."""

    def __init__(self, codes=(ENHANCED_INITIATE, ENHANCED_ACCEPT), private=DEPTHS, adaptation=1):
        self.packets = []
        self.tsn = {CLIENT: 1000, SERVER: 0xFFFFFFFE}
        self.ssn = {CLIENT: 0, SERVER: 0}
        for source, kind in (CLIENT, association.INIT), (SERVER, association.INIT_ACK):
            body = struct.pack(">IIHHI", 1, 65535, 10, 10, self.tsn[source])
            body += struct.pack(">HHI", 0x8000, 8, 0) + struct.pack(">HHI", association.ADAPTATION, 8, adaptation)
            self.packet(source, struct.pack(">BBH", kind, 0, 4 + len(body)) + body)
        for source, code in zip((CLIENT, SERVER), codes):
            self.control(code, private, source=source)

    def packet(self, source, chunk, crc=None):
        to = SERVER if source == CLIENT else CLIENT
        head = struct.pack(">HHI", PORTS[source], PORTS[to], 7)
        body = chunk + bytes(-len(chunk) % 4)
        computed = crc32c(head + bytes(4) + body) if crc is None else crc
        self.packets.append(ip_packet(source, to, socket.IPPROTO_SCTP, head + struct.pack("<I", computed) + body))

    def message(self, ppid, data, source=CLIENT, ssn=None, tsn=None, flags=7, stream=0, **packet):
        ssn = self.ssn[source] if ssn is None else ssn
        tsn = self.tsn[source] if tsn is None else tsn
        body = struct.pack(">IHHIH", tsn & 0xFFFFFFFF, stream, 0, ppid, ssn) + data
        self.packet(source, struct.pack(">BBH", association.DATA, flags, 4 + len(body)) + body, **packet)
        self.tsn[source] += 1
        self.ssn[source] += 1
        return self

    def control(self, code, private=b"", **message):
        return self.message(CONTROL, struct.pack(">H", code) + private, **message)

    def segment(self, payload=b"x" * 100, source=CLIENT, **segment):
        return self.message(SEGMENT, make_segment(payload, **segment), source=source)

    def judge(self):
        return judged(self.packets, association.judge)


class Association(unittest.TestCase):
    def expect(self, capture, text):
        errors, _, _ = capture.judge()
        self.assertTrue(any(text in error for error in errors), errors)

    def test_sound(self):
        capture = Capture().segment(last=False).segment(b"").segment(opcode=3).segment(opcode=3, message=2)
        # The peer's numbers wrap.
        capture.segment(source=SERVER, opcode=2).segment(source=SERVER, opcode=3)
        capture.control(TERMINATE).control(TERMINATE, source=SERVER)
        errors, counts, bodies = capture.judge()
        self.assertEqual(errors, [])
        self.assertEqual((counts["write"], counts["send"], counts["read response"], counts["Terminates"]), (2, 3, 1, 2))
        self.assertEqual((counts["connections"], len(bodies)), (1, 6))

    def test_order_of_arrival(self):
        capture = Capture().segment(opcode=3).segment(opcode=3, message=2)
        capture.packets[-2:] = capture.packets[:-3:-1] + capture.packets[-1:]
        errors, counts, _ = capture.judge()
        self.assertEqual((errors, counts["retransmitted"]), ([], 1))
        capture = Capture().segment().message(SEGMENT, make_segment(b"y"), ssn=1, tsn=1001)
        self.expect(capture, "has come with other bytes before")

    def test_extensions(self):
        self.assertEqual(Capture(EXTENDED).segment(bytes(8), opcode=8).judge()[0], [])
        for codes in (ENHANCED_INITIATE | EXTEND, ENHANCED_ACCEPT), (ENHANCED_INITIATE, ENHANCED_ACCEPT):
            self.expect(Capture(codes).segment(bytes(8), opcode=8), "RDMAP opcode 8")

    def test_sessions(self):
        self.assertEqual(Capture((INITIATE, ACCEPT), b"private").segment().judge()[0], [])
        self.assertEqual(Capture((INITIATE, REJECT)).judge()[1]["connections refused"], 1)
        for codes in (ACCEPT, ACCEPT), (INITIATE, INITIATE), (INITIATE, ENHANCED_ACCEPT), (ENHANCED_INITIATE, ACCEPT), \
                (INITIATE | EXTEND, ACCEPT), (ENHANCED_INITIATE, ENHANCED_ACCEPT | EXTEND):
            self.expect(Capture(codes), "it begins with none of")
        self.expect(Capture(private=b"123"), "without IRD and ORD")
        self.expect(Capture().control(ENHANCED_INITIATE, DEPTHS), "within a session")
        self.expect(Capture().control(TERMINATE).segment(), "behind Terminate")
        self.expect(Capture(codes=()).segment().segment(source=SERVER), "it begins with none of")

    def test_nobody_listens(self):
        capture = Capture(codes=())
        del capture.packets[1:]
        errors, counts, _ = capture.judge()
        self.assertEqual((errors, counts["associations refused"], counts["connections"]), ([], 1, 0))

    def test_messages(self):
        self.expect(Capture(adaptation=2), "adaptation indication 2")
        self.expect(Capture().message(SEGMENT, make_segment(b""), flags=3), "not unordered")
        self.expect(Capture().message(SEGMENT, make_segment(b""), flags=6), "not whole")
        self.expect(Capture().message(SEGMENT, make_segment(b""), stream=1), "on stream 1")
        self.expect(Capture().message(SEGMENT, make_segment(b""), ssn=2), "DDP-SSN 0002")
        self.expect(Capture().message(SEGMENT, make_segment(b""), tsn=1002), "it is missing")
        self.expect(Capture().message(18, make_segment(b"")), "payload protocol identifier 18")
        self.expect(Capture().message(SEGMENT, make_segment(b""), crc=1), "CRC 00000001 of a packet")

    def test_segments(self):
        self.expect(Capture().segment(opcode=3, message=2), "message 2 on queue 0 follows 0")
        self.expect(Capture().segment(opcode=3, offset=4), "offset 4 in a message")
        self.expect(Capture().message(SEGMENT, b"\xc1\x40"), "less than a DDP header")


if __name__ == "__main__":
    unittest.main()
