# SPDX-License-Identifier: GPL-2.0
"""Our end of an SCTP association: sessions of DDP (RFC 5043), and one that looks like a TCP connection."""

import contextlib
import socket
import struct
import time

import fpdu
import mpa
from hosts import PROMPT, Failure, check, host_b

# linux/sctp.h
SCTP_SNDINFO, SCTP_NODELAY, SCTP_ADAPTATION_LAYER, SCTP_EVENTS, SCTP_STATUS, SCTP_RECVRCVINFO, SCTP_RCVINFO = 2, 3, 7, 11, 14, 32, 3
SCTP_PR_SUPPORTED = 113
MSG_NOTIFICATION = 0x8000
ASSOC_CHANGE, SHUTDOWN_COMP = 0x8001, 3
SEGMENT, CONTROL = 16, 17
DDP = 1
INITIATE, ACCEPT, REJECT, TERMINATE, ENHANCED_INITIATE, ENHANCED_ACCEPT, ENHANCED_REJECT = range(1, 8)
EXTEND = 0x8000
LONGEST = 70000


def sctp_socket(adaptation=DDP, family=socket.AF_INET):
    with host_b():
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_SCTP, SCTP_RECVRCVINFO, 1)
    sock.setsockopt(socket.IPPROTO_SCTP, SCTP_NODELAY, 1)
    if adaptation:
        sock.setsockopt(socket.IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, struct.pack("I", adaptation))
    return sock


def payload_of(about):
    """The payload protocol identifier in what recvmsg() says of a message."""
    return next(
        socket.ntohl(struct.unpack("HHHHIIIIi", rcvinfo[:28])[4])
        for level, kind, rcvinfo in about
        if level == socket.IPPROTO_SCTP and kind == SCTP_RCVINFO
    )


class Session:
    """Messages of both directions, each with its DDP-SSN."""

    def __init__(self, sock):
        self.sock = sock
        self.ssn = 0
        self.peer_ssn = 0
        # What came before its turn.
        self.early = {}
        # A send was told that the association is over, and nothing else will be: the kernel tells once.
        self.aborted = False

    def put(self, ppid, data, ssn=None, more=False, to=None):
        """Sends a message; ssn overrides the true DDP-SSN. more: in the same packet as the next one, if there is room.

        to: makes an association first, and sends the message in the packet that ends SCTP's handshake.
        """
        head = struct.pack(">H", self.ssn if ssn is None else ssn)
        self.raw(ppid, head + data, more, to)
        self.ssn = (self.ssn + 1) % 0x10000

    def raw(self, ppid, message, more=False, to=None):
        info = struct.pack("HHIIi", 0, 0, socket.htonl(ppid), 0, 0)
        try:
            self.sock.sendmsg([message], [(socket.IPPROTO_SCTP, SCTP_SNDINFO, info)], socket.MSG_MORE if more else 0, to)
        except BrokenPipeError:
            pass
        except ConnectionResetError:
            self.aborted = True

    def control(self, code, private=b"", **fields):
        self.put(CONTROL, struct.pack(">H", code) + private, **fields)

    def receive(self):
        """The next message: its payload protocol identifier, and what is behind the DDP-SSN. None: the end."""
        while self.peer_ssn not in self.early:
            data, about, flags, _ = self.sock.recvmsg(LONGEST, 256)
            if not data or flags & MSG_NOTIFICATION and struct.unpack("HHIH", data[:10])[::3] == (ASSOC_CHANGE, SHUTDOWN_COMP):
                check(not self.early, f"the end comes before message {self.peer_ssn}")
                return None
            if flags & MSG_NOTIFICATION:
                raise ConnectionResetError(f"the association is over: {data.hex()}")
            check(flags & socket.MSG_EOR, f"a part of a message, {len(data)} bytes")
            check(len(data) >= 2, f"a message of {len(data)} bytes")
            ssn = struct.unpack(">H", data[:2])[0]
            known = (ssn - self.peer_ssn) % 0x10000 >= 0x8000 or ssn in self.early
            check(not known, f"DDP-SSN {ssn} twice, {self.peer_ssn} is next")
            self.early[ssn] = (payload_of(about), data[2:])
        message = self.early.pop(self.peer_ssn)
        self.peer_ssn = (self.peer_ssn + 1) % 0x10000
        return message

    def get(self, within=PROMPT):
        """The same, which must come."""
        self.sock.settimeout(within)
        try:
            message = self.receive()
        except socket.timeout as error:
            raise Failure(f"no message within {within} s") from error
        check(message, "the peer ended the association")
        return message

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
        while not self.aborted:
            self.sock.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                if not self.sock.recv(LONGEST):
                    break
            except socket.timeout as error:
                raise Failure(f"still there after {within} s") from error
            except ConnectionResetError:
                break
        self.sock.close()


