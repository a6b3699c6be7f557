# SPDX-License-Identifier: GPL-2.0
"""rping on host A, as a server and as clients, and we its peer: a connection whose end it must see."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess

from hosts import HERE, OWN_PORT, PORT, SERVER, START, Failure, check, listen, on, reset, wait_until
from peer import PROMPT, Stream, connected, peer_socket, receive_frame
from wire import ddp, mpa

SIZE = 64
INFO_LEN = 16
# The address that we claim for our memory. Nothing is there; an access to it is a message to us.
OUR_STAG, OUR_BUFFER = 0x1234, 0x1000
RESPONDER_LIMITS = (4, 4)


def info(size=SIZE, stag=OUR_STAG, address=OUR_BUFFER):
    """What rping's messages say: where a buffer is."""
    return struct.pack(">QII", address, stag, size)


def listens(port):
    tables = pathlib.Path(f"/proc/{Said.server.pid}/net")
    found = re.search(rf": \w+:{port:04X} \w+:\w+ 0A ", (tables / "tcp").read_text())
    with contextlib.suppress(FileNotFoundError):
        found = found or re.search(rf" 10 +\d+ +{port} ", (tables / "sctp/eps").read_text())
    return found


class Said:
    """The rping server, and its output so far."""

    server = None
    text = ""

    @classmethod
    def lives(cls):
        return cls.server and cls.server.poll() is None

    @classmethod
    def now(cls):
        cls.text += (cls.server.stderr.read() or b"").decode()
        return cls.text

    @classmethod
    def within(cls, seconds, since, *any_of):
        def said():
            heard = any(what in cls.now()[since:] for what in any_of)
            check(heard or cls.lives(), "the rping server died")
            return heard

        what = f"the rping server has not said {' or '.join(any_of)} after {seconds} s but"
        wait_until(said, seconds, lambda: f"{what} {cls.text[since:]!r}")

    @classmethod
    def end(cls, since):
        """It sees the end of a connection, and complains of nothing."""
        cls.within(PROMPT, since, "server DISCONNECT EVENT")
        for complaint in ("bogus data", "completion failed"):
            check(complaint not in cls.now()[since:], f"the server said {cls.text[since:]!r}")


