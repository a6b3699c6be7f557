# SPDX-License-Identifier: GPL-2.0
"""Packets of a capture (pcap, Ethernet), and what their IP headers say."""
import os
import pathlib
import struct
import sys

# For wire, which every program here imports behind this.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ETHERNET, USER0 = 1, 147


def write_pcap(path, packets, kind=ETHERNET):
    """A capture of packets, which have no time."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, kind))
        for packet in packets:
            file.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)


def read_pcap(path):
    """Yields the packets of a classic pcap file with Ethernet frames."""
    data = pathlib.Path(path).read_bytes()
    magic = data[:4]
    if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        order = "<"
    elif magic in (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        order = ">"
    else:
        raise ValueError(f"{path} is not a pcap file")
    if struct.unpack(order + "I", data[20:24])[0] != ETHERNET:
        raise ValueError(f"{path} does not hold Ethernet frames")
    at = 24
    while at < len(data):
        header = data[at:at + 16]
        at += len(header)
        if len(header) < 16:
            raise ValueError(f"{path} ends within a packet's header")
        _, _, captured, length = struct.unpack(order + "IIII", header)
        yield data[at:at + captured], length
        at += captured


def ip_payload(frame, length, protocol):
    """(source, destination, payload) of a packet of that protocol of IP, or None."""
    kind, ip = frame[12:14], frame[14:]
    if kind == b"\x08\x00" and ip[9] == protocol:
        header = (ip[0] & 15) * 4
        total = struct.unpack_from(">H", ip, 2)[0] or length - 14
        source, destination = ip[12:16], ip[16:20]
    elif kind == b"\x86\xdd" and ip[6] == protocol:
        header = 40
        total = (struct.unpack_from(">H", ip, 4)[0] or length - 54) + 40
        source, destination = ip[8:24], ip[24:40]
    else:
        return None
    payload = ip[header:total]
    if len(payload) < total - header:
        raise ValueError("a packet was not captured whole; use tcpdump -s 0")
    return source, destination, payload
