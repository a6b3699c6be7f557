#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=41 name=joins-paths transport=paths hosts
"""Hostile peers with several paths under one queue pair (docs/wire.md), with plain TCP from host B: as clients to an rping
server on host A, and as servers to an rping client there. For labs with WEFT_PATHS=2."""
import contextlib
import functools
import os
import socket
import struct
import sys
import time

import ring
from counters import counted
from hosts import HERE, OWN_PORT, PROMPT, SERVER, Failure, case, check, listen, meanwhile, reset, tcp_socket, until_end
from peer import Line, connected, receive_frame
from pinging import caller
from wire import ddp, mpa
from wire.path import ACK, ADDRESSES, ANSWER, CHALLENGE, END, JOIN, LONGEST, SEGMENT, WINDOW, Frame, Told, frame, mapped, proof, told

# An address that both hosts have, as where docker runs on both. No Weft device is on it.
BOTH_HAVE = "172.17.0.1"
JOIN_LIMIT = 3
# What rping's client says first: an address, a key, a length. The server reads there.
HELLO = ddp.send(struct.pack(">QII", 0x1000, 7, 64))
HALVES = ddp.send(HELLO[18:26], last=False), ddp.send(HELLO[26:], mo=8)
# A Write of no bytes, which may name anything.
NOTHING = ddp.write(0, 0)
NONCE = b"a nonce."


class Path(Line):
    """Our end of a connection."""

    def put(self, kind, **fields):
        self.raw(frame(kind, **fields))

    def get(self, within=PROMPT):
        """The next frame: type, SSN, and what is behind the header."""
        got = Frame(self.fpdu(within).ulpdu)
        return got.kind, got.ssn, got.body

    def ends(self, within=PROMPT):
        return self.ahead + until_end(self.sock, within)


class Stream:
    """A connection in full operation, whose further paths we can make."""

    def __init__(self):
        sock = connected()
        sock.sendall(mpa.request(flags=mpa.CRC | mpa.EXTEND | mpa.PATHS))
        reply = receive_frame(sock)
        check(reply.flags & mpa.RESERVED == mpa.EXTENDED | mpa.PATHS, f"flags {reply.flags:#x} in the Reply")
        self.first = Path(sock)
        self.all = [self.first]
        kind, _, body = self.first.get()
        check(kind == ADDRESSES, f"a frame of type {kind} at first")
        said = Told(body)
        self.key, self.port = said.key, said.port
        # Of the devices that carry no Weft device none is told.
        check(said.paths == 2 and said.homes == [mapped(SERVER)], f"{said.paths} paths, {said.homes}")

    def connected(self):
        sock = tcp_socket()
        sock.settimeout(PROMPT)
        sock.connect((SERVER, self.port))
        self.all.append(Path(sock))
        return self.all[-1]

    def proof(self, responder, number, challenged, address=SERVER):
        return proof(self.key, responder, number, mapped(address), NONCE, challenged)

    def challenged(self, path, number=1):
        """What answers the challenge that the responder has made, after its proof was looked at."""
        kind, ssn, body = path.get()
        check((kind, ssn, len(body)) == (CHALLENGE, number, 16), f"{kind} {ssn} {body.hex()} for a join")
        check(body[8:] == self.proof(1, number, body[:8]), "a wrong proof in the challenge")
        return body[:8]

    def joined(self, number=1):
        path = self.connected()
        path.put(JOIN, ssn=number, body=NONCE)
        path.put(ANSWER, ssn=number, body=self.proof(0, number, self.challenged(path, number)))
        # It is a path when the peer has read this.
        time.sleep(0.1)
        return path

    def works(self, path=None, ssn=0):
        """Segments are taken: rping's server asks for what we told it of."""
        (path or self.first).put(SEGMENT, ssn=ssn, body=HELLO)
        self.asked(path or self.first)

    def asked(self, *paths, opcode=ddp.READ_REQUEST):
        deadline = time.monotonic() + PROMPT
        while time.monotonic() < deadline:
            for path in paths:
                with contextlib.suppress(Failure):
                    kind, _, body = path.get(0.2)
                    if kind == SEGMENT:
                        check(body[1] & 0x0F == opcode, f"{body.hex()} instead of operation {opcode}")
                        return
        raise Failure(f"rping's server has not sent operation {opcode}")


