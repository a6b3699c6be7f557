#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hostile peers of DDP over SCTP (RFC 5043).

    scripts/lab/run --env WEFT_TRANSPORT=sctp -- scripts/lab/two-hosts --weft -- tests/hostile/session.py [NAME...]

Speaks plain SCTP from host B: as a client to an rping server on host A, and as a server to an
rping client there.
"""

import contextlib
import os
import socket
import struct
import subprocess
import sys
import time

import fpdu
import handshake
import ring
from handshake import HERE, OWN_PORT, PORT, PROMPT, REQUEST_LIMIT, SERVER, Failure, check

# linux/sctp.h
SCTP_SNDINFO, SCTP_ADAPTATION_LAYER, SCTP_RECVRCVINFO, SCTP_RCVINFO = 2, 7, 32, 3
SEGMENT, CONTROL = 16, 17
DDP = 1
INITIATE, ACCEPT, REJECT, TERMINATE, ENHANCED_INITIATE, ENHANCED_ACCEPT, ENHANCED_REJECT = range(1, 8)
EXTEND = 0x8000


class Session:
    """Our end of an association."""

    def __init__(self, sock):
        self.sock = sock
        self.ssn = 0
        self.peer_ssn = 0

    def put(self, ppid, data, ssn=None):
        """Sends a message; ssn overrides the true DDP-SSN."""
        head = struct.pack(">H", self.ssn if ssn is None else ssn)
        self.raw(ppid, head + data)
        self.ssn = (self.ssn + 1) % 0x10000

    def raw(self, ppid, message):
        info = struct.pack("HHIIi", 0, 0, socket.htonl(ppid), 0, 0)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.sock.sendmsg([message], [(socket.IPPROTO_SCTP, SCTP_SNDINFO, info)])

    def control(self, code, private=b"", **fields):
        self.put(CONTROL, struct.pack(">H", code) + private, **fields)

    def get(self, within=PROMPT):
        """The next message: its payload protocol identifier, and what is behind the DDP-SSN."""
        self.sock.settimeout(within)
        try:
            data, about, _, _ = self.sock.recvmsg(70000, 256)
        except socket.timeout as error:
            raise Failure(f"no message within {within} s") from error
        check(data, "the peer ended the association")
        ppid = next(
            socket.ntohl(struct.unpack("HHHHIIIIi", rcvinfo[:28])[4])
            for level, kind, rcvinfo in about
            if level == socket.IPPROTO_SCTP and kind == SCTP_RCVINFO
        )
        ssn = struct.unpack(">H", data[:2])[0]
        check(ssn == self.peer_ssn, f"DDP-SSN {ssn}, not {self.peer_ssn}")
        self.peer_ssn = (ssn + 1) % 0x10000
        return ppid, data[2:]

    def expect_control(self, code, within=PROMPT):
        ppid, data = self.get(within)
        got = struct.unpack(">H", data[:2])[0]
        check((ppid, got) == (CONTROL, code), f"payload {ppid} with {got:#x}, not {CONTROL} with {code:#x}")
        return data[2:]

    def expect_segment(self, within=PROMPT):
        ppid, data = self.get(within)
        check(ppid == SEGMENT, f"payload {ppid}, not {SEGMENT}")
        return data

    def ends(self, within=PROMPT):
        """The peer ends the association, and says nothing more than why."""
        deadline = time.monotonic() + within
        while True:
            self.sock.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                if not self.sock.recv(70000):
                    break
            except socket.timeout as error:
                raise Failure(f"still there after {within} s") from error
            except ConnectionResetError:
                break
        self.sock.close()


def sctp_socket(adaptation=DDP):
    with handshake.host_b():
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_SCTP, SCTP_RECVRCVINFO, 1)
    if adaptation:
        sock.setsockopt(socket.IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, struct.pack("I", adaptation))
    return sock


def associated(adaptation=DDP):
    sock = sctp_socket(adaptation)
    sock.settimeout(PROMPT)
    sock.connect((SERVER, PORT))
    return Session(sock)


def accepted():
    """A session in full operation."""
    session = associated()
    session.control(INITIATE)
    check(session.expect_control(ACCEPT) == b"", "private data that nobody gave")
    return session


def gone(session):
    """Leaves as a program that is killed."""
    handshake.reset(session.sock)


# --- we associate: cases against the responder ---


def stranger(adaptation):
    def run():
        counted = handshake.kernel_log().count("without an indication of DDP")
        # The refusal may come before connect() returns.
        with contextlib.suppress(ConnectionResetError):
            associated(adaptation).ends()
        check(handshake.kernel_log().count("without an indication of DDP") > counted, "the kernel log says nothing")

    return run


def silence():
    began = time.monotonic()
    associated().ends(REQUEST_LIMIT + PROMPT)
    check(time.monotonic() - began > 1, "ended at once, though nothing was wrong yet")


def dropped(ppid, message):
    """The association ends for this first message."""

    def run():
        session = associated()
        session.raw(ppid, message)
        session.ends()

    return run


def dropped_later(ppid, data, ssn=None):
    """A session in full operation ends for this message."""

    def run():
        session = accepted()
        session.put(ppid, data, ssn=ssn)
        session.ends()

    return run


def plain():
    gone(accepted())


def enhanced():
    session = associated()
    session.control(ENHANCED_INITIATE, struct.pack(">HH", 0x8000 | 1, 0x8000 | 1))
    depths = session.expect_control(ENHANCED_ACCEPT)
    check(len(depths) == 4, f"IRD and ORD are {depths.hex()}")
    gone(session)


def extending():
    session = associated()
    session.control(ENHANCED_INITIATE | EXTEND, struct.pack(">HH", 1, 1))
    session.expect_control(ENHANCED_ACCEPT | EXTEND)
    gone(session)


def terminate():
    session = accepted()
    session.control(TERMINATE)
    session.ends()


def bad_segment():
    """A segment that DDP refuses gets a Terminate message of RDMAP's before the end."""
    session = accepted()
    session.put(SEGMENT, fpdu.untagged(fpdu.SEND, queue=7))
    got = session.expect_segment()
    check(got[1] & 0x0F == fpdu.TERMINATE, f"{got.hex()} is no Terminate")
    session.ends()


