#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=22 debug hosts
"""Hostile peers in the MPA handshake.

    scripts/lab/run -- scripts/lab/two-hosts --weft -- tests/hostile/handshake.py [NAME...]

Speaks plain TCP from host B: as a client to an rping server on host A, and as a server to an
rping client there. Each case says what it expects and within what time; after all of them
ordinary rping must still work, and the devices and the module must go away. With NAMEs only
the cases whose names contain one of them run.
"""

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

import mpa
from association import Association
from hosts import HERE, OVER_SCTP, OWN_PORT, PORT, PROMPT, SERVER, Failure, check, host_b, on, reset

import tap

# The module's timeouts (kernel/conn/conn.h), and the delay that an emulated machine may add.
CONNECT_LIMIT = 5
REPLY_LIMIT = 10
REQUEST_LIMIT = 5
READY_LIMIT = 10
# How much later than promised the machine may be. Its clock has ticks, so it may be early by less than a tenth.
LATE = 2
EARLY = 0.1


def lasted(began, limit):
    """A timeout of the module's came when it was promised, counted from BEGAN."""
    took = time.monotonic() - began
    check(limit - EARLY <= took <= limit + LATE, f"it took {took:.1f} s, and {limit} are promised")


# --- host B's sockets and host A's programs ---


def tcp_socket(family=socket.AF_INET, host="B"):
    with host_b(host):
        sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def peer_socket(family=socket.AF_INET):
    """A socket of host B for a peer of MPA, over the lab's transport."""
    return Association.made(family) if OVER_SCTP else tcp_socket(family)


def connected(timeout=PROMPT):
    sock = peer_socket()
    sock.settimeout(timeout)
    sock.connect((SERVER, PORT))
    return sock


def listens(port):
    with open(f"/proc/{SERVER_PROCESS.pid}/net/tcp", encoding="ascii") as table:
        found = re.search(rf": \w+:{port:04X} \w+:\w+ 0A ", table.read())
    with contextlib.suppress(FileNotFoundError), open(f"/proc/{SERVER_PROCESS.pid}/net/sctp/eps", encoding="ascii") as table:
        found = found or re.search(rf" 10 +\d+ +{port} ", table.read())
    return found


SERVER_PROCESS = None


