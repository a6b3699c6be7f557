#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tests what streams.py and fpdu.py read of TCP and of the handshake, and fpdu.py as the program that judges call."""

import pathlib
import struct
import subprocess
import sys
import unittest

import fpdu
from made import CLIENT, PORTS, SERVER, judged, make_fpdu, tcp_packet
from packets import read_pcap
from streams import MPA_REPLY, MPA_REQUEST, parse_frame, read_streams

HERE = pathlib.Path(__file__).resolve().parent
NOP, MSS_1000, SCALE_3 = b"\1", struct.pack(">BBH", 2, 4, 1000), b"\3\3\3"
TIMES = b"\x08\x0a" + bytes(8)
HELLO = make_fpdu(b"hello", opcode=3)


def padded(options):
    return options + b"\0" * (-len(options) % 4)


def connection(*frames, reply=0x40, request=0x40, options=b"", revision=1):
    """A connection whose SYNs and first packets have these options, and then what the initiator sends."""
    def mpa(key, flags):
        return key + struct.pack(">BBH", flags, revision, 0)

    packets = [tcp_packet(CLIENT, SERVER, 999, syn=True, options=padded(options)),
               tcp_packet(SERVER, CLIENT, 4999, syn=True, options=padded(options)),
               tcp_packet(CLIENT, SERVER, 1000, mpa(MPA_REQUEST, request), options=b""),
               tcp_packet(SERVER, CLIENT, 5000, mpa(MPA_REPLY, reply), options=b"")]
    at = 1020
    for frame in frames:
        packets.append(tcp_packet(CLIENT, SERVER, at, frame, options=b""))
        at += len(frame)
    return packets


class Streams(unittest.TestCase):
    def stream(self, packets):
        """What is known of the initiator's direction."""
        ends = [(CLIENT, PORTS[CLIENT]), (SERVER, PORTS[SERVER])]
        return judged(packets, read_streams)[ends[0], ends[1]]

    def test_options_of_a_syn(self):
        for options in (MSS_1000 + SCALE_3, NOP + SCALE_3 + NOP * 2 + MSS_1000, SCALE_3 + NOP + MSS_1000):
            found = self.stream(connection(options=options))
            self.assertEqual((found.mss, found.scale, found.timestamps, found.segment), (1000, 3, False, 1000), options)

    def test_options_end(self):
        """What is behind the end of the options is none."""
        found = self.stream(connection(options=MSS_1000 + b"\0" + SCALE_3 + TIMES))
        self.assertEqual((found.mss, found.scale, found.timestamps), (1000, 0, False))

    def test_without_options(self):
        found = self.stream(connection())
        self.assertEqual((found.mss, found.scale, found.segment), (536, 0, 536))

    def test_options_are_the_other_ends(self):
        """The limits on what the initiator may send are in the responder's SYN, and in no other packet."""
        packets = connection(HELLO)
        packets[0] = tcp_packet(CLIENT, SERVER, 999, syn=True, options=padded(MSS_1000 + SCALE_3 + NOP))
        packets.append(tcp_packet(SERVER, CLIENT, 5020, options=padded(MSS_1000 + SCALE_3 + NOP)))
        found = self.stream(packets)
        self.assertEqual((found.mss, found.scale), (536, 0))
        packets[0] = tcp_packet(CLIENT, SERVER, 999, syn=True, options=b"")
        packets[1] = tcp_packet(SERVER, CLIENT, 4999, syn=True, options=padded(MSS_1000 + SCALE_3 + NOP))
        found = self.stream(packets)
        self.assertEqual((found.mss, found.scale), (1000, 3))

    def test_a_scaled_window(self):
        packets = connection(options=SCALE_3 + NOP)
        packets.append(tcp_packet(SERVER, CLIENT, 5020, acknowledged=1020, options=b"", window=10))
        self.assertIn(1020 + 80, self.stream(packets).edges)
        self.assertNotIn(1020 + 10, self.stream(packets).edges)

    def test_a_syn_limits_nothing(self):
        packets = connection()
        packets[1] = tcp_packet(SERVER, CLIENT, 4999, syn=True, acknowledged=1000, options=b"", window=77)
        self.assertNotIn(1077, self.stream(packets).edges)

    def test_without_a_syn(self):
        """A capture that began late: the first packet is the beginning."""
        found = self.stream(connection(HELLO)[2:])
        self.assertEqual(found.assemble()[0][20:], HELLO)


