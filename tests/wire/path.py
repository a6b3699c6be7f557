# SPDX-License-Identifier: GPL-2.0
"""Frames of the paths of one queue pair, and the proofs by which a connection joins it (docs/wire.md)."""
import ipaddress
import struct

from wire import Malformed, mpa

SEGMENT, END, ACK = range(1, 4)
ADDRESSES, JOIN, CHALLENGE, ANSWER = range(7, 11)
HEADER, TOLD, ADDRESS, NUMBER = 12, 20, 16, 8
WINDOW, LONGEST = 4096, 16000
MASK = (1 << 64) - 1


def frame(kind, ssn=0, ack=0, body=b"", crc=None):
    return mpa.fpdu(struct.pack(">B3xII", kind, ssn, ack) + body, crc)


class Frame:
    """The ULPDU of a frame, taken apart."""

    def __init__(self, ulpdu):
        if not HEADER <= len(ulpdu) <= LONGEST - 6:
            raise Malformed(f"a frame of {len(ulpdu)} bytes")
        self.kind, self.reserved, self.ssn, self.ack = struct.unpack_from(">B3sII", ulpdu)
        self.body = ulpdu[HEADER:]


def mapped(address):
    """The 16 bytes of an address, IPv4's as a mapped one."""
    address = ipaddress.ip_address(address)
    return address.packed if address.version == 6 else bytes(10) + b"\xff\xff" + address.packed


def told(key, port, *homes, paths=2, num=None):
    """The body of a frame of addresses; num overrides the truth."""
    return key + struct.pack(">HBB", port, paths, len(homes) if num is None else num) + b"".join(map(mapped, homes))


class Told:
    """The same, taken apart."""

    def __init__(self, body):
        self.homes = [body[at:at + ADDRESS] for at in range(TOLD, len(body), ADDRESS)]
        if (len(body) - TOLD) % ADDRESS or [*body[TOLD - 1:TOLD]] != [len(self.homes)] or not 1 <= len(self.homes) <= 8:
            raise Malformed(f"addresses of {len(body)} bytes")
        self.key, self.port, self.paths = struct.unpack_from(">16sHB", body)


def siphash(key, data):
    """SipHash-2-4 of bytes under a key of two numbers of 64 bits (Aumasson and Bernstein, 2012)."""

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


def proof(key, responder, number, address, joined, challenged):
    """One end's proof. Key, address and nonces are bytes."""
    claim = struct.pack(">II", responder, number) + address + joined + challenged
    return struct.pack(">Q", siphash(struct.unpack(">QQ", key), claim))