def initiate_then_gone():
    for wait in (0, 0.01, 0.05, 0.2) * 2:
        session = associated()
        session.control(INITIATE)
        time.sleep(wait)
        gone(session)
        time.sleep(0.5)


def message(code, private=b"", ssn=0):
    return struct.pack(">HH", ssn, code) + private


# --- we listen: cases against the initiator ---


@contextlib.contextmanager
def listening():
    with sctp_socket() as sock:
        sock.bind((HERE, OWN_PORT))
        sock.listen()
        sock.settimeout(PROMPT)
        yield sock


def answered(code, private=b"", status=1):
    """A client that gets this answer to its Initiate ends by itself."""

    def run():
        with listening() as sock:
            client = subprocess.Popen(
                handshake.on("A", "rping", "-c", "-a", HERE, "-p", str(OWN_PORT), "-C", "1"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                while client.poll() is None:
                    with contextlib.suppress(socket.timeout):
                        sock.settimeout(1)
                        session = Session(sock.accept()[0])
                        ppid, data = session.get()
                        check(ppid == CONTROL, f"payload {ppid}, not {CONTROL}")
                        check(struct.unpack(">H", data[:2])[0] & 0xFF in (INITIATE, ENHANCED_INITIATE), data.hex())
                        session.control(code, private)
                        session.ends()
                check((client.returncode != 0) == (status != 0), f"the client ended with {client.returncode}")
            finally:
                client.kill()
                client.wait()

    return run


def refused_plainly():
    """A peer that knows no enhanced session is tried again without."""
    with listening() as sock:
        client = subprocess.Popen(
            handshake.on("A", "rping", "-c", "-a", HERE, "-p", str(OWN_PORT), "-C", "1"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            first = Session(sock.accept()[0])
            _, data = first.get()
            check(struct.unpack(">H", data[:2])[0] == ENHANCED_INITIATE | EXTEND, data.hex())
            gone(first)
            second = Session(sock.accept()[0])
            _, data = second.get()
            check(data[:2] == struct.pack(">H", INITIATE), f"{data.hex()} at the second try")
            gone(second)
        finally:
            client.kill()
            client.wait()


CASES = [
    ("no adaptation indication", stranger(0)),
    ("another adaptation", stranger(7)),
    ("silence", silence),
    ("an empty message", dropped(CONTROL, b"\0")),
    ("half a session control message", dropped(CONTROL, b"\0\0\0")),
    ("an unknown function code", dropped(CONTROL, message(99))),
    ("an Accept at first", dropped(CONTROL, message(ACCEPT))),
    ("a Terminate at first", dropped(CONTROL, message(TERMINATE))),
    ("a wrong DDP-SSN at first", dropped(CONTROL, message(INITIATE, ssn=1))),
    ("too much private data", dropped(CONTROL, message(INITIATE, bytes(513)))),
    ("an enhanced Initiate without depths", dropped(CONTROL, message(ENHANCED_INITIATE, bytes(3)))),
    ("a segment at first", dropped(SEGMENT, b"\0\0" + fpdu.send(b"hello"))),
    ("an unknown payload", dropped(0, message(INITIATE))),
    ("a plain session", plain),
    ("an enhanced session", enhanced),
    ("an enhanced session that extends", extending),
    ("a second Initiate", dropped_later(CONTROL, struct.pack(">H", INITIATE))),
    ("a wrong DDP-SSN", dropped_later(SEGMENT, fpdu.send(b"x"), ssn=2)),
    ("a DDP-SSN twice", dropped_later(SEGMENT, fpdu.send(b"x"), ssn=0)),
    ("a segment of no bytes", dropped_later(SEGMENT, b"")),
    ("a payload of another protocol", dropped_later(46, fpdu.send(b"x"))),
    ("a segment longer than MPA's", dropped_later(SEGMENT, bytes(65536))),
    ("a segment that DDP refuses", bad_segment),
    ("Terminate", terminate),
    ("Initiate, and gone", initiate_then_gone),
    ("client: Accept of another kind", answered(99)),
    ("client: Reject", answered(REJECT, b"no")),
    ("client: enhanced Reject", answered(ENHANCED_REJECT, bytes(4))),
    ("client: a peer without enhanced sessions", refused_plainly),
    ("ordinary rping afterwards", handshake.ordinary_rping),
]

if __name__ == "__main__":
    if os.environ.get("WEFT_TRANSPORT") != "sctp":
        sys.exit("session.py: WEFT_TRANSPORT is not sctp here; see its first lines")
    sys.exit(ring.run_with_rping("session.py", CASES) != 0)