@contextlib.contextmanager
def streaming():
    stream = Stream()
    try:
        yield stream
    finally:
        for path in stream.all:
            with contextlib.suppress(OSError):
                reset(path.sock)


@contextlib.contextmanager
def two():
    """A stream, and its second path."""
    with streaming() as stream:
        yield stream, stream.joined()


# --- we connect ---
def two_paths():
    with two() as (stream, second):
        second.put(SEGMENT, body=HELLO)
        stream.asked(stream.first, second)


def out_of_order():
    with two() as (stream, second):
        begin, rest = HALVES
        second.put(SEGMENT, ssn=1, body=rest)
        time.sleep(0.2)
        stream.first.put(SEGMENT, ssn=0, body=begin)
        stream.asked(stream.first, second)


@case
def early(wrong):
    """This, before its turn, is placed nowhere, and ends the connection when its turn comes."""
    with two() as (stream, second):
        # Nothing overtakes the first segment.
        second.put(SEGMENT, body=HELLO)
        stream.asked(stream.first, second)
        with counted(rx_early_fpdus=0):
            second.put(SEGMENT, ssn=2, body=wrong)
            time.sleep(0.3)
        second = stream.joined()
        stream.first.put(SEGMENT, ssn=1, body=NOTHING)
        stream.asked(stream.first, second, opcode=ddp.TERMINATE)


def doubled():
    with two() as (stream, second):
        begin, rest = HALVES
        for path in (stream.first, second, second):
            path.put(SEGMENT, ssn=1, body=rest)
        for path in (second, stream.first, second):
            path.put(SEGMENT, ssn=0, body=begin)
        stream.asked(stream.first, second)
        second.put(SEGMENT, ssn=1, body=rest)
        time.sleep(0.5)
        check(stream.joined(1), "a path can join no more")


@case
def guest(data, within=PROMPT):
    """A connection that says this instead of a join ends; the stream goes on."""
    with streaming() as stream:
        with counted(path_refused=1):
            path = stream.connected()
            path.raw(data(stream, path) if callable(data) else data)
            path.ends(within)
        stream.works()


def answers(make, ssn=1):
    """A join whose challenge is answered by this is refused."""

    def joins(stream, path):
        path.put(JOIN, ssn=1, body=NONCE)
        return frame(ANSWER, ssn=ssn, body=make(stream, stream.challenged(path)))

    return guest(joins)


def silent_guests():
    with streaming() as stream:
        paths = [stream.connected() for _ in range(12)]
        stream.works()
        for path in paths:
            path.ends(JOIN_LIMIT + PROMPT)
        stream.joined()


def bytewise(path, data):
    for byte in data:
        path.raw(bytes([byte]))
        time.sleep(0.02)


def slow_join():
    with streaming() as stream:
        path = stream.connected()
        bytewise(path, frame(JOIN, ssn=1, body=NONCE))
        bytewise(path, frame(ANSWER, ssn=1, body=stream.proof(0, 1, stream.challenged(path))))
        path.put(SEGMENT, body=HELLO)
        stream.asked(stream.first, path)


@case
def ends_all(*frames, lives=False):
    """A stream of two paths ends for these on the second, or lives on with the first."""
    with two() as (stream, second):
        second.raw(b"".join(frames))
        second.ends()
        if lives:
            stream.works()
        else:
            stream.first.ends()


ends_path = functools.partial(ends_all, lives=True)


@case
def ends_last(data):
    """The only path ends for this, and so does the stream."""
    with streaming() as stream:
        stream.first.raw(data)
        stream.first.ends()


def torn():
    with two() as (stream, second):
        second.raw(frame(SEGMENT, body=HELLO)[:20])
        time.sleep(0.2)
        reset(second.sock)
        stream.works()
        stream.joined()


