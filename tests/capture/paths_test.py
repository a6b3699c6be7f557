# SPDX-License-Identifier: GPL-2.0
"""Tests paths.py on captures made here: a sound one, and one for each fault it must see."""
import struct

from crc32c import crc32c

import paths
from made import CLIENT, PORTS, SERVER, Case, Connection, judged, make_segment
from wire import mpa, path
from wire.path import ACK, ADDRESSES, ANSWER, CHALLENGE, END, JOIN, SEGMENT, frame, mapped, proof

KEY, PORT = b"the key of paths", 5000
NONCES = b"joining.", b"challeng"
TOLD = path.told(KEY, PORT, SERVER)


class Capture:
    """A queue pair with two paths."""

    def __init__(self, request_flags=0x45, reply_flags=0x43, told=TOLD, key=KEY, answer=None, number=1, address=SERVER):
        self.first, self.second = Connection(40000, PORTS[SERVER]), Connection(40001, PORT)
        self.first.send(mpa.request(flags=request_flags))
        self.first.send(mpa.reply(flags=reply_flags), SERVER)
        if told:
            self.first.send(frame(ADDRESSES, body=told), SERVER)
        proofs = [proof(key, role, 1, mapped(address), *NONCES) for role in (0, 1)]
        self.second.send(frame(JOIN, 1, body=NONCES[0])).send(frame(CHALLENGE, number, body=NONCES[1] + proofs[1]), SERVER)
        self.second.send(frame(ANSWER, 1, body=answer or proofs[0]))

    def segments(self, *numbers, path="first", end=CLIENT, **segment):
        for number in numbers:
            self.send(path, frame(SEGMENT, number, body=make_segment(b"%d" % number, **segment)), end)
        return self

    def send(self, path, payload, end=CLIENT):
        getattr(self, path).send(payload, end)
        return self

    def judge(self):
        return judged(self.first.packets + self.second.packets, paths.judge)