def start_server():
    Said.server = subprocess.Popen(on("A", "rping", "-s", "-P", "-p", str(PORT)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.set_blocking(Said.server.stderr.fileno(), False)
    wait_until(lambda: listens(PORT) or not Said.lives(), 20, "rping -s does not listen", 0.1)
    check(Said.lives(), f"rping -s ended: {Said.server.stderr.read()!r}")


def stop_server():
    if Said.lives():
        Said.server.send_signal(signal.SIGINT)
        try:
            Said.server.wait(10)
        except subprocess.TimeoutExpired:
            Said.server.kill()
            Said.server.wait(10)


def ended_well(status, text):
    """rping's client had its answers, and was told of the end.
    Then it may read events from a channel that its own main thread has closed, and say nothing else. That is rping's own doing:
    rdma-core's later releases wake the reader before they close."""
    said = [line for line in text.strip().splitlines() if not line.startswith("ping data: ")]
    closed = len(said) == 2 and "DISCONNECT EVENT" in said[0] and said[1] == "rdma_get_cm_event: Bad file descriptor"
    return status == 0 or status == 255 and closed


def ordinary_rping(count=3, limit=30):
    words = ("-a", SERVER, "-p", str(PORT), "-V", "-C", str(count))
    done = subprocess.run(on("B", "rping", "-c", *words), capture_output=True, timeout=limit, check=False)
    text = (done.stdout + done.stderr).decode()
    check(ended_well(done.returncode, text), f"ordinary rping: status {done.returncode}: {text}")


# --- we are the server's client ---
@contextlib.contextmanager
def client(status=None, extended=False, limits=RESPONDER_LIMITS, says=None, crc=True, marks=False):
    """A connection to the rping server, which must see its end, and the completion status.
    limits are those of enhanced setup, flags included. rping must print says, or one of them if there are several. marks: the
    server asks us for markers, and gets them."""
    flags = (mpa.CRC if crc else 0) | mpa.ENHANCED | (mpa.EXTEND if extended else 0)
    since = len(Said.now())
    sock = connected()
    try:
        sock.sendall(mpa.request(flags=flags, revision=2, private=mpa.rd_limits(*limits)))
        answer = receive_frame(sock)
        check(answer.key == mpa.REPLY_KEY and not answer.flags & mpa.REJECT, f"answer {vars(answer)}")
        told = answer.flags & (mpa.EXTEND | mpa.EXTENDED)
        check(told == (mpa.EXTENDED if extended else 0), f"extension flags {told:#x}")
        check(bool(answer.flags & mpa.MARKERS) == marks, f"answer {vars(answer)}")
        stream = Stream(sock, crc=bool(answer.flags & mpa.CRC), marks=marks)
        stream.ird = mpa.Limits.parsed(answer.private).ird
        yield stream
    finally:
        sock.close()
    if says is not None or status is not None:
        # rping may be gone over it before the event comes.
        what = says or f"cq completion failed status {status}\n"
        Said.within(PROMPT, since, *((what,) if isinstance(what, str) else what))
    else:
        Said.end(since)


def bad_crc(ulpdu, bit):
    frame = bytearray(mpa.fpdu(ulpdu))
    frame[bit // 8] ^= 1 << bit % 8
    return bytes(frame)


def wanted(stream, size=SIZE, data=None):
    """Has the server read our buffer: returns its request, taken apart."""
    stream.give_raw(data or mpa.framed(ddp.send(info(size), msn=stream.next_msn())))
    asked = stream.expect(ddp.READ_REQUEST)
    check(len(asked.payload) == ddp.READ_REQUEST_LEN, f"read request {asked}")
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
    (advert or stream.give_raw)(mpa.framed(ddp.send(info(), msn=stream.next_msn())))
    asked = stream.expect(ddp.READ_REQUEST)
    sink, sink_to = struct.unpack(">IQ", asked.payload[:12])
    if answer:
        answer(sink, sink_to)
    else:
        stream.give(ddp.tagged(ddp.READ_RESPONSE, sink, sink_to, TEXT))
    stream.expect(ddp.SEND)
    (write_advert or stream.give_raw)(mpa.framed(ddp.send(info(), msn=stream.next_msn())))
    echo = stream.expect(ddp.WRITE)
    check(echo.payload.rstrip(b"\0") == TEXT.rstrip(b"\0"), f"the echo is {echo.payload}")
    check((echo.stag, echo.offset) == (OUR_STAG, OUR_BUFFER), f"the echo goes to {echo}")
    stream.expect(ddp.SEND)


def thread_states(pid):
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield (thread / "stat").read_text().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def server_stopped():
    """The server posts no receive meanwhile: each of its threads has stopped, which takes a moment."""
    Said.server.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: set(thread_states(Said.server.pid)) <= {"T"}, PROMPT, "the rping server does not stop", 0.01)
        yield
    finally:
        Said.server.send_signal(signal.SIGCONT)


def segment_size():
    """What host A's TCP takes for one segment towards us, of the only connection there is."""
    shown = subprocess.run(on("A", "ss", "-tinH", "state", "established", f"( sport = :{PORT} )"),
                           check=True, capture_output=True, text=True).stdout
    found = re.findall(r"\bmss:(\d+)", shown)
    check(len(found) == 1, f"ss says {shown!r}")
    return int(found[0])


# --- clients come to us ---
@contextlib.contextmanager
def caller(*options):
    """An rping client on host A that comes to us, and does not outlive the block."""
    command = on("A", "rping", "-c", "-a", HERE, "-p", str(OWN_PORT), *(options or ("-C", "1")))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            yield process
        finally:
            process.kill()


class Server(contextlib.ExitStack):
    """A listening socket on host B, to which an rping client comes."""

    def __init__(self, backlog=8):
        super().__init__()
        self.socket = self.enter_context(peer_socket())
        listen(self.socket, backlog=backlog)
        self.client = None
        self.request_flags = 0

    def call(self, *options):
        self.client = self.enter_context(caller(*options))

    def accept(self):
        try:
            sock, _ = self.socket.accept()
        except socket.timeout as error:
            raise Failure("no connection came") from error
        return sock

    def accept_request(self, revision):
        sock = self.accept()
        frame = receive_frame(sock, START)
        check(frame.key == mpa.REQUEST_KEY, f"no Request but {vars(frame)}")
        check(frame.revision == revision, f"revision {frame.revision}, expected {revision}")
        self.request_flags = frame.flags
        return sock

    def said(self, within=START):
        """The client's output, once it has ended."""
        try:
            return self.client.communicate(timeout=within)[0].decode()
        except subprocess.TimeoutExpired as error:
            raise Failure(f"rping -c still runs after {within} s") from error

    def outcome(self, event, error, within):
        text = self.said(within)
        check(f"{event}, error {error}" in text, f"expected '{event}, error {error}', rping said: {text.strip()}")

    def ends_well(self):
        text = self.said()
        check(ended_well(self.client.returncode, text), f"rping -c: status {self.client.returncode}, {text}")


@contextlib.contextmanager
def server(count=1, extended=False):
    """A connection from an rping client, which must come to an end. Its region is in .region."""
    with Server() as listener:
        listener.call("-C", str(count))
        sock = listener.accept()
        request = receive_frame(sock)
        asked = mpa.Limits.parsed(request.private)
        # Peer to peer if they ask for it, and then with a WRITE as the first FPDU.
        check(not asked.p2p or asked.write, f"no RTR by WRITE offered: {request.private.hex()}")
        offer = request.flags & (mpa.EXTEND | mpa.EXTENDED)
        check(offer == mpa.EXTEND, f"extension flags {offer:#x} in the request")
        flags = mpa.CRC | mpa.ENHANCED | (mpa.EXTENDED if extended else offer)
        sock.sendall(mpa.reply(flags=flags, revision=2, private=mpa.Limits(1, 1, p2p=asked.p2p, write=asked.p2p).packed()))
        stream = Stream(sock)
        stream.ird = asked.ird
        if asked.p2p:
            check(not stream.expect(ddp.WRITE).payload, "the RTR has a payload")
        stream.region = region_of(stream)
        stream.process = listener.client
        yield stream
        sock.close()
        if stream.sent_msn < 2 * count:
            text = listener.said()
            check(listener.client.returncode >= 0, f"rping -c died: status {listener.client.returncode}, {text}")
            check("client DISCONNECT EVENT" in text, f"rping -c said {text!r}")
        else:
            listener.ends_well()


def region_of(stream, size=SIZE, within=PROMPT):
    """Where a buffer of the client's is."""
    address, stag, length = struct.unpack(">QII", stream.expect(ddp.SEND, within).payload)
    check(length == size, f"a region of {length} bytes")
    return stag, address


def reads_back(stream, region, size=SIZE, msn=1):
    stream.give(ddp.read_request(region, size, (0xCAFE, 0xF00D), msn=msn))
    got = stream.expect(ddp.READ_RESPONSE)
    check((got.stag, got.offset, got.last, len(got.payload)) == (0xCAFE, 0xF00D, True, size), f"answer {got}")
    return got.payload
