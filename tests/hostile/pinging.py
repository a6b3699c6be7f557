# SPDX-License-Identifier: GPL-2.0
"""rping on host A, as a server and as clients, and we its peer: a connection whose end it must see."""

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import time

import fpdu
import handshake
import mpa
from handshake import START, Failure, check, on, reset
from peer import PROMPT, Stream

SIZE = 64
INFO_LEN = 16
# The address that we claim for our memory. Nothing is there; an access to it is a message to us.
OUR_STAG, OUR_BUFFER = 0x1234, 0x1000
RESPONDER_LIMITS = (4, 4)


def info(size=SIZE, stag=OUR_STAG, address=OUR_BUFFER):
    """What rping's messages say: where a buffer is."""
    return struct.pack(">QII", address, stag, size)


class Said:
    """What the rping server has said so far."""

    text = ""

    @classmethod
    def now(cls):
        cls.text += (handshake.SERVER_PROCESS.stderr.read() or b"").decode()
        return cls.text

    @classmethod
    def within(cls, seconds, since, *any_of):
        deadline = time.monotonic() + seconds
        while not any(what in cls.now()[since:] for what in any_of):
            check(handshake.SERVER_PROCESS.poll() is None, "the rping server died")
            check(
                time.monotonic() < deadline,
                f"the rping server has not said {' or '.join(any_of)} after {seconds} s but {cls.text[since:]!r}",
            )
            time.sleep(0.02)


@contextlib.contextmanager
def client(status=None, extended=False, limits=RESPONDER_LIMITS, says=None, crc=True, marks=False):
    """A connection to the rping server, which must see its end, and the completion status.

    limits are those of enhanced setup, flags included. rping must print says, or one of them if there
    are several. marks: the server asks us for markers, and gets them.
    """
    flags = (mpa.CRC if crc else 0) | mpa.ENHANCED | (mpa.EXTEND if extended else 0)
    since = len(Said.now())
    sock = handshake.connected()
    try:
        sock.sendall(
            mpa.request(flags=flags, revision=2, private=mpa.rd_limits(*limits))
        )
        answer = handshake.receive_frame(sock)
        check(answer.key == mpa.REPLY_KEY and not answer.flags & mpa.REJECT, f"answer {vars(answer)}")
        told = answer.flags & (mpa.EXTEND | mpa.EXTENDED)
        check(told == (mpa.EXTENDED if extended else 0), f"extension flags {told:#x}")
        check(bool(answer.flags & mpa.MARKERS) == marks, f"answer {vars(answer)}")
        stream = Stream(sock, crc=bool(answer.flags & mpa.CRC), marks=marks)
        stream.ird = struct.unpack(">H", answer.private[:2])[0] & 0x3FFF
        yield stream
    finally:
        sock.close()
    if says is not None or status is not None:
        # rping may be gone over it before the event comes.
        what = says or f"cq completion failed status {status}\n"
        Said.within(PROMPT, since, *((what,) if isinstance(what, str) else what))
    else:
        Said.within(PROMPT, since, "server DISCONNECT EVENT")
        for complaint in ("bogus data", "completion failed"):
            check(complaint not in Said.now()[since:], f"the server said {Said.text[since:]!r}")