def replaced():
    with streaming() as stream:
        another = stream.joined(0)
        stream.first.ends()
        stream.works(another)


def replayed():
    """What a path had that ends comes again on the other, with the same number."""
    with two() as (stream, second):
        begin, rest = HALVES
        second.put(SEGMENT, ssn=0, body=begin)
        second.put(SEGMENT, ssn=1, body=rest)
        stream.asked(stream.first, second)
        # Whichever had it.
        with counted(path_replayed=None, path_leaves=2):
            reset(second.sock)
            second = stream.joined()
            reset(stream.first.sock)
            time.sleep(0.2)
            stream.asked(second)


def too_many_bytes():
    with two() as (stream, second):
        body = bytes(LONGEST - 6 - 12)
        second.sock.settimeout(60)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for ssn in range(1, 600):
                second.sock.sendall(frame(SEGMENT, ssn=ssn, body=body))
        check(ssn > 500, f"ended after {ssn} frames, which it has to take")
        second.ends(30)
        stream.first.ends()


# --- we listen ---
@contextlib.contextmanager
def client_of_ours():
    """Yields the first path of an rping client on host A, and a socket that awaits its joins."""
    with tcp_socket() as sock, tcp_socket() as joins:
        listen(sock, within=PROMPT)
        listen(joins, (HERE, OWN_PORT + 1), PROMPT)
        with caller():
            first = Path(sock.accept()[0])
            request = receive_frame(first.sock)
            check(request.flags & mpa.RESERVED == mpa.EXTEND | mpa.PATHS, f"flags {request.flags:#x} in the Request")
            # Peer-to-peer, with a WRITE as the client's first.
            limits = mpa.Limits(1, 1, write=True).packed()
            first.raw(mpa.reply(flags=mpa.CRC | mpa.ENHANCED | mpa.EXTENDED | mpa.PATHS, revision=2, private=limits))
            yield first, joins


KEY = b"the key of paths"


def proves(path, number=1, responder=1, address=HERE):
    """Reads a join, and makes the challenge of one who has the key: nonce, and proof for this."""
    kind, ssn, nonce = path.get()
    check((kind, ssn, len(nonce)) == (JOIN, 1, 8), f"{kind} {ssn} {nonce.hex()}, no join")
    return NONCE + proof(KEY, responder, number, mapped(address), nonce, NONCE)


def addresses(*homes, **fields):
    return told(KEY, OWN_PORT + 1, *homes, **fields)


@case
def answered(make):
    """A client whose join is answered like this leaves that path, and nothing else was sent there; the stream goes on."""
    with client_of_ours() as (first, joins):
        first.put(ADDRESSES, body=addresses(HERE))
        path = Path(joins.accept()[0])
        path.raw(make(path))
        behind = path.ends(JOIN_LIMIT + PROMPT)
        check(not behind, f"{behind.hex()} behind the join")
        # It tries again, so it has not ended.
        joins.settimeout(JOIN_LIMIT + PROMPT)
        check(proves(Path(joins.accept()[0])), "no further join")


@case
def ended_by(*bodies):
    """A client that is told this ends the connection."""
    with client_of_ours() as (first, _):
        for body in bodies:
            first.put(ADDRESSES, body=body)
        first.ends()


def told_before():
    """A Weft of another format is told apart by its first frame."""
    with client_of_ours() as (first, _):
        first.raw(frame(4, body=addresses()))
        first.ends()


def unreachable_homes():
    with client_of_ours() as (first, joins):
        first.put(ADDRESSES, body=addresses("::ffff:192.0.2.1", "::ffff:255.255.255.255", "::", "ff02::1", HERE, paths=255))
        path = Path(joins.accept()[0])
        path.put(CHALLENGE, ssn=1, body=proves(path))
        kind, ssn, body = path.get()
        check((kind, ssn, len(body)) == (ANSWER, 1, 8), f"{kind} {ssn} {body.hex()}, no answer")


