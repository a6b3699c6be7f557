# SPDX-License-Identifier: GPL-2.0
"""One connection after its handshake: our end of it, and the reasons a Terminate may give."""

import contextlib
import socket
import struct
import time

import fpdu
import handshake
import mpa
from handshake import Failure, check

# The timeout in seconds for what is due at once: shorter than a SEND may wait for a receive, but
# long enough for the pauses of an emulated machine.
PROMPT = 8

RDMAP, DDP, MPA = range(3)
# Layer, error type, error code.
LOCAL = (RDMAP, 0, 0)
READ_STAG, READ_BOUNDS, READ_PD, READ_WRAP = (RDMAP, 1, 0), (RDMAP, 1, 1), (RDMAP, 1, 3), (RDMAP, 1, 4)
CANNOT_INVALIDATE = (RDMAP, 1, 9)
RDMAP_VERSION, OPCODE, CATASTROPHIC = (RDMAP, 2, 5), (RDMAP, 2, 6), (RDMAP, 2, 7)
NO_RIGHT = (RDMAP, 1, 2)
DDP_LOCAL = (DDP, 0, 0)
STAG, BOUNDS, OTHER_PD, WRAP, TAGGED_VERSION = ((DDP, 1, code) for code in range(5))
QUEUE, NO_BUFFER, MSN, OFFSET, TOO_LONG, UNTAGGED_VERSION = ((DDP, 2, code) for code in range(1, 7))
BAD_CRC, BAD_MARKER = (MPA, 0, 2), (MPA, 0, 3)


class Stream:
    """Our end of a connection in full operation.

    marked: what comes has markers; marks: and so has what we send, which must be whole FPDUs then.
    """

    def __init__(self, sock, crc=True, marked=False, marks=False):
        self.sock = sock
        self.crc = crc
        self.marked = marked
        self.got = 0
        self.marks = marks
        self.marking = {}
        self.given = 0
        self.sent_msn = 0

    def give(self, *ulpdus):
        self.give_raw(fpdu.framed(*ulpdus))

    def give_raw(self, data):
        self.put(self.as_sent(data))

    def as_sent(self, data):
        """FPDUs with the markers that they need; marking says what is wrong with those."""
        if self.marks:
            data = mpa.marked(data, self.given, **self.marking)
        self.given += len(data)
        return data

    def put(self, data):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.sock.sendall(data)

    def in_pieces(self, data, *cuts):
        data = self.as_sent(data)
        start = 0
        for cut in (*cuts, len(data)):
            self.put(data[start:cut])
            start = cut
            time.sleep(0.002)

    def next_msn(self):
        self.sent_msn += 1
        return self.sent_msn

    def segment(self, within=PROMPT):
        return self.behind(handshake.receive_exactly(self.sock, 2, within), within)

    def behind(self, head, within):
        """The segment whose first two bytes on the wire are here."""
        if not self.marked:
            rest = fpdu.frame_len(struct.unpack(">H", head)[0]) - len(head)
            return fpdu.Segment(head + handshake.receive_exactly(self.sock, rest, within), self.crc)
        at = self.got
        field = at % mpa.MARKER_EVERY == 0 and 4
        if field:
            head += handshake.receive_exactly(self.sock, field, within)
        self.got += mpa.marked_len(fpdu.frame_len(struct.unpack(">H", head[field:])[0]), at)
        rest = self.got - at - len(head)
        return fpdu.Segment(head + handshake.receive_exactly(self.sock, rest, within), self.crc, at)

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

        culprit is the ULPDU that a Terminate of this kind must show.
        """
        deadline = time.monotonic() + within
        while True:
            got = self.segment(max(deadline - time.monotonic(), 0.01))
            if got.opcode == fpdu.TERMINATE:
                break
            check(got.opcode in allowed, f"{got} before the Terminate")
        term = fpdu.Terminate(got)
        check(term.reason == reason, f"Terminate {term.reason}, expected {reason}")
        self.shows(term, culprit)
        handshake.expect_end(self.sock, max(deadline - time.monotonic(), 0.5))

    @staticmethod
    def shows(term, culprit):
        layer, etype, _ = term.reason
        named = layer != MPA and etype != 0 and term.reason not in (TAGGED_VERSION, UNTAGGED_VERSION)
        if named and culprit is None:
            return
        check(term.has_length == named and term.has_ddp == named, f"Terminate {term.reason} with flags {vars(term)}")
        if not named:
            check(not term.shown and not term.has_rdmap, f"Terminate shows {term.shown.hex()}")
            return
        header = fpdu.TAGGED_LEN if culprit[0] & fpdu.TAGGED else fpdu.UNTAGGED_LEN
        if layer == RDMAP and culprit[1] & 0x0F == fpdu.READ_REQUEST and len(culprit) == 46 and etype == 1:
            check(term.has_rdmap, "no RDMAP header of the read request in the Terminate")
            header = 46
        check(term.shown == culprit[:header], f"Terminate shows {term.shown.hex()}, not {culprit[:header].hex()}")
        check(term.length == len(culprit), f"Terminate says {term.length} bytes, not {len(culprit)}")

    def ends(self, within=PROMPT):
        """The connection ends without a Terminate."""
        deadline = time.monotonic() + within
        with contextlib.suppress(ConnectionResetError):
            while True:
                self.sock.settimeout(max(deadline - time.monotonic(), 0.01))
                try:
                    head = self.sock.recv(2, socket.MSG_WAITALL)
                except socket.timeout as error:
                    raise Failure(f"still open after {within} s") from error
                if len(head) < 2:
                    break
                got = self.behind(head, PROMPT)
                check(got.opcode != fpdu.TERMINATE, f"a Terminate, {got}")
        self.sock.close()
