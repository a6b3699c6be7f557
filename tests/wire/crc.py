# SPDX-License-Identifier: GPL-2.0
"""CRC32C (Castagnoli), which MPA and SCTP have in common."""
import struct


def _tables():
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


_TABLES = _tables()


def crc32c(data):
    """The CRC of bytes, eight at a time."""
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
