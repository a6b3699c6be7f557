# SPDX-License-Identifier: GPL-2.0
"""Makes packets, frames and captures for the tests of the judges."""
import socket
import struct
import tempfile
import unittest

from packets import write_pcap
from wire import ddp, mpa

CLIENT, SERVER = b"\x0a\0\0\2", b"\x0a\0\0\1"
PORTS = {CLIENT: 40000, SERVER: 18515}
MSS = 1460
SEGMENT = MSS - 12
TIMESTAMP = b"\x01\x01\x08\x0a" + b"\0" * 8


def ip_packet(source, destination, protocol, body):
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0, source, destination)
    return b"\2" * 12 + b"\x08\0" + ip + body


def tcp_packet(source, destination, sequence, payload=b"", syn=False, acknowledged=0, ports=None, options=None, window=65535,
               flags=0x10):
    """`ports`: by address, instead of PORTS. `flags`: of a packet that is no SYN."""
    if options is None:
        options = (struct.pack(">BBH", 2, 4, MSS) if syn else b"") + TIMESTAMP
    header = struct.pack(">HHIIBBHHH", *((ports or PORTS)[end] for end in (source, destination)), sequence, acknowledged,
                         (20 + len(options)) // 4 << 4, 2 if syn else flags, window, 0, 0)
    return ip_packet(source, destination, socket.IPPROTO_TCP, header + options + payload)


def make_segment(payload, last=True, opcode=ddp.WRITE, message=1, offset=0, queue=None, control=None, rdmap=0x40):
    """`control` and `rdmap`: all of the first byte, and all but the opcode of the second."""
    if control & ddp.TAGGED if control else opcode in (ddp.WRITE, ddp.READ_RESPONSE):
        made = ddp.tagged(opcode, 0x1234, 0x5678, payload, last)
    else:
        made = ddp.untagged(opcode, payload, message, offset, queue, last)
    return bytes([control or made[0], rdmap | opcode]) + made[2:]


def make_fpdu(payload, crc=None, **segment):
    return mpa.fpdu(make_segment(payload, **segment), crc)


class Connection:
    """Both directions of a connection, as packets."""

    def __init__(self, port=PORTS[CLIENT], server_port=PORTS[SERVER]):
        self.ports = {CLIENT: port, SERVER: server_port}
        self.packets, self.sequence = [], {CLIENT: 1000, SERVER: 5000}
        for end in CLIENT, SERVER:
            self.packets.append(tcp_packet(end, self.other(end), self.sequence[end] - 1, syn=True, ports=self.ports))

    @staticmethod
    def other(end):
        return SERVER if end == CLIENT else CLIENT

    def send(self, payload, end=CLIENT):
        self.packets.append(tcp_packet(end, self.other(end), self.sequence[end], payload, ports=self.ports))
        self.sequence[end] += len(payload)
        return self


def judged(packets, judge):
    """What a judge says of a capture of these packets."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        write_pcap(file.name, packets)
        return judge(file.name)


class Case(unittest.TestCase):
    def expect(self, capture, *words):
        """The judge of a capture says the last of these; the words before are its own."""
        *mode, text = words
        errors = capture.judge(*mode)[0]
        self.assertTrue(any(text in error for error in errors), errors)
