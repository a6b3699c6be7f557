# SPDX-License-Identifier: GPL-2.0
"""Makes packets, frames and captures for the tests of the judges."""

import socket
import struct
import tempfile

from packets import crc32c
from segments import QUEUES

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
        options = (struct.pack(">BBH", 2, 4, MSS) + TIMESTAMP if syn else TIMESTAMP)
    header = struct.pack(">HHIIBBHHH", *((ports or PORTS)[end] for end in (source, destination)), sequence,
                         acknowledged,
                         (20 + len(options)) // 4 << 4, 2 if syn else flags, window, 0, 0)
    return ip_packet(source, destination, socket.IPPROTO_TCP, header + options + payload)


def mpa_frame(key, flags=0x40, private=b""):
    return key + struct.pack(">BBH", flags, 1, len(private)) + private


def make_segment(payload, last=True, opcode=0, message=1, control=None, offset=0, rdmap=0x40, queue=None):
    tagged = opcode in (0, 2) if control is None else bool(control & 0x80)
    head = struct.pack(">BB", control or (0x80 if tagged else 0) | (0x40 if last else 0) | 1, rdmap | opcode)
    if tagged:
        head += struct.pack(">IQ", 0x1234, 0x5678)
    else:
        head += struct.pack(">IIII", 0, QUEUES.get(opcode, 0) if queue is None else queue, message, offset)
    return head + payload


def frame_of(ulpdu, crc=None):
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    body += b"\0" * (-len(body) % 4)
    return body + struct.pack("<I", crc32c(body) if crc is None else crc)


def make_fpdu(payload, crc=None, **segment):
    return frame_of(make_segment(payload, **segment), crc)


def judged(packets, judge):
    """What a judge says of a capture of these packets."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for packet in packets:
            file.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
        file.flush()
        return judge(file.name)
