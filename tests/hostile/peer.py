# SPDX-License-Identifier: GPL-2.0
"""Our end of a connection: the frames and FPDUs that come, and those that we send once its handshake is over."""
import contextlib
import socket
import time

from association import Association, sctp_socket
from hosts import OVER_SCTP, PORT, SERVER, Failure, check, expect_end, receive, receive_exactly, tcp_socket
from hosts import PROMPT as AT_ONCE
from wire import Malformed, ddp, mpa

# The timeout in seconds for what is due at once: shorter than a SEND may wait for a receive, but long enough for the
# pauses of an emulated machine.
PROMPT = 8


def peer_socket(family=socket.AF_INET):
    """A socket of host B for a peer of MPA, over the lab's transport."""
    return Association(sctp_socket(family=family)) if OVER_SCTP else tcp_socket(family)


def connected():
    sock = peer_socket()
    sock.settimeout(AT_ONCE)
    sock.connect((SERVER, PORT))
    return sock


def receive_frame(sock, within=AT_ONCE):
    header = receive_exactly(sock, mpa.HEADER_LEN, within)
    return mpa.Parsed(header + receive_exactly(sock, mpa.Parsed(header).end - mpa.HEADER_LEN, within))


class Closed(Failure):
    """The peer has ended the connection instead of sending another FPDU."""


class Line:
    """A connection that carries FPDUs."""

    def __init__(self, sock):
        self.sock = sock
        # The bytes that have come of the next one.
        self.ahead = b""

    def raw(self, data):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.sock.settimeout(PROMPT)
            self.sock.sendall(data)

    def fpdu(self, within, crc=True, place=None):
        """The next one. place: where it begins, if it has markers."""
        deadline = time.monotonic() + within
        while (missing := mpa.end_of(self.ahead, place=place) - len(self.ahead)) > 0:
            piece = receive(self.sock, missing, deadline, f"{len(self.ahead)} bytes of a frame after {within} s")
            if not piece:
                raise (Failure if self.ahead else Closed)(f"the peer closed after {len(self.ahead)} bytes of a frame")
            self.ahead += piece
        taken, self.ahead = mpa.Fpdu(self.ahead, place=place), b""
        faults = [fault for _, fault in taken.marker_faults() if fault] + list(taken.faults(crc))
        if faults:
            raise Malformed(f"{', '.join(faults)} in {taken.raw.hex()}")
        return taken


class Stream(Line):
    """Our end of a connection in full operation.
    marked: what comes has markers; marks: and so has what we send, which must be whole FPDUs then."""

    def __init__(self, sock, crc=True, marked=False, marks=False):
        super().__init__(sock)
        self.crc = crc
        self.marked = marked
        self.got = 0
        self.marks = marks
        self.marking = {}
        self.given = 0
        self.sent_msn = 0

    def give(self, *ulpdus):
        self.give_raw(mpa.framed(*ulpdus))

    def give_raw(self, data):
        self.raw(self.as_sent(data))

    def as_sent(self, data):
        """FPDUs with the markers that they need; marking says what is wrong with those."""
        if self.marks:
            data = mpa.marked(data, self.given, **self.marking)
        self.given += len(data)
        return data

    def in_pieces(self, data, *cuts):
        data = self.as_sent(data)
        for start, end in zip((0, *cuts), (*cuts, len(data))):
            self.raw(data[start:end])
            time.sleep(0.002)

    def next_msn(self):
        self.sent_msn += 1
        return self.sent_msn

    def segment(self, within=PROMPT):
        taken = self.fpdu(within, self.crc, self.got if self.marked else None)
        self.got += len(taken.raw)
        got = ddp.Segment(taken.ulpdu)
        if got.faults:
            raise Malformed(f"{', '.join(got.faults)} in {got}")
        got.on_wire = len(taken.raw)
        return got

    def expect(self, opcode, within=PROMPT):
        got = self.segment(within)
        check(got.opcode == opcode, f"opcode {opcode} expected, not {got}")
        return got

    def silent(self, seconds):
        self.sock.settimeout(seconds)
        try:
            data = self.sock.recv(1, socket.MSG_PEEK)
        except socket.timeout:
            return
        raise Failure(f"{'closed' if not data else 'it speaks'} within {seconds} s")

    def refused(self, reason, culprit=None, within=PROMPT, allowed=()):
        """Terminate for this reason, nothing but the opcodes allowed before it, and the end.
        culprit is the ULPDU that a Terminate of this kind must show."""
        deadline = time.monotonic() + within
        while (got := self.segment(max(deadline - time.monotonic(), 0.01))).opcode != ddp.TERMINATE:
            check(got.opcode in allowed, f"{got} before the Terminate")
        term = ddp.Terminate(got)
        check(term.reason == reason, f"Terminate {term.reason}, expected {reason}")
        self.shows(term, culprit)
        expect_end(self.sock, max(deadline - time.monotonic(), 0.5))

    def refuses(self, reason, *ulpdus, **how):
        """We send these, and the last one is refused."""
        self.give(*ulpdus)
        self.refused(reason, ulpdus[-1], **how)

    @staticmethod
    def shows(term, culprit):
        layer, etype, _ = term.reason
        named = layer != ddp.MPA and etype != 0 and term.reason not in (ddp.TAGGED_VERSION, ddp.UNTAGGED_VERSION)
        if named and culprit is None:
            return
        check(term.has_length == named and term.has_ddp == named, f"Terminate {term.reason} with flags {vars(term)}")
        if not named:
            check(not term.shown and not term.has_rdmap, f"Terminate shows {term.shown.hex()}")
            return
        header = ddp.TAGGED_LEN if culprit[0] & ddp.TAGGED else ddp.UNTAGGED_LEN
        if layer == ddp.RDMAP and culprit[1] & 0x0F == ddp.READ_REQUEST and len(culprit) == 46 and etype == 1:
            check(term.has_rdmap, "no RDMAP header of the read request in the Terminate")
            header = 46
        check(term.shown == culprit[:header], f"Terminate shows {term.shown.hex()}, not {culprit[:header].hex()}")
        check(term.length == len(culprit), f"Terminate says {term.length} bytes, not {len(culprit)}")

    def ends(self, within=PROMPT):
        """The connection ends without a Terminate."""
        deadline = time.monotonic() + within
        with contextlib.suppress(ConnectionResetError, Closed):
            while True:
                got = self.segment(max(deadline - time.monotonic(), 0.01))
                check(got.opcode != ddp.TERMINATE, f"a Terminate, {got}")
        self.sock.close()