def code_of(frame):
    """The function code that says what a Request or Reply of MPA says, and the private data."""
    parsed = mpa.Parsed(frame)
    asks = parsed.key == mpa.REQUEST_KEY
    code = INITIATE if asks else REJECT if parsed.flags & mpa.REJECT else ACCEPT
    if parsed.flags & mpa.ENHANCED:
        code += ENHANCED_INITIATE - INITIATE
    return code | (EXTEND if parsed.flags & (mpa.EXTEND if asks else mpa.EXTENDED) else 0), parsed.private


def frame_of(code, private):
    """The Request or Reply of MPA that says what a session control message says."""
    extend, code = code & EXTEND, code & ~EXTEND
    enhanced = code >= ENHANCED_INITIATE
    code -= ENHANCED_INITIATE - INITIATE if enhanced else 0
    check(code in (INITIATE, ACCEPT, REJECT), f"function code {code} in the handshake")
    flags = mpa.CRC | (mpa.ENHANCED if enhanced else 0) | (mpa.REJECT if code == REJECT else 0)
    if extend:
        flags |= mpa.EXTEND if code == INITIATE else mpa.EXTENDED
    make = mpa.request if code == INITIATE else mpa.reply
    return make(flags=flags, revision=2 if enhanced else 1, private=private)


class Association:
    """A socket to which cases written for TCP can speak: what is MPA there is user messages here.

    Frames and FPDUs are sent when they are whole. SCTP knows no part of a message, so that a case that
    leaves one behind is wrong here.
    """

    def __init__(self, sock):
        self.sock = sock
        self.session = Session(sock)
        self.greeted = False
        self.unsent = b""
        self.unread = b""
        self.ended = False

    @classmethod
    def made(cls, family=socket.AF_INET):
        return cls(sctp_socket(family=family))

    def __getattr__(self, name):
        return getattr(self.sock, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def accept(self):
        sock, address = self.sock.accept()
        return Association(sock), address

    def sendall(self, data):
        self.unsent += data
        if not self.greeted and self.unsent[:16] not in (mpa.REQUEST_KEY, mpa.REPLY_KEY):
            # Another protocol's.
            self.session.raw(0, self.unsent)
            self.unsent = b""
        while (whole := self.next_len()) and len(self.unsent) >= whole:
            frame, self.unsent = self.unsent[:whole], self.unsent[whole:]
            self.send_frame(frame, (behind := self.next_len()) and len(self.unsent) >= behind)

    def next_len(self):
        """How long the next frame is; None: too few bytes of it are here to tell."""
        if len(self.unsent) < (2 if self.greeted else mpa.HEADER_LEN):
            return None
        if self.greeted:
            return fpdu.frame_len(struct.unpack(">H", self.unsent[:2])[0])
        return mpa.HEADER_LEN + struct.unpack(">H", self.unsent[18:20])[0]

    def send_frame(self, frame, more):
        try:
            if self.greeted:
                self.session.put(SEGMENT, frame[2 : 2 + struct.unpack(">H", frame[:2])[0]], more=more)
            else:
                self.session.control(*code_of(frame))
        except OSError:
            self.unsent = b""
            raise
        self.greeted = True

    def recv(self, size, flags=0):
        while len(self.unread) < (size if flags & socket.MSG_WAITALL else 1) and not self.ended:
            self.receive()
        data = self.unread[:size]
        if not flags & socket.MSG_PEEK:
            self.unread = self.unread[size:]
        return data

    def receive(self):
        message = self.session.receive()
        if message is None:
            self.ended = True
            return
        ppid, data = message
        if ppid == SEGMENT:
            self.unread += mpa.fpdu(data)
            return
        check(ppid == CONTROL, f"payload {ppid}")
        code = struct.unpack(">H", data[:2])[0]
        if code != TERMINATE:
            self.unread += frame_of(code, data[2:])
            return
        behind = self.session.receive()
        check(behind is None, f"{behind} behind the end of the session")
        self.ended = True

    def longest_frame(self):
        """The longest FPDU whose segment one packet can hold."""
        status = self.sock.getsockopt(socket.IPPROTO_SCTP, SCTP_STATUS, 256)
        return struct.unpack("I", status[20:24])[0] + 4

    def shutdown(self, how):
        self.session.control(TERMINATE)
        # Without the event a program that has ended its own side is not told of the association's end.
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.IPPROTO_SCTP, SCTP_EVENTS, b"\0\1")
        self.sock.shutdown(how)

    def close(self):
        self.sock.close()
        if self.unsent:
            raise ValueError(f"{len(self.unsent)} bytes of a frame, which SCTP cannot send: {self.unsent[:40].hex()}")