def its_own_addresses():
    """A client does not connect to its own host because a peer says so, whichever of its addresses that is."""
    own = ["127.0.0.1", "::1", SERVER, BOTH_HAVE]
    with contextlib.ExitStack() as stack:
        first, joins = stack.enter_context(client_of_ours())
        stack.enter_context(both_have())
        listeners = []
        for address in own:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listeners.append(stack.enter_context(tcp_socket(host="A", family=family)))
            listeners[-1].bind((address, OWN_PORT + 1))
            listeners[-1].listen()
        first.put(ADDRESSES, body=addresses(*own, HERE))
        # The other address is used.
        path = Path(joins.accept()[0])
        path.get()
        time.sleep(0.5)
        for address, each in zip(own, listeners):
            each.settimeout(0.01)
            with contextlib.suppress(socket.timeout):
                each.accept()
                raise Failure(f"it has connected to {address}, which is its own")


def both_have():
    """Both hosts have a device with the same private address, as where docker runs on both."""
    steps = "link add {} type bridge", f"addr add {BOTH_HAVE}/16 dev {{}}", "link set {} up"
    begin = [f"ip -n {host} {step.format('docker0')}" for host in "AB" for step in steps]
    return meanwhile(begin, [f"ip -n {host} link del docker0" for host in "AB"])


def private_network():
    """What both hosts have is not told by the one, nor joined at by a client of the other; the stream has its path."""
    with both_have():
        two_paths()


def wrong_crc(data):
    return data[:-1] + bytes([data[-1] ^ 1])