def start_server():
    global SERVER_PROCESS
    SERVER_PROCESS = subprocess.Popen(
        on("A", "rping", "-s", "-P", "-p", str(PORT)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    os.set_blocking(SERVER_PROCESS.stderr.fileno(), False)
    deadline = time.monotonic() + 20
    while not listens(PORT):
        check(SERVER_PROCESS.poll() is None, f"rping -s ended: {SERVER_PROCESS.stderr.read()!r}")
        check(time.monotonic() < deadline, "rping -s does not listen after 20 s")
        time.sleep(0.1)


def stop_server():
    if SERVER_PROCESS.poll() is None:
        SERVER_PROCESS.send_signal(signal.SIGINT)
        try:
            SERVER_PROCESS.wait(10)
        except subprocess.TimeoutExpired:
            SERVER_PROCESS.kill()
            SERVER_PROCESS.wait(10)


def rping_ended_well(status, text):
    """rping's client had its answers, and was told of the end.

    Then it may read events from a channel that its own main thread has closed, and say nothing else. That is
    rping's own doing: rdma-core's later releases wake the reader before they close.
    """
    said = [line for line in text.strip().splitlines() if not line.startswith("ping data: ")]
    closed = len(said) == 2 and "DISCONNECT EVENT" in said[0] and said[1] == "rdma_get_cm_event: Bad file descriptor"
    return status == 0 or status == 255 and closed


def ordinary_rping(count=3, limit=30):
    done = subprocess.run(
        on("B", "rping", "-c", "-a", SERVER, "-p", str(PORT), "-V", "-C", str(count)),
        capture_output=True,
        timeout=limit,
        check=False,
    )
    text = (done.stdout + done.stderr).decode()
    check(rping_ended_well(done.returncode, text), f"ordinary rping: status {done.returncode}: {text}")


def setting(name, value):
    """A setting of host A's device, for as long as the block runs."""
    return written(f"/sys/class/infiniband/weft0/weft/{name}", value)


@contextlib.contextmanager
def written(path, value):
    """A file of the kernel's that says something else for as long as the block runs."""
    with open(path, encoding="ascii") as file:
        before = file.read()
    with open(path, "w", encoding="ascii") as file:
        file.write(value)
    try:
        yield
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(before or "\n")


def counter(name):
    path = f"/sys/class/infiniband/weft0/ports/1/hw_counters/{name}"
    # The core reads a device's counters again only after a while.
    time.sleep(0.1)
    with open(path, encoding="ascii") as file:
        return int(file.read())


@contextlib.contextmanager
def refused_without_crc():
    """One peer is refused for want of CRCs meanwhile, and the kernel log names it."""
    text = f"peer {HERE}:"
    logged = kernel_log().count(text)
    counted = counter("conn_without_crc")
    yield
    check(counter("conn_without_crc") == counted + 1, f"conn_without_crc went from {counted} to {counter('conn_without_crc')}")
    check(kernel_log().count(text) > logged, "the kernel log does not name the peer")


def kernel_log():
    return subprocess.run(["dmesg"], capture_output=True, check=True).stdout.decode(errors="replace")


# --- answers ---


def receive_exactly(sock, length, within):
    deadline = time.monotonic() + within
    data = b""
    while len(data) < length:
        sock.settimeout(max(deadline - time.monotonic(), 0.01))
        try:
            piece = sock.recv(length - len(data))
        except socket.timeout as error:
            raise Failure(f"{len(data)} of {length} bytes after {within} s") from error
        check(piece, f"the peer closed after {len(data)} of {length} bytes")
        data += piece
    return data


def receive_frame(sock, within=PROMPT):
    header = receive_exactly(sock, mpa.HEADER_LEN, within)
    length = struct.unpack(">H", header[18:])[0]
    return mpa.Parsed(header + receive_exactly(sock, length, within))


def expect_end(sock, within, silent=True):
    """The peer closes or resets; with silent, it says nothing before."""
    deadline = time.monotonic() + within
    data = b""
    while True:
        sock.settimeout(max(deadline - time.monotonic(), 0.01))
        try:
            piece = sock.recv(4096)
        except socket.timeout as error:
            raise Failure(f"still open after {within} s") from error
        except ConnectionResetError:
            piece = b""
        if not piece:
            break
        data += piece
    check(not (silent and data), f"it answered {data!r}")
    sock.close()


# --- we connect: cases against the responder ---


def dropped(data, within=PROMPT):
    """The peer drops us for these bytes, without a word."""

    def run():
        sock = connected()
        sock.sendall(data)
        expect_end(sock, within)

    return run


def wrong_key_bytewise():
    key = bytearray(mpa.REQUEST_KEY)
    wrong_at = 9
    key[wrong_at] ^= 1
    sock = connected()
    for index, byte in enumerate(key):
        if index <= wrong_at:
            sock.sendall(bytes([byte]))
            time.sleep(0.05)
    # The frame is unfinished, so the wrong byte must have ended the connection.
    expect_end(sock, PROMPT)


def good_bytewise():
    sock = connected()
    for byte in mpa.request():
        sock.sendall(bytes([byte]))
        time.sleep(0.02)
    answer = receive_frame(sock)
    check(answer.key == mpa.REPLY_KEY and not answer.flags & mpa.REJECT, f"answer {vars(answer)}")
    reset(sock)


def silence_is_bounded(data):
    def run():
        began = time.monotonic()
        sock = connected()
        if data:
            sock.sendall(data)
        expect_end(sock, REQUEST_LIMIT + PROMPT)
        lasted(began, REQUEST_LIMIT)

    return run


def request_then_reset():
    # One at a time: rping forgets a request when the next one comes too soon.
    for wait in (0, 0.01, 0.05, 0.2) * 2:
        sock = connected()
        sock.sendall(mpa.request())
        time.sleep(wait)
        reset(sock)
        time.sleep(0.5)
    ordinary_rping()


def malformed_then_reset():
    """Each wrong in its own way, and gone before it can be told."""
    requests = (
        b"GET / HTTP/1.1\r\n\r\n",
        mpa.reply(),
        mpa.request(revision=3),
        mpa.request(private=bytes(513)),
        mpa.request(private_len=65535),
        mpa.request(flags=mpa.ENHANCED, revision=2, private=b"12"),
        mpa.request()[:19],
    )
    for _ in range(5):
        crowd = []
        for data in requests:
            sock = connected()
            sock.sendall(data)
            crowd.append(sock)
        for sock in crowd:
            reset(sock)
    ordinary_rping()


def half_header_then_fin():
    sock = connected()
    sock.sendall(mpa.request()[:10])
    sock.shutdown(socket.SHUT_WR)
    expect_end(sock, PROMPT)


def request_then_fin():
    sock = connected()
    sock.sendall(mpa.request())
    sock.shutdown(socket.SHUT_WR)
    expect_end(sock, PROMPT, silent=False)


def two_requests():
    sock = connected()
    # The second is read as an FPDU of 19,792 bytes ("MP"), which the rest makes whole: a frame is
    # judged by its CRC, and so not before its end.
    sock.sendall(mpa.request() * 2 + bytes(20000))
    answer = receive_frame(sock)
    check(answer.key == mpa.REPLY_KEY, f"answer {vars(answer)}")
    expect_end(sock, PROMPT, silent=False)


def early_fpdu():
    # The first message of an rping client says where its buffer is. The server then reads it.
    where = struct.pack(">QII", 0x1000, 0x1234, 64)
    sock = connected()
    sock.sendall(mpa.request() + mpa.fpdu(mpa.send_message(1, where)))
    answer = receive_frame(sock)
    check(not answer.flags & mpa.REJECT, f"answer {vars(answer)}")
    got = receive_exactly(sock, 4, PROMPT)
    check(mpa.rdmap_opcode(got) == mpa.READ_REQUEST, f"no read of our buffer but {got.hex()}")
    reset(sock)


def markers_wanted():
    """Granted, and no reason to ask for markers the other way."""
    sock = connected()
    sock.sendall(mpa.request(flags=mpa.MARKERS | mpa.CRC))
    answer = receive_frame(sock)
    check(not answer.flags & (mpa.REJECT | mpa.MARKERS), f"answer {vars(answer)}")
    reset(sock)


WITHOUT_CRC = [
    {"flags": 0},
    {"flags": mpa.ENHANCED, "revision": 2, "private": mpa.rd_limits(4, 4)},
]


def crc_required():
    """A peer that does not ask for CRCs is refused; one that asks is not."""
    with setting("crc", "required"):
        for fields in WITHOUT_CRC:
            with refused_without_crc():
                sock = connected()
                sock.sendall(mpa.request(**fields))
                answer = receive_frame(sock)
                check(answer.flags & mpa.REJECT, f"answer {vars(answer)}")
                check(answer.flags & mpa.CRC, "the Reject does not say that CRCs are wanted")
                expect_end(sock, PROMPT)
        sock = connected()
        sock.sendall(mpa.request(flags=mpa.CRC))
        check(not receive_frame(sock).flags & mpa.REJECT, "refused though it asks for CRCs")
        reset(sock)


def crc_preferred():
    """A peer that does not ask for CRCs is told to use them."""
    for fields in WITHOUT_CRC:
        sock = connected()
        sock.sendall(mpa.request(**fields))
        answer = receive_frame(sock)
        check(not answer.flags & mpa.REJECT and answer.flags & mpa.CRC, f"answer {vars(answer)}")
        reset(sock)


def offer_answered(value, expected):
    """A Request that offers extensions, to a device with this setting."""

    def run():
        with setting("extensions", value):
            for flags, revision, private in (
                (mpa.CRC | mpa.EXTEND, 1, b""),
                (mpa.CRC | mpa.EXTEND | mpa.ENHANCED, 2, mpa.rd_limits(4, 4)),
            ):
                sock = connected()
                sock.sendall(mpa.request(flags=flags, revision=revision, private=private))
                answer = receive_frame(sock)
                check(not answer.flags & mpa.REJECT, f"answer {vars(answer)}")
                check(answer.flags & mpa.RESERVED == expected, f"reserved bits in flags {answer.flags:#x}")
                reset(sock)

    return run


# Peer to peer, and none of the frames by which the initiator may say that it is ready.
NO_RTR = {"flags": mpa.CRC | mpa.EXTEND | mpa.ENHANCED, "revision": 2, "private": mpa.rd_limits(0x8004, 4)}


def refusal_takes_no_offer():
    """Refused since it offers no ready-to-receive frame, whatever else it offers."""
    sock = connected()
    sock.sendall(mpa.request(**NO_RTR))
    answer = receive_frame(sock)
    check(answer.flags & mpa.REJECT and not answer.flags & mpa.RESERVED, f"answer {vars(answer)}")
    # irdma reads four bytes of enhanced setup from any frame of revision 2, whatever the flag says.
    check(answer.flags & mpa.ENHANCED and len(answer.private) >= 4, f"no limits in a reject of revision 2: {vars(answer)}")
    expect_end(sock, PROMPT)


def enhanced_accepted():
    sock = connected()
    sock.sendall(
        mpa.request(flags=mpa.CRC | mpa.ENHANCED, revision=2, private=mpa.rd_limits(4, 4))
    )
    answer = receive_frame(sock)
    check(answer.revision == 2 and answer.flags & mpa.ENHANCED, f"answer {vars(answer)}")
    check(not answer.flags & mpa.REJECT, f"answer {vars(answer)}")
    check(len(answer.private) >= 4, "no IRD and ORD in the answer")
    reset(sock)


def never_ready():
    """We agree to send a ready-to-receive frame, and do not."""
    sock = connected()
    sock.sendall(
        mpa.request(flags=mpa.CRC | mpa.ENHANCED, revision=2, private=mpa.rd_limits(0x8004, 0x8004))
    )
    answer = receive_frame(sock)
    check(answer.flags & mpa.ENHANCED and answer.private[0] & 0x80, f"answer {vars(answer)}")
    began = time.monotonic()
    expect_end(sock, READY_LIMIT + PROMPT)
    lasted(began, READY_LIMIT)


def silent_crowd():
    crowd = [connected() for _ in range(200)]
    began = time.monotonic()
    ordinary_rping()
    for sock in crowd:
        expect_end(sock, max(REQUEST_LIMIT + PROMPT - (time.monotonic() - began), 0.5))


# --- they connect: cases against the initiator ---


class Server:
    """A listening socket on host B, and an rping client on host A that comes to it."""

    def __init__(self, backlog=8):
        self.socket = peer_socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((HERE, OWN_PORT))
        self.socket.listen(backlog)
        self.socket.settimeout(START)
        self.client = None
        self.request_flags = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        if self.client and self.client.poll() is None:
            self.client.kill()
            self.client.wait()

    def call(self):
        self.client = subprocess.Popen(
            on("A", "rping", "-c", "-a", HERE, "-p", str(OWN_PORT), "-C", "1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def accept(self):
        try:
            sock, _ = self.socket.accept()
        except socket.timeout as error:
            raise Failure("no connection came") from error
        return sock

    def accept_request(self, revision):
        sock = self.accept()
        frame = receive_frame(sock)
        check(frame.key == mpa.REQUEST_KEY, f"no Request but {vars(frame)}")
        check(frame.revision == revision, f"revision {frame.revision}, expected {revision}")
        self.request_flags = frame.flags
        return sock

    def outcome(self, event, error, within):
        try:
            text = self.client.communicate(timeout=within)[0].decode()
        except subprocess.TimeoutExpired as expired:
            raise Failure(f"rping still waits after {within} s") from expired
        wanted = f"{event}, error {error}"
        check(wanted in text, f"expected '{wanted}', rping said: {text.strip()}")


REJECTED = "RDMA_CM_EVENT_REJECTED"
UNREACHABLE = "RDMA_CM_EVENT_UNREACHABLE"
CONNECT_ERROR = "RDMA_CM_EVENT_CONNECT_ERROR"
ECONNREFUSED, ECONNRESET, ETIMEDOUT, EPROTO = -111, -104, -110, -71

# rping itself takes a while to start and to end on a busy emulated machine.
START = 20


def answered(data, event, error):
    """Answers the Request with these bytes; rping must report the error."""

    def run():
        with Server() as server:
            server.call()
            sock = server.accept_request(revision=2)
            sock.sendall(data)
            server.outcome(event, error, PROMPT + START)
            sock.close()

    return run


def nobody_listens():
    with Server() as server:
        server.socket.close()
        server.call()
        server.outcome(REJECTED, ECONNREFUSED, PROMPT + START)


def full_backlog():
    with Server(backlog=0) as server:
        fillers = []
        for _ in range(3):
            filler = tcp_socket()
            filler.setblocking(False)
            filler.connect_ex((HERE, OWN_PORT))
            fillers.append(filler)
        time.sleep(0.2)
        with host_b():
            segments = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
        with segments:
            server.call()
            first_segment(segments)
            began = time.monotonic()
            server.outcome(UNREACHABLE, ETIMEDOUT, CONNECT_LIMIT + PROMPT)
            lasted(began, CONNECT_LIMIT)


def first_segment(sock):
    """Waits for TCP's first segment from host A to the port on which we listen."""
    sock.settimeout(START)
    while True:
        try:
            packet, (source, _) = sock.recvfrom(2048)
        except socket.timeout as error:
            raise Failure("no segment came") from error
        head = 4 * (packet[0] & 15)
        if source == SERVER and struct.unpack_from(">H", packet, head + 2)[0] == OWN_PORT:
            return


def too_late(data):
    """Answers the Request with these bytes, which are no whole Reply; they wait for the rest, and then go."""

    def run():
        with Server() as server:
            server.call()
            sock = server.accept_request(revision=2)
            began = time.monotonic()
            if data:
                sock.sendall(data)
            expect_end(sock, REPLY_LIMIT + PROMPT)
            lasted(began, REPLY_LIMIT)
            server.outcome(UNREACHABLE, ETIMEDOUT, PROMPT)

    return run


def drips():
    """A Reply that comes byte by byte is awaited no longer than one that does not come."""
    with Server() as server:
        server.call()
        sock = server.accept_request(revision=2)
        began = time.monotonic()
        for byte in mpa.reply(**ENHANCED_REPLY)[: REPLY_LIMIT - 1]:
            sock.sendall(bytes([byte]))
            time.sleep(1)
        expect_end(sock, 1 + PROMPT)
        lasted(began, REPLY_LIMIT)
        server.outcome(UNREACHABLE, ETIMEDOUT, PROMPT)


def client_killed():
    """A killed process is gone when its connection's timeout is over, or before."""
    with Server() as server:
        server.call()
        sock = server.accept_request(revision=2)
        server.client.kill()
        try:
            server.client.wait(REPLY_LIMIT + PROMPT)
        except subprocess.TimeoutExpired as error:
            raise Failure("rping cannot be killed") from error
        expect_end(sock, PROMPT)


def hangs_up(how):
    """Hung up on twice: at the sight of revision 2, and of revision 1."""

    def run():
        with Server() as server:
            server.call()
            for revision in (2, 1):
                how(server.accept_request(revision))
            server.outcome(REJECTED, ECONNRESET, PROMPT + START)

    return run


def terminated(data, code):
    """A Reply that will not do: they say why in a Terminate message, and end in order."""

    def run():
        with Server() as server:
            server.call()
            sock = server.accept_request(revision=2)
            sock.sendall(data)
            got = receive_exactly(sock, 28, PROMPT)
            check(mpa.fpdu(got[2:24]) == got, f"no FPDU but {got.hex()}")
            check(mpa.rdmap_opcode(got) == mpa.TERMINATE, f"no Terminate but {got.hex()}")
            check(got[20:22] == bytes([0x20, code]), f"layer and type, code: {got[20:22].hex()}")
            expect_end(sock, PROMPT)
            sock.close()
            server.outcome(CONNECT_ERROR, EPROTO, PROMPT + START)

    return run


def crc_required_of_a_server(data):
    """A Reply that does not ask for CRCs, where they are required."""

    def run():
        with setting("crc", "required"), refused_without_crc():
            terminated(data, 5)()

    return run


def offers(value, expected):
    """The reserved bits of a Request, at revision 2 and 1, with this setting."""

    def run():
        with setting("extensions", value), Server() as server:
            server.call()
            for revision in (2, 1):
                sock = server.accept_request(revision)
                check(server.request_flags & mpa.RESERVED == expected, f"reserved bits in flags {server.request_flags:#x}")
                sock.close()

    return run


def closes_at_once():
    with Server() as server:
        server.call()
        for _ in range(2):
            server.accept().close()
        server.outcome(REJECTED, ECONNRESET, PROMPT + START)


def half_a_reply_then_fin():
    with Server() as server:
        server.call()
        sock = server.accept_request(revision=2)
        sock.sendall(mpa.reply(flags=mpa.CRC | mpa.ENHANCED, revision=2)[:12])
        sock.close()
        server.outcome(REJECTED, ECONNRESET, PROMPT + START)


def old_revision(flags, revision=1):
    """An answer of one that does not know revision 2, friendly or not: they come again with revision 1 and it works."""

    def run():
        with Server() as server:
            server.call()
            sock = server.accept_request(revision=2)
            sock.sendall(mpa.reply(flags=flags, revision=revision))
            expect_end(sock, PROMPT)
            sock = server.accept_request(revision=1)
            sock.sendall(mpa.reply())
            got = receive_exactly(sock, 4, PROMPT)
            check(mpa.rdmap_opcode(got) == mpa.SEND, f"no SEND of rping's but {got.hex()}")
            reset(sock)

    return run


ENHANCED_REPLY = {"flags": mpa.CRC | mpa.ENHANCED, "revision": 2}

CASES = [
    ("garbage", dropped(b"GET / HTTP/1.1\r\n\r\n")),
    ("wrong key, a byte at a time", wrong_key_bytewise),
    ("good request, a byte at a time", good_bytewise),
    ("reply as a request", dropped(mpa.reply())),
    ("revision 0", dropped(mpa.request(revision=0))),
    ("revision 3", dropped(mpa.request(revision=3))),
    ("private data of 513 bytes", dropped(mpa.request(private=bytes(513)))),
    ("private data of 65535 bytes", dropped(mpa.request(private_len=65535))),
    ("private data promised, then silence", silence_is_bounded(mpa.request(private=bytes(50), private_len=100))),
    ("half a key, then silence", silence_is_bounded(mpa.REQUEST_KEY[:8])),
    ("silence", silence_is_bounded(b"")),
    ("enhanced without room for it", dropped(mpa.request(flags=mpa.ENHANCED, revision=2, private=b"12"))),
    ("enhanced request", enhanced_accepted),
    # CVE-2026-74345 of siw: the work item of a malformed request used a connection after it was freed.
    ("malformed requests, then reset", malformed_then_reset),
    ("request, then reset", request_then_reset),
    ("half a header, then FIN", half_header_then_fin),
    ("request, then FIN", request_then_fin),
    ("two requests back to back", two_requests),
    ("FPDU glued to the request", early_fpdu),
    ("markers wanted", markers_wanted),
    ("no CRC asked for, and crc is required", crc_required),
    ("no CRC asked for, and crc is preferred", crc_preferred),
    ("extensions offered, and taken", offer_answered("on", mpa.EXTENDED)),
    ("extensions offered, and switched off", offer_answered("off", 0)),
    ("extensions offered, and refused for another reason", refusal_takes_no_offer),
    ("a ready-to-receive frame that never comes", never_ready),
    ("a silent crowd", silent_crowd),
    ("client: nobody listens", nobody_listens),
    ("client: nobody answers TCP", full_backlog),
    ("client: silent server", too_late(b"")),
    ("client: reply that drips", drips),
    ("client: killed while it waits", client_killed),
    ("client: server closes at once", closes_at_once),
    ("client: server closes at the request", hangs_up(socket.socket.close)),
    ("client: server resets at the request", hangs_up(reset)),
    ("client: garbage", answered(b"HTTP/1.1 400 Bad Request\r\n\r\n", CONNECT_ERROR, EPROTO)),
    ("client: request as a reply", answered(mpa.request(**ENHANCED_REPLY, private=mpa.rd_limits(1, 1)), CONNECT_ERROR, EPROTO)),
    ("client: half a reply, then FIN", half_a_reply_then_fin),
    ("client: reply promises more", too_late(mpa.reply(**ENHANCED_REPLY, private=bytes(50), private_len=100))),
    ("client: reply longer than allowed", answered(mpa.reply(**ENHANCED_REPLY, private=bytes(600)), CONNECT_ERROR, EPROTO)),
    ("client: revision 3", answered(mpa.reply(flags=mpa.CRC, revision=3), CONNECT_ERROR, EPROTO)),
    ("client: reply not enhanced", answered(mpa.reply(flags=mpa.CRC, revision=2), CONNECT_ERROR, EPROTO)),
    ("client: reject with private data", answered(mpa.reply(flags=mpa.REJECT | mpa.ENHANCED, revision=2, private=mpa.rd_limits(0, 0) + b"no"), REJECTED, ECONNREFUSED)),
    ("client: reply wants more reads than it may", terminated(mpa.reply(**ENHANCED_REPLY, private=mpa.rd_limits(0x8001, 0x8000 | 200)), 6)),
    ("client: reply without a ready-to-receive frame", terminated(mpa.reply(**ENHANCED_REPLY, private=mpa.rd_limits(1, 1)), 7)),
    ("client: reply not enhanced, and why", terminated(mpa.reply(flags=mpa.CRC, revision=2), 4)),
    ("client: reply without CRC, and crc is required", crc_required_of_a_server(mpa.reply(flags=mpa.ENHANCED, revision=2, private=mpa.rd_limits(0x8001, 0x8001)))),
    ("client: extensions are offered", offers("on", mpa.EXTEND)),
    ("client: extensions are switched off", offers("off", 0)),
    ("client: reply of revision 1", old_revision(mpa.CRC)),
    ("client: reject of revision 1", old_revision(mpa.REJECT)),
    ("client: reject that is not enhanced", old_revision(mpa.REJECT | mpa.CRC, revision=2)),
]


# --- the end: everything goes away, with handshakes under way ---


def removal():
    crowd = [connected() for _ in range(20)]
    waiting = connected()
    waiting.sendall(mpa.request())
    receive_frame(waiting)
    with Server() as server:
        server.call()
        asked = server.accept_request(revision=2)
        for host, device in (("A", "weft0"), ("B", "weft1")):
            subprocess.run(on(host, "rdma", "link", "delete", device), check=True, timeout=20)
        for sock in crowd + [waiting, asked]:
            expect_end(sock, PROMPT, silent=False)
    stop_server()
    subprocess.run(["modprobe", "-r", "weft_sctp", "weft_paths", "weft"], check=True, timeout=20)


def main():
    if not os.path.exists("/run/netns/B"):
        sys.exit("handshake.py: no host B here. Run: scripts/lab/run -- scripts/lab/two-hosts --weft -- tests/hostile/handshake.py")
    cases = [case for case in CASES if len(sys.argv) < 2 or any(part in case[0] for part in sys.argv[1:])]
    # CVE-2024-57857 of siw: its network device was used after the device was gone.
    cases += [("ordinary rping afterwards", ordinary_rping), ("removal", removal)]
    start_server()
    log = tap.Log()
    for name, run in cases:
        began, why = time.monotonic(), None
        try:
            run()
            check(name == "removal" or SERVER_PROCESS.poll() is None, "the rping server died")
        except (Failure, OSError, subprocess.SubprocessError) as error:
            why = f"{type(error).__name__}: {error}"
            if SERVER_PROCESS.poll() is not None and name != "removal":
                start_server()
        log.tell(f"{name}, {time.monotonic() - began:.1f} s", why)
    stop_server()
    return log.end()


if __name__ == "__main__":
    sys.exit(main())
