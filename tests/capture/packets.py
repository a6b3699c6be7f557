# SPDX-License-Identifier: GPL-2.0
"""Packets of a capture (pcap, Ethernet), what their IP headers say, and CRC32C."""

import struct


def _crc_tables():
    first = []
    for index in range(256):
        crc = index
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        first.append(crc)
    tables = [first]
    for _ in range(7):
        tables.append([first[crc & 0xFF] ^ crc >> 8 for crc in tables[-1]])
    return tables


_TABLES = _crc_tables()


def crc32c(data):
    """CRC32C (Castagnoli) of bytes, eight at a time."""
    t0, t1, t2, t3, t4, t5, t6, t7 = _TABLES
    crc = 0xFFFFFFFF
    whole = len(data) & ~7
    for low, high in struct.iter_unpack("<II", data[:whole]):
        low ^= crc
        crc = (t7[low & 0xFF] ^ t6[low >> 8 & 0xFF] ^ t5[low >> 16 & 0xFF] ^ t4[low >> 24] ^
               t3[high & 0xFF] ^ t2[high >> 8 & 0xFF] ^ t1[high >> 16 & 0xFF] ^ t0[high >> 24])
    for byte in data[whole:]:
        crc = crc >> 8 ^ t0[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def read_pcap(path):
    """Yields the packets of a classic pcap file with Ethernet frames."""
    with open(path, "rb") as file:
        data = file.read()
    magic = data[:4]
    if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        order = "<"
    elif magic in (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
        order = ">"
    else:
        raise ValueError(f"{path} is not a pcap file")
    if struct.unpack(order + "I", data[20:24])[0] != 1:
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