class Handshake(unittest.TestCase):
    def counts(self, *packets, **options):
        return judged(connection(*packets, **options), lambda path: fpdu.judge(path, "none"))

    def test_crc_of_either_end(self):
        for request, reply, checked in ((0x40, 0, 1), (0, 0x40, 1), (0x40, 0x40, 1), (0x03, 0x03, 0)):
            errors, counts = self.counts(HELLO, request=request, reply=reply)
            self.assertEqual((errors, counts["CRCs checked"]), ([], checked), (request, reply))

    def test_a_wrong_crc_where_none_was_agreed(self):
        wrong = make_fpdu(b"hello", opcode=3, crc=1)
        self.assertEqual(self.counts(wrong, request=0, reply=0)[0], [])
        self.assertEqual(len(self.counts(wrong, request=0, reply=0x40)[0]), 1)

    def test_what_is_counted(self):
        _, counts = self.counts(HELLO, make_fpdu(b"", opcode=3, message=2), revision=2)
        self.assertEqual((counts["connections"], counts["MPA revision 2"], counts["connections refused"]), (1, 1, 0))
        self.assertEqual((counts["packets"], counts["full segments"], counts["extended"]), (2, 0, 0))
        full = make_fpdu(b"x" * (536 - 24), opcode=3)
        self.assertEqual(len(full), 536)
        self.assertEqual(self.counts(full)[1]["full segments"], 1)
        _, counts = self.counts(HELLO, reply=0x60)
        self.assertEqual((counts["connections"], counts["connections refused"]), (0, 1))

    def test_padding(self):
        frame = bytearray(make_fpdu(b"hell", opcode=3))
        self.assertEqual(self.counts(bytes(frame), request=0, reply=0)[0], [])
        frame = bytearray(make_fpdu(b"hello", opcode=3))
        for last in range(4):
            planted = bytearray(frame)
            planted[2 + 18 + 5 + last if last < 3 else 2 + 18 + 5 + 2] = 1
            errors, _ = self.counts(bytes(planted), request=0, reply=0)
            self.assertEqual(errors and "padding is not zero" in errors[0], True, last)


class Program(unittest.TestCase):
    def run_it(self, packets, *arguments, at=None, value=b""):
        """fpdu.py on a capture of these packets, in whose file value is written at that place."""
        def run(path):
            if at is not None:
                with open(path, "r+b") as file:
                    file.seek(at)
                    file.write(value)
            return subprocess.run([sys.executable, "-B", HERE / "fpdu.py", path, *arguments], capture_output=True, text=True, check=False)

        return judged(packets, run)

    def test_a_good_capture(self):
        done = self.run_it(connection(HELLO), "--crc", "yes", "--least", "1", "--needs", "send")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("1 send", done.stdout)

    def test_what_must_be_there(self):
        for arguments, said in ((("--crc", "no"), "CRC was negotiated"), (("--least", "2"), "only 1 FPDUs in the capture"),
                                (("--needs", "write"), "nothing counted as write")):
            done = self.run_it(connection(HELLO), *arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stdout)
        self.assertEqual(self.run_it(connection()).returncode, 1)

    def test_errors_are_shown(self):
        done = self.run_it(connection(*(make_fpdu(b"", opcode=3, message=number + 1, crc=1) for number in range(12))))
        self.assertEqual((done.returncode, done.stdout.count("computed")), (1, 10))
        self.assertIn("and 2 more", done.stdout)

    def test_no_capture(self):
        for at, value, said in ((0, b"none", "is not a pcap file"), (20, b"\2", "does not hold Ethernet frames"),
                                (32, struct.pack("<I", 30), "not captured whole")):
            done = self.run_it(connection(HELLO), at=at, value=value)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)


class Packets(unittest.TestCase):
    def test_ipv6(self):
        source, destination = bytes(range(16)), bytes(range(16, 32))
        tcp = tcp_packet(CLIENT, SERVER, 7, b"payload")[34:]
        frame = b"\2" * 12 + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + source + destination + tcp
        parsed = parse_frame(frame, len(frame))
        self.assertEqual(parsed[:3], ((source, PORTS[CLIENT]), (destination, PORTS[SERVER]), 7))
        self.assertEqual(parsed[-1], b"payload")

    def test_a_file_of_the_other_order(self):
        def swapped(path):
            data = struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + struct.pack(">IIII", 0, 0, 5, 60) + b"bytes"
            pathlib.Path(path).write_bytes(data)
            return list(read_pcap(path))

        self.assertEqual(judged([], swapped), [(b"bytes", 60)])


if __name__ == "__main__":
    unittest.main()