class Paths(Case):
    def test_sound(self):
        capture = Capture().segments(0, 2).segments(1, 3, path="second").segments(0, path="second", end=SERVER)
        capture.send("second", frame(END, 4)).send("first", frame(ACK, ack=4), SERVER).send("first", frame(END, 1, 4), SERVER)
        errors, counts, bodies = capture.judge()
        self.assertEqual(errors, [])
        self.assertEqual((counts["connections"], counts["extended"], counts["paths"], counts["write"]), (1, 1, 2, 5))
        self.assertEqual((counts["segments"], len(bodies)), (5, 5))

    def test_extensions(self):
        """Two ends that agree on paths have agreed on these."""
        self.assertEqual(Capture().send("first", frame(SEGMENT, body=make_segment(bytes(8), opcode=8))).judge()[0], [])

    def test_crc_of_either_end(self):
        for request, reply, checked in (0x45, 0x43, True), (0x05, 0x43, True), (0x45, 0x03, True), (0x05, 0x03, False):
            capture = Capture(request, reply).send("first", frame(SEGMENT, body=make_segment(b""), crc=1))
            self.assertEqual(len(capture.judge()[0]), checked, (request, reply))

    def test_reserved(self):
        self.expect(Capture().send("first", mpa.fpdu(struct.pack(">BBxxII", ACK, 1, 0, 0))), "bytes 1 to 3 are 010000, not zero")

    def test_sent_again(self):
        errors, counts, _ = Capture().segments(0, 1).segments(1, 2, path="second").judge()
        self.assertEqual((errors, counts["sent again"]), ([], 1))
        self.expect(Capture().segments(0, 1).segments(1, path="second", last=False), "segment 1 was sent with other bytes")

    def test_path_that_breaks(self):
        whole = frame(SEGMENT, 1, body=make_segment(b"1"))
        for sent in 1, 2, 20, len(whole) - 6, len(whole) - 1:
            errors, counts, _ = Capture().segments(0).send("second", whole[:sent]).segments(1).judge()
            self.assertEqual((errors, counts["paths cut"], counts["sent again"]), ([], 1, 0), sent)

    def test_order(self):
        sends = [frame(SEGMENT, n, body=make_segment(b"", opcode=3, message=n + 1)) for n in range(3)]
        self.assertEqual(Capture().send("first", sends[1]).send("second", sends[0] + sends[2]).judge()[0], [])
        wrong = frame(SEGMENT, 1, body=make_segment(b"", opcode=3, message=3))
        self.expect(Capture().send("first", sends[0] + wrong), "message 3 on queue 0 follows 1")

    def test_gaps_and_ends(self):
        self.expect(Capture().segments(0, 2), "segment 1: it is missing")
        self.expect(Capture().segments(0, 1).send("second", frame(END, 1)), "the end, but there are 2")
        self.expect(Capture().segments(0).send("first", frame(END, 1)).send("second", frame(END, 2)), "end 2 after end 1")

    def test_acks(self):
        self.assertEqual(Capture().segments(0).send("first", frame(ACK, ack=1), SERVER).judge()[0], [])
        self.expect(Capture().segments(0).send("first", frame(ACK, ack=2), SERVER), "acknowledged, but never sent")
        self.expect(Capture().send("first", frame(ACK, ack=1), SERVER), "acknowledged, but never sent")
        capture = Capture().segments(0).send("first", frame(END, 1)).send("first", frame(ACK, ack=2), SERVER)
        self.assertEqual(capture.judge()[0], [])
        acks = frame(ACK, ack=1) + frame(ACK)
        self.expect(Capture().segments(0).send("first", acks, SERVER), "ack 0 behind 1")

    def test_joins(self):
        self.expect(Capture(answer=b"guessed."), "or a wrong proof")
        # What it says behind that is nothing that the queue pair has sent.
        _, _, bodies = Capture(answer=b"guessed.").segments(0, path="second").judge()
        self.assertEqual(bodies, [])
        self.expect(Capture(number=2), "responder of a path from port 40001: path 1 is answered as 2")
        self.expect(Capture(key=b"guessed, guessed"), "of no key")
        self.expect(Capture(address="10.0.0.7"), "of no key")
        elsewhere = Capture(told=TOLD[:-1] + b"\7")
        self.expect(elsewhere, f"initiator of a path from port 40001: it goes to {mapped(SERVER).hex()}")

    def test_joins_that_are_refused(self):
        """Each leaves the queue pair one path. The responder may have said nothing, or not all of a challenge."""
        challenge = frame(CHALLENGE, 1, body=bytes(16))
        for said, errors in ((b"", []), (challenge[:-1], []),
                             (frame(ACK, 1, body=bytes(16)), ["port 5000: type 3 answers a join"]),
                             (frame(CHALLENGE, 1, body=bytes(17)), [f"port 5000: type {CHALLENGE} answers a join"])):
            capture = Capture()
            capture.second = Connection(40001, PORT).send(frame(JOIN, 1, body=NONCES[0])).send(said, SERVER)
            found, counts, _ = capture.judge()
            self.assertEqual((found, counts["paths"]), (errors, 1))

    def test_what_is_no_join(self):
        """Such a connection belongs to others, whatever it says."""
        for first in frame(JOIN, 1, body=bytes(9)), frame(ACK, 1, body=bytes(8)):
            capture = Capture()
            capture.second = Connection(40001, PORT).send(first).send(frame(ACK), SERVER)
            self.assertEqual(capture.judge()[0], [])

    def test_addresses(self):
        self.expect(Capture(told=None), "responder of port 40000: it told no addresses")
        self.expect(Capture().send("first", frame(ADDRESSES, body=TOLD)), "initiator of port 40000: it tells addresses")
        self.expect(Capture().send("first", frame(ADDRESSES, body=TOLD), SERVER), f"type {ADDRESSES} with 36 bytes")
        for number in range(10):
            told = TOLD[:19] + bytes([number]) + mapped(SERVER) * number
            for wrong in (told[:-1], told + b"\0", told + mapped(SERVER), *([] if 1 <= number <= 8 else [told])):
                self.expect(Capture(told=wrong), f"type {ADDRESSES}: addresses of {len(wrong)} bytes")
            if 1 <= number <= 8:
                self.assertEqual(Capture(told=told).judge()[0], [])

    def test_frames(self):
        self.expect(Capture().send("first", frame(SEGMENT, body=make_segment(b""), crc=1)), "CRC 00000001")
        self.expect(Capture().send("first", frame(6)), "type 6 with 0 bytes")
        self.expect(Capture().send("first", frame(ACK, body=b"1")), "type 3 with 1 bytes")
        for padding in b"\1\0\0", b"\0\1\0", b"\0\0\1":
            padded = frame(SEGMENT, body=make_segment(b"x"))[:-7] + padding
            padded += struct.pack("<I", crc32c(padded))
            self.expect(Capture().send("first", padded), "padding is not zero")
        self.expect(Capture().send("first", mpa.fpdu(bytes(11))), "a frame of 11 bytes")
        # The length and the CRC, the header of a frame, and the header of a tagged segment.
        longest = 16000 - 2 - 4 - 12 - 14
        self.assertEqual(Capture().send("first", frame(SEGMENT, body=make_segment(bytes(longest)))).judge()[0], [])
        self.expect(Capture().send("first", frame(SEGMENT, body=make_segment(bytes(longest + 1)))), "a frame of 15995 bytes")
        self.expect(Capture().send("first", frame(SEGMENT, body=b"\xc1\x40")), "less than a DDP header")

    def test_nobody_answers(self):
        capture = Capture()
        capture.first.packets[3:] = []
        capture.second.packets[1:] = []
        self.assertEqual(capture.judge(), ([], {"segments": 0}, []))

    def test_not_agreed(self):
        for flags in (0x44, 0x43), (0x45, 0x42), (0x45, 0x47):
            _, counts, _ = Capture(*flags).judge()
            self.assertEqual((counts["connections"], counts["connections without paths"]), (0, 1))
