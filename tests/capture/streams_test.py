# SPDX-License-Identifier: GPL-2.0
"""Tests what streams.py and fpdu.py read of TCP and of the handshake, and fpdu.py as the program that judges call."""
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import association_test
import fpdu
import paths_test
from made import CLIENT, PORTS, SERVER, ip_packet, judged, make_fpdu, make_segment, tcp_packet
from packets import ip_payload, read_pcap
from streams import parse_frame, read_streams
from wire import mpa

HERE = pathlib.Path(__file__).resolve().parent
NOP, MSS_1000, SCALE_3 = b"\1", struct.pack(">BBH", 2, 4, 1000), b"\3\3\3"
SACK_PERMITTED = b"\4\2"
TIMES = b"\x08\x0a" + bytes(8)
HELLO = make_fpdu(b"hello", opcode=3)


def padded(options):
    return options + b"\0" * (-len(options) % 4)


def connection(*frames, reply=0x40, request=0x40, options=b"", revision=1):
    """A connection whose SYNs and first packets have these options, and then what the initiator sends."""
    packets = [tcp_packet(CLIENT, SERVER, 999, syn=True, options=padded(options)),
               tcp_packet(SERVER, CLIENT, 4999, syn=True, options=padded(options)),
               tcp_packet(CLIENT, SERVER, 1000, mpa.request(flags=request, revision=revision), options=b""),
               tcp_packet(SERVER, CLIENT, 5000, mpa.reply(flags=reply, revision=revision), options=b"")]
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
        for options in (MSS_1000 + SCALE_3, NOP + SCALE_3 + NOP * 2 + MSS_1000, SCALE_3 + NOP + MSS_1000,
                        SACK_PERMITTED + SCALE_3 + MSS_1000):
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

    def test_a_fin_is_no_syn(self):
        """It carries the last bytes, and its options and its window limit nobody unless it acknowledges."""
        fin = tcp_packet(CLIENT, SERVER, 1020, HELLO, options=MSS_1000, flags=0x11)
        data, borders = self.stream(connection() + [fin]).assemble()
        self.assertEqual((data[20:], borders[1:]), (HELLO, [(20, len(HELLO), False)]))
        fin = tcp_packet(SERVER, CLIENT, 5020, options=MSS_1000 + SCALE_3 + NOP, acknowledged=1000, window=77, flags=0x11)
        found = self.stream(connection() + [fin])
        self.assertEqual((found.mss, found.scale, 1077 in found.edges), (536, 0, True))
        fin = tcp_packet(SERVER, CLIENT, 5020, options=b"", acknowledged=1000, window=77, flags=0x01)
        self.assertNotIn(1077, self.stream(connection() + [fin]).edges)

    def test_bytes_that_are_missing(self):
        """The stream ends before them, also if they are its first."""
        packets = connection(b"one", b"two", b"three", b"four")
        found = self.stream(packets[:5] + packets[6:])
        self.assertEqual(found.assemble()[0][20:], b"one")
        self.assertEqual((found.assemble()[1][1:], found.gap), ([(20, 3, False)], (23, 3)))
        found = self.stream(packets[:2] + packets[4:])
        self.assertEqual((found.assemble(), found.gap), ((b"", []), (0, 20)))

    def test_bytes_that_come_twice(self):
        packets = connection(b"one", b"two")
        found = self.stream(packets + packets[-2:])
        data, borders = found.assemble()
        self.assertEqual((data[20:], borders[1:], found.retransmitted), (b"onetwo", [(20, 3, False), (23, 3, False)], 2))

    def test_what_is_not_tcp(self):
        arp = b"\2" * 12 + b"\x08\x06" + bytes(28)
        packets = [arp, ip_packet(CLIENT, SERVER, socket.IPPROTO_UDP, bytes(8))] + connection(HELLO)
        self.assertEqual(self.stream(packets).assemble()[0][20:], HELLO)

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

    def test_what_carries_segments(self):
        """The judge of either leaves its segments in a file."""
        several = paths_test.Capture().segments(0)
        captures = {"sctp": association_test.Capture().segment(b"0").packets,
                    "paths": several.first.packets + several.second.packets}
        with tempfile.TemporaryDirectory() as folder:
            for over, packets in captures.items():
                left = pathlib.Path(folder, over)
                done = self.run_it(packets, "--over", over, "--segments", left)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
                self.assertIn("1 segments,", done.stdout)
                self.assertEqual(left.read_bytes()[40:], make_segment(b"0"))

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


def ipv6_packet(source, destination, body, length=None, protocol=socket.IPPROTO_TCP):
    ip = struct.pack(">IHBB", 6 << 28, len(body) if length is None else length, protocol, 64)
    return b"\2" * 12 + b"\x86\xdd" + ip + source + destination + body


class Packets(unittest.TestCase):
    SOURCE, DESTINATION = bytes(range(16)), bytes(range(16, 32))

    def test_ipv6(self):
        frame = ipv6_packet(self.SOURCE, self.DESTINATION, tcp_packet(CLIENT, SERVER, 7, b"payload")[34:])
        parsed = parse_frame(frame, len(frame))
        self.assertEqual(parsed[:3], ((self.SOURCE, PORTS[CLIENT]), (self.DESTINATION, PORTS[SERVER]), 7))
        self.assertEqual(parsed[-1], b"payload")

    def test_where_a_packet_ends(self):
        """Its header says it, and a frame may be longer; of one that is too long for that, the frame's end says it."""
        old = ip_packet(CLIENT, SERVER, socket.IPPROTO_TCP, b"payload")
        new = ipv6_packet(self.SOURCE, self.DESTINATION, b"payload")
        for frame in (old, new, old + bytes(6), new + bytes(6), old[:16] + bytes(2) + old[18:],
                      ipv6_packet(self.SOURCE, self.DESTINATION, b"payload", length=0)):
            self.assertEqual(ip_payload(frame, len(frame), socket.IPPROTO_TCP)[2], b"payload")
            with self.assertRaises(ValueError):
                ip_payload(frame[:-7], len(frame), socket.IPPROTO_TCP)

    def test_other_protocols(self):
        """What one protocol has in its header does not make a packet of another one, even at the same place."""
        as_tcp = b"\x06" * 16
        for frame in (ip_packet(CLIENT, SERVER, socket.IPPROTO_UDP, b"payload"), b"\2" * 12 + b"\x08\x06" + b"\x06" * 60,
                      ipv6_packet(as_tcp, as_tcp, b"payload", protocol=socket.IPPROTO_UDP),
                      ip_packet(as_tcp[:4], as_tcp[:4], socket.IPPROTO_UDP, as_tcp * 4)):
            self.assertIsNone(ip_payload(frame, len(frame), socket.IPPROTO_TCP), frame)
        frame = ipv6_packet(as_tcp, self.DESTINATION, b"payload")
        self.assertEqual(ip_payload(frame, len(frame), socket.IPPROTO_TCP), (as_tcp, self.DESTINATION, b"payload"))

    def test_a_file_that_is_cut(self):
        def cut(path):
            data = pathlib.Path(path).read_bytes()
            pathlib.Path(path).write_bytes(data[:-8])
            return list(read_pcap(path))

        with self.assertRaises(ValueError):
            judged([b""], cut)

    def test_a_file_of_the_other_order(self):
        def swapped(path):
            data = struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + struct.pack(">IIII", 0, 0, 5, 60) + b"bytes"
            pathlib.Path(path).write_bytes(data)
            return list(read_pcap(path))

        self.assertEqual(judged([], swapped), [(b"bytes", 60)])