def bad_crc(ulpdu, bit):
    frame = bytearray(mpa.fpdu(ulpdu))
    frame[bit // 8] ^= 1 << bit % 8
    return bytes(frame)


def wanted(stream, size=SIZE, data=None):
    """Has the server read our buffer: returns its request, taken apart."""
    stream.give_raw(data or fpdu.framed(fpdu.send(info(size), msn=stream.next_msn())))
    asked = stream.expect(fpdu.READ_REQUEST)
    check(len(asked.payload) == fpdu.READ_REQUEST_LEN, f"read request {asked}")
    sink, sink_to, length, stag, source_to = struct.unpack(">IQIIQ", asked.payload)
    check((length, stag, source_to) == (size, OUR_STAG, OUR_BUFFER), f"read request {asked}")
    return sink, sink_to


TEXT = (b"rdma-ping-0: " + bytes(range(65, 123))).ljust(SIZE - 1, b"x")[: SIZE - 1] + b"\0"


def fin(stream):
    stream.sock.shutdown(socket.SHUT_WR)
    stream.ends()


def rst(stream):
    reset(stream.sock)


def ping(stream, answer=None, advert=None, write_advert=None):
    """One honest ping; the arguments are ways to send its three messages."""

    def plainly(frame):
        stream.give_raw(frame)

    frame = fpdu.framed(fpdu.send(info(), msn=stream.next_msn()))
    (advert or plainly)(frame)
    asked = stream.expect(fpdu.READ_REQUEST)
    sink, sink_to = struct.unpack(">IQ", asked.payload[:12])
    if answer:
        answer(sink, sink_to)
    else:
        stream.give(fpdu.tagged(fpdu.READ_RESPONSE, sink, sink_to, TEXT))
    stream.expect(fpdu.SEND)
    (write_advert or plainly)(fpdu.framed(fpdu.send(info(), msn=stream.next_msn())))
    echo = stream.expect(fpdu.WRITE)
    check(echo.payload.rstrip(b"\0") == TEXT.rstrip(b"\0"), f"the echo is {echo.payload}")
    check((echo.stag, echo.offset) == (OUR_STAG, OUR_BUFFER), f"the echo goes to {echo}")
    stream.expect(fpdu.SEND)


def thread_states(pid):
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii") as stat:
                yield stat.read().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def server_stopped():
    """The server posts no receive meanwhile: each of its threads has stopped, which takes a moment."""
    server_pid = handshake.SERVER_PROCESS.pid
    handshake.SERVER_PROCESS.send_signal(signal.SIGSTOP)
    try:
        deadline = time.monotonic() + PROMPT
        while any(state != "T" for state in thread_states(server_pid)):
            check(time.monotonic() < deadline, "the rping server does not stop")
            time.sleep(0.01)
        yield
    finally:
        handshake.SERVER_PROCESS.send_signal(signal.SIGCONT)


def segment_size():
    """What host A's TCP takes for one segment towards us, of the only connection there is."""
    shown = subprocess.run(
        on("A", "ss", "-tinH", "state", "established", f"( sport = :{handshake.PORT} )"),
        check=True, capture_output=True, text=True,
    ).stdout
    found = re.findall(r"\bmss:(\d+)", shown)
    check(len(found) == 1, f"ss says {shown!r}")
    return int(found[0])


@contextlib.contextmanager
def server(count=1, extended=False):
    """A connection from an rping client, which must come to an end. Its region is in .region."""
    with handshake.Server() as listener:
        listener.client = subprocess.Popen(
            on("A", "rping", "-c", "-a", handshake.HERE, "-p", str(handshake.OWN_PORT), "-C", str(count)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        sock = listener.accept()
        request = handshake.receive_frame(sock)
        ird, ord_ = struct.unpack(">HH", request.private[:4])
        # Peer to peer if they ask for it, and then with a WRITE as the first FPDU.
        peer_to_peer = ird & 0x8000
        check(not peer_to_peer or ord_ & 0x8000, f"no RTR by WRITE offered: {request.private.hex()}")
        limits = mpa.rd_limits(1 | peer_to_peer, 1 | peer_to_peer)
        offer = request.flags & (mpa.EXTEND | mpa.EXTENDED)
        check(offer == mpa.EXTEND, f"extension flags {offer:#x} in the request")
        flags = mpa.CRC | mpa.ENHANCED | (mpa.EXTENDED if extended else offer)
        sock.sendall(mpa.reply(flags=flags, revision=2, private=limits))
        stream = Stream(sock)
        stream.ird = ird & 0x3FFF
        if peer_to_peer:
            check(not stream.expect(fpdu.WRITE).payload, "the RTR has a payload")
        stream.region = region_of(stream)
        stream.process = listener.client
        yield stream
        sock.close()
        try:
            text = listener.client.communicate(timeout=START)[0].decode()
        except subprocess.TimeoutExpired as error:
            raise Failure(f"rping -c still runs after {START} s") from error
        check(listener.client.returncode >= 0, f"rping -c died: status {listener.client.returncode}, {text}")
        if stream.sent_msn < 2 * count:
            check("client DISCONNECT EVENT" in text, f"rping -c said {text!r}")
        else:
            check(handshake.rping_ended_well(listener.client.returncode, text), f"rping -c: {text}")


def region_of(stream):
    got = stream.expect(fpdu.SEND)
    address, stag, size = struct.unpack(">QII", got.payload)
    check(size == SIZE, f"a region of {size} bytes")
    return stag, address


def reads_back(stream, region, size=SIZE, msn=1):
    stream.give(fpdu.read_request(region, size, (0xCAFE, 0xF00D), msn=msn))
    got = stream.expect(fpdu.READ_RESPONSE)
    check((got.stag, got.offset, got.last, len(got.payload)) == (0xCAFE, 0xF00D, True, size), f"answer {got}")
    return got.payload
