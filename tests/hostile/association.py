# SPDX-License-Identifier: GPL-2.0
"""Our end of an SCTP association: sessions of DDP (RFC 5043), and one that looks like a TCP connection."""
import contextlib
import socket
import struct

from hosts import PROMPT, Failure, check, host_b, until_end
from wire import mpa
from wire.sctp import ADAPTATION, CONTROL, SEGMENT, TERMINATE, control_of, frame_of, numbered, split

# linux/sctp.h
SCTP_SNDINFO, SCTP_NODELAY, SCTP_ADAPTATION_LAYER, SCTP_EVENTS, SCTP_STATUS, SCTP_RECVRCVINFO, SCTP_RCVINFO = 2, 3, 7, 11, 14, 32, 3
SCTP_PR_SUPPORTED = 113
MSG_NOTIFICATION = 0x8000
ASSOC_CHANGE, SHUTDOWN_COMP = 0x8001, 3
LONGEST = 70000


def sctp_socket(adaptation=ADAPTATION, family=socket.AF_INET):
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
    (rcvinfo,) = (data for level, kind, data in about if (level, kind) == (socket.IPPROTO_SCTP, SCTP_RCVINFO))
    return socket.ntohl(struct.unpack("HHHHIIIIi", rcvinfo[:28])[4])


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
        to: makes an association first, and sends the message in the packet that ends SCTP's handshake."""
        self.raw(ppid, numbered(self.ssn if ssn is None else ssn, data), more, to)
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
        self.put(CONTROL, numbered(code, private), **fields)

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
            ssn, behind = split(data)
            known = (ssn - self.peer_ssn) % 0x10000 >= 0x8000 or ssn in self.early
            check(not known, f"DDP-SSN {ssn} twice, {self.peer_ssn} is next")
            self.early[ssn] = (payload_of(about), behind)
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
        got, private = split(data)
        check((ppid, got) == (CONTROL, code), f"payload {ppid} with {got:#x}, not {CONTROL} with {code:#x}")
        return private

    def expect_segment(self, within=PROMPT):
        ppid, data = self.get(within)
        check(ppid == SEGMENT, f"payload {ppid}, not {SEGMENT}")
        return data

    def ends(self, within=PROMPT):
        """The peer ends the association, and says nothing more than why."""
        if not self.aborted:
            until_end(self.sock, within)
        self.sock.close()


class Association:
    """A socket to which cases written for TCP can speak: what is MPA there is user messages here.
    Frames and FPDUs are sent when they are whole. SCTP knows no part of a message, so that a case that leaves one behind is
    wrong here."""

    def __init__(self, sock):
        self.sock = sock
        self.session = Session(sock)
        self.greeted = False
        self.unsent = b""
        self.unread = b""
        self.ended = False

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
        while len(self.unsent) >= (whole := self.next_len()):
            frame, self.unsent = self.unsent[:whole], self.unsent[whole:]
            self.send_frame(frame, len(self.unsent) >= self.next_len())

    def next_len(self):
        """How long the next frame is, as far as its bytes tell."""
        if self.greeted:
            return mpa.end_of(self.unsent)
        return mpa.Parsed(self.unsent).end if len(self.unsent) >= mpa.HEADER_LEN else mpa.HEADER_LEN

    def send_frame(self, frame, more):
        try:
            if self.greeted:
                self.session.put(SEGMENT, mpa.Fpdu(frame).ulpdu, more=more)
            else:
                self.session.put(CONTROL, control_of(frame))
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
        if split(data)[0] != TERMINATE:
            self.unread += frame_of(data)
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