CASES = [
    ("two paths", two_paths),
    ("segments out of order", out_of_order),
    ("segments twice and thrice", doubled),
    ("before its turn: a Write to no memory", early(ddp.write(0x12345601, 0x1000, b"wrong"))),
    ("before its turn: a Write that wraps", early(ddp.write(0x12345601, 2**64 - 2, b"wrong"))),
    ("before its turn: an answer to no read", early(ddp.tagged(ddp.READ_RESPONSE, 0xFFFF, 0, b"wrong"))),
    ("before its turn: a SEND far ahead", early(ddp.send(b"wrong", msn=100))),
    ("before its turn: half a header", early(b"\x41\x40\x00")),
    ("a slow join", slow_join),
    ("a wrong proof", answers(lambda s, c: bytes(8))),
    ("a proof with one wrong bit", answers(lambda s, c: bytes([s.proof(0, 1, c)[0] ^ 1]) + s.proof(0, 1, c)[1:])),
    ("the responder's own proof", answers(lambda s, c: s.proof(1, 1, c))),
    ("a proof for another path", answers(lambda s, c: s.proof(0, 0, c))),
    ("a proof for another address", answers(lambda s, c: s.proof(0, 1, c, BOTH_HAVE))),
    ("a proof for another challenge", answers(lambda s, c: s.proof(0, 1, NONCE))),
    ("an answer for another path", answers(lambda s, c: s.proof(0, 1, c), ssn=0)),
    ("a join with a wrong CRC", guest(wrong_crc(frame(JOIN, ssn=1, body=NONCE)))),
    ("a join of a path too many", guest(frame(JOIN, ssn=2, body=NONCE))),
    ("a join of a path far too many", guest(frame(JOIN, ssn=0xFFFFFFFF, body=NONCE))),
    ("an answer instead of a join", guest(frame(ANSWER, ssn=1, body=NONCE))),
    ("the key instead of a join", guest(lambda s, _: frame(JOIN, ssn=1, body=s.key))),
    ("a join as Weft had it before", guest(lambda s, _: frame(5, ssn=1, body=s.key[:8]))),
    ("a segment instead of a join", guest(frame(SEGMENT, body=HELLO))),
    ("another protocol instead of a join", guest(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")),
    ("half a join", guest(frame(JOIN, ssn=1, body=NONCE)[:14], JOIN_LIMIT + PROMPT)),
    ("silent guests", silent_guests),
    ("a path in place of another", replaced),
    ("a path that is torn within a frame", torn),
    ("a path that ends with what it had", replayed),
    ("a wrong CRC on one of two paths", ends_path(wrong_crc(frame(SEGMENT, body=HELLO)))),
    ("a frame that is too long on one of two paths", ends_path(b"\xff\xff" + bytes(100))),
    ("a frame that is too short on one of two paths", ends_path(b"\x00\x01" + bytes(100))),
    ("a wrong CRC on the only path", ends_last(wrong_crc(frame(SEGMENT, body=HELLO)))),
    ("a number too far ahead", ends_all(frame(SEGMENT, ssn=WINDOW, body=HELLO))),
    ("a number far too far ahead", ends_all(frame(SEGMENT, ssn=0x7FFFFFFF, body=HELLO))),
    ("an ack of what was not sent", ends_all(frame(ACK, ack=1000))),
    ("a segment with such an ack", ends_all(frame(SEGMENT, ack=0x7FFFFFFF, body=HELLO))),
    ("an end too early", ends_all(frame(SEGMENT, ssn=2, body=HELLO), frame(END, ssn=1))),
    ("an end too far ahead", ends_all(frame(END, ssn=WINDOW + 1))),
    ("two ends", ends_all(frame(END, ssn=1), frame(END, ssn=2))),
    ("a segment behind the end", ends_all(frame(END, ssn=1), frame(SEGMENT, ssn=1, body=HELLO))),
    ("a segment without bytes", ends_all(frame(SEGMENT))),
    ("an unknown type", ends_all(frame(77))),
    ("type 0", ends_all(frame(0))),
    ("addresses from an initiator", ends_all(frame(ADDRESSES, body=addresses()))),
    ("a join on a path", ends_all(frame(JOIN, body=bytes(8)))),
    ("a challenge on a path", ends_all(frame(CHALLENGE, body=bytes(16)))),
    ("an answer on a path", ends_all(frame(ANSWER, body=bytes(8)))),
    ("too many bytes", too_many_bytes),
    ("an end", ends_all(frame(END))),
    ("client: a wrong proof", answered(lambda p: frame(CHALLENGE, ssn=1, body=proves(p)[:8] + bytes(8)))),
    ("client: the initiator's own proof", answered(lambda p: frame(CHALLENGE, ssn=1, body=proves(p, responder=0)))),
    ("client: a proof for another address", answered(lambda p: frame(CHALLENGE, ssn=1, body=proves(p, address="10.0.0.7")))),
    ("client: a proof for another path", answered(lambda p: frame(CHALLENGE, ssn=1, body=proves(p, number=0)))),
    ("client: a challenge for another path", answered(lambda p: frame(CHALLENGE, ssn=0, body=proves(p)))),
    ("client: a segment instead of a challenge", answered(lambda p: proves(p) and frame(SEGMENT, body=HELLO))),
    ("client: type 0 instead of a challenge", answered(lambda p: proves(p) and frame(0))),
    ("client: an end of the wrong length", answered(lambda p: proves(p) and frame(END, body=b"123"))),
    ("client: another protocol", answered(lambda p: proves(p) and b"HTTP/1.1 400 Bad Request\r\n\r\n")),
    ("client: silence", answered(lambda p: proves(p) and b"")),
    ("client: addresses twice", ended_by(addresses(), addresses())),
    ("client: more addresses than there are", ended_by(addresses(num=3))),
    ("client: nine addresses", ended_by(addresses(*["::1"] * 9))),
    ("client: addresses of nobody", unreachable_homes),
    ("client: addresses as Weft told them before", told_before),
    ("client: addresses of its own", its_own_addresses),
    ("a private network that both hosts have", private_network),
]

if __name__ == "__main__":
    if os.environ.get("WEFT_PATHS") != "2":
        sys.exit("paths.py: this lab has no WEFT_PATHS=2 (scripts/lab/run --env)")
    sys.exit(ring.run_with_rping("paths.py", CASES))
