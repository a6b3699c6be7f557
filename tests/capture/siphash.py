# SPDX-License-Identifier: GPL-2.0
"""SipHash-2-4, and the proofs of paths that are made by it (docs/wire.md)."""

import ipaddress
import struct

MASK = (1 << 64) - 1


def siphash(key, data):
    """The hash of bytes under a key of two numbers of 64 bits (Aumasson and Bernstein, 2012)."""

    def left(number, bits):
        return (number << bits | number >> 64 - bits) & MASK

    def rounds(count):
        nonlocal a, b, c, d
        for _ in range(count):
            a = a + b & MASK
            c = c + d & MASK
            b, d = left(b, 13) ^ a, left(d, 16) ^ c
            a = left(a, 32)
            c = c + b & MASK
            a = a + d & MASK
            b, d = left(b, 17) ^ c, left(d, 21) ^ a
            c = left(c, 32)

    a, b = key[0] ^ 0x736F6D6570736575, key[1] ^ 0x646F72616E646F6D
    c, d = key[0] ^ 0x6C7967656E657261, key[1] ^ 0x7465646279746573
    tail = data[len(data) & ~7:] + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", data[:len(data) & ~7] + tail):
        d ^= word
        rounds(2)
        a ^= word
    c ^= 0xFF
    rounds(4)
    return a ^ b ^ c ^ d


def mapped(address):
    """The 16 bytes of an address, IPv4's as a mapped one."""
    address = ipaddress.ip_address(address)
    return address.packed if address.version == 6 else bytes(10) + b"\xff\xff" + address.packed


def proof(key, responder, number, address, joined, challenged):
    """What one end proves by: key, address and nonces as bytes."""
    claim = struct.pack(">II", responder, number) + address + joined + challenged
    return struct.pack(">Q", siphash(struct.unpack(">QQ", key), claim))
