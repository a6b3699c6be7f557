#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=22 debug hosts
"""Hostile peers in the MPA handshake, with plain TCP from host B: as clients to an rping server on
host A, and as servers to an rping client there. After all cases the devices and the module must go
away. With NAMEs only the cases with one of them in theirs run."""
import contextlib
import socket
import struct
import subprocess
import sys
import time

import ring
from counters import counted
from hosts import (HERE, OWN_PORT, PROMPT, SERVER, START, Failure, case, check, expect_end, host_b, kernel_log, on, reset,
                   setting, tcp_socket, unload)
from peer import Stream, connected, receive_frame
from pinging import Server, info, ordinary_rping, stop_server
from wire import ddp, mpa

# The module's timeouts (kernel/conn/conn.h), and the delay that an emulated machine may add.
CONNECT_LIMIT = 5
REPLY_LIMIT = 10
REQUEST_LIMIT = 5
READY_LIMIT = 10
# How much later than promised the machine may be. Its clock has ticks, so it may be early by less than a tenth.
LATE = 2
EARLY = 0.1


@contextlib.contextmanager
def lasts(limit):
    """The block ends by a timeout of the module's, which comes when it was promised."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    check(limit - EARLY <= took <= limit + LATE, f"it took {took:.1f} s, and {limit} are promised")


@contextlib.contextmanager
def refused_without_crc(**counts):
    """One peer is refused for want of CRCs meanwhile, and the kernel log names it."""
    text = f"peer {HERE}:"
    logged = kernel_log().count(text)
    with counted(conn_without_crc=1, **counts):
        yield
    check(kernel_log().count(text) > logged, "the kernel log does not name the peer")


# --- we connect: cases against the responder ---
def sent(data):
    sock = connected()
    sock.sendall(data)
    return sock


def asked(behind=b"", **fields):
    """A connection whose Request we have sent, with bytes behind it, and the Reply."""
    sock = sent(mpa.request(**fields) + behind)
    answer = receive_frame(sock)
    check(answer.key == mpa.REPLY_KEY, f"answer {vars(answer)}")
    return sock, answer


def granted(behind=b"", **fields):
    """The same, and the Reply accepts."""
    sock, answer = asked(behind, **fields)
    check(not answer.flags & mpa.REJECT, f"answer {vars(answer)}")
    return sock, answer


def dropped(data):
    """The peer drops us for these bytes, without a word."""
    return lambda: expect_end(sent(data), PROMPT)


def sent_bytewise(data, pause):
    sock = connected()
    for byte in data:
        sock.sendall(bytes([byte]))
        time.sleep(pause)
    return sock


def wrong_key_bytewise():
    key = bytearray(mpa.REQUEST_KEY[:10])
    key[9] ^= 1
    # The frame is unfinished, so the wrong byte must have ended the connection.
    expect_end(sent_bytewise(key, 0.05), PROMPT)


def good_bytewise():
    sock = sent_bytewise(mpa.request(), 0.02)
    answer = receive_frame(sock)
    check(answer.key == mpa.REPLY_KEY and not answer.flags & mpa.REJECT, f"answer {vars(answer)}")
    reset(sock)


@case
def silence_is_bounded(data):
    with lasts(REQUEST_LIMIT):
        expect_end(sent(data), REQUEST_LIMIT + PROMPT)


def request_then_reset():
    # One at a time: rping forgets a request when the next one comes too soon.
    for wait in (0, 0.01, 0.05, 0.2) * 2:
        sock = sent(mpa.request())
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
        for sock in [sent(data) for data in requests]:
            reset(sock)
    ordinary_rping()


@case
def then_fin(data, silent):
    sock = sent(data)
    sock.shutdown(socket.SHUT_WR)
    expect_end(sock, PROMPT, silent)


def two_requests():
    # The second is read as an FPDU of 19,792 bytes ("MP"), which the rest makes whole: a frame is
    # judged by its CRC, and so not before its end.
    sock, _ = asked(mpa.request() + bytes(20000))
    expect_end(sock, PROMPT, silent=False)


def early_fpdu():
    # The first message of an rping client says where its buffer is. The server then reads it.
    sock, _ = granted(mpa.framed(ddp.send(info())))
    Stream(sock).expect(ddp.READ_REQUEST)
    reset(sock)


@case
def grants(holds, *requests):
    """Each of these Requests is granted by a Reply of which this holds."""
    for fields in requests:
        sock, answer = granted(**fields)
        check(holds(answer), f"answer {vars(answer)}")
        reset(sock)


WITHOUT_CRC = [{"flags": 0}, {"flags": mpa.ENHANCED, "revision": 2, "private": mpa.rd_limits(4, 4)}]


def crc_required():
    """A peer that does not ask for CRCs is refused; one that asks is not."""
    with setting("crc", "required"):
        for fields in WITHOUT_CRC:
            with refused_without_crc(conn_refused_by_us=1):
                sock, answer = asked(**fields)
                check(answer.flags & mpa.REJECT, f"answer {vars(answer)}")
                check(answer.flags & mpa.CRC, "the Reject does not say that CRCs are wanted")
                expect_end(sock, PROMPT)
        reset(granted(flags=mpa.CRC)[0])


@case
def offer_answered(value, expected):
    """A Request that offers extensions, to a device with this setting."""
    with setting("extensions", value):
        for flags, revision, private in ((0, 1, b""), (mpa.ENHANCED, 2, mpa.rd_limits(4, 4))):
            sock, answer = granted(flags=mpa.CRC | mpa.EXTEND | flags, revision=revision, private=private)
            check(answer.flags & mpa.RESERVED == expected, f"reserved bits in flags {answer.flags:#x}")
            reset(sock)


def refusal_takes_no_offer():
    """Refused since it offers no ready-to-receive frame, whatever else it offers."""
    sock, answer = asked(flags=mpa.CRC | mpa.EXTEND | mpa.ENHANCED, revision=2, private=mpa.rd_limits(mpa.P2P | 4, 4))
    check(answer.flags & mpa.REJECT and not answer.flags & mpa.RESERVED, f"answer {vars(answer)}")
    # irdma reads four bytes of enhanced setup from any frame of revision 2, whatever the flag says.
    check(answer.flags & mpa.ENHANCED and len(answer.private) >= 4, f"no limits in a reject of revision 2: {vars(answer)}")
    expect_end(sock, PROMPT)


def never_ready():
    """We agree to send a ready-to-receive frame, and do not."""
    sock, answer = granted(flags=mpa.CRC | mpa.ENHANCED, revision=2, private=mpa.rd_limits(mpa.P2P | 4, mpa.BY_WRITE | 4))
    check(answer.flags & mpa.ENHANCED and mpa.Limits.parsed(answer.private).p2p, f"answer {vars(answer)}")
    with lasts(READY_LIMIT):
        expect_end(sock, READY_LIMIT + PROMPT)


def silent_crowd():
    crowd = [connected() for _ in range(200)]
    began = time.monotonic()
    ordinary_rping()
    for sock in crowd:
        expect_end(sock, max(REQUEST_LIMIT + PROMPT - (time.monotonic() - began), 0.5))


# --- they connect: cases against the initiator ---
REJECTED = "RDMA_CM_EVENT_REJECTED"
UNREACHABLE = "RDMA_CM_EVENT_UNREACHABLE"
CONNECT_ERROR = "RDMA_CM_EVENT_CONNECT_ERROR"
ECONNREFUSED, ECONNRESET, ETIMEDOUT, EPROTO = -111, -104, -110, -71


@contextlib.contextmanager
def requested():
    """A Request of revision 2 that an rping client on host A has sent us."""
    with Server() as server:
        server.call()
        yield server, server.accept_request(revision=2)


@case
def answered(data, event, error, then_fin=False):
    """Answers the Request with these bytes; rping must report the error."""
    with requested() as (server, sock):
        sock.sendall(data)
        if then_fin:
            sock.close()
        server.outcome(event, error, PROMPT + START)
        sock.close()


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
            with lasts(CONNECT_LIMIT):
                server.outcome(UNREACHABLE, ETIMEDOUT, CONNECT_LIMIT + PROMPT)


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


@case
def too_late(data, drips=False):
    """Answers the Request with these bytes, which are no whole Reply, perhaps one each second. They
    wait for the rest for as long as for a Reply that does not come, and then go."""
    with requested() as (server, sock):
        with lasts(REPLY_LIMIT):
            for piece in map(bytes, zip(data)) if drips else [data]:
                sock.sendall(piece)
                time.sleep(1 if drips else 0)
            expect_end(sock, REPLY_LIMIT + PROMPT)
        server.outcome(UNREACHABLE, ETIMEDOUT, PROMPT)


def client_killed():
    """A killed process is gone when its connection's timeout is over, or before."""
    with requested() as (server, sock):
        server.client.kill()
        try:
            server.client.wait(REPLY_LIMIT + PROMPT)
        except subprocess.TimeoutExpired as error:
            raise Failure("rping cannot be killed") from error
        expect_end(sock, PROMPT)


@case
def hangs_up(how, reads=True):
    """Hung up on twice: at the sight of revision 2, and of revision 1; or both times unseen."""
    with Server() as server:
        server.call()
        for revision in (2, 1):
            how(server.accept_request(revision) if reads else server.accept())
        server.outcome(REJECTED, ECONNRESET, PROMPT + START)


@case
def terminated(data, code):
    """A Reply that will not do: they say why in a Terminate message, and end in order."""
    with requested() as (server, sock):
        sock.sendall(data)
        Stream(sock).refused((ddp.MPA, 0, code))
        server.outcome(CONNECT_ERROR, EPROTO, PROMPT + START)


@case
def crc_required_of_a_server(data):
    """A Reply that does not ask for CRCs, where they are required."""
    with setting("crc", "required"), refused_without_crc(conn_failed=1, tx_terminates=1):
        terminated(data, 5)()


@case
def offers(value, expected):
    """The reserved bits of a Request, at revision 2 and 1, with this setting."""
    with setting("extensions", value), Server() as server:
        server.call()
        for revision in (2, 1):
            sock = server.accept_request(revision)
            check(server.request_flags & mpa.RESERVED == expected, f"reserved bits in flags {server.request_flags:#x}")
            sock.close()


@case
def old_revision(flags, revision=1):
    """An answer of one that does not know revision 2, friendly or not: they come again with revision 1 and it works."""
    with requested() as (server, sock):
        sock.sendall(mpa.reply(flags=flags, revision=revision))
        expect_end(sock, PROMPT)
        sock = server.accept_request(revision=1)
        sock.sendall(mpa.reply())
        Stream(sock).expect(ddp.SEND)
        reset(sock)


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
    ("enhanced request", grants(lambda a: a.revision == 2 and a.flags & mpa.ENHANCED and len(a.private) >= 4,
                                ENHANCED_REPLY | {"private": mpa.rd_limits(4, 4)})),
    # CVE-2026-74345 of siw: the work item of a malformed request used a connection after it was freed.
    ("malformed requests, then reset", malformed_then_reset),
    ("request, then reset", request_then_reset),
    ("half a header, then FIN", then_fin(mpa.request()[:10], True)),
    ("request, then FIN", then_fin(mpa.request(), False)),
    ("two requests back to back", two_requests),
    ("FPDU glued to the request", early_fpdu),
    # No reason to ask for markers the other way.
    ("markers wanted", grants(lambda a: not a.flags & mpa.MARKERS, {"flags": mpa.MARKERS | mpa.CRC})),
    ("no CRC asked for, and crc is required", crc_required),
    # Told to use them.
    ("no CRC asked for, and crc is preferred", grants(lambda a: a.flags & mpa.CRC, *WITHOUT_CRC)),
    ("extensions offered, and taken", offer_answered("on", mpa.EXTENDED)),
    ("extensions offered, and switched off", offer_answered("off", 0)),
    ("extensions offered, and refused for another reason", refusal_takes_no_offer),
    ("a ready-to-receive frame that never comes", never_ready),
    ("a silent crowd", silent_crowd),
    ("client: nobody listens", nobody_listens),
    ("client: nobody answers TCP", full_backlog),
    ("client: silent server", too_late(b"")),
    ("client: reply that drips", too_late(mpa.reply(**ENHANCED_REPLY)[: REPLY_LIMIT - 1], True)),
    ("client: killed while it waits", client_killed),
    ("client: server closes at once", hangs_up(socket.socket.close, reads=False)),
    ("client: server closes at the request", hangs_up(socket.socket.close)),
    ("client: server resets at the request", hangs_up(reset)),
    ("client: garbage", answered(b"HTTP/1.1 400 Bad Request\r\n\r\n", CONNECT_ERROR, EPROTO)),
    ("client: request as a reply", answered(mpa.request(**ENHANCED_REPLY, private=mpa.rd_limits(1, 1)), CONNECT_ERROR, EPROTO)),
    ("client: half a reply, then FIN", answered(mpa.REPLY_KEY[:12], REJECTED, ECONNRESET, True)),
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
    waiting, _ = granted()
    with requested() as (_, server):
        for host, device in (("A", "weft0"), ("B", "weft1")):
            subprocess.run(on(host, "rdma", "link", "delete", device), check=True, timeout=20)
        for sock in crowd + [waiting, server]:
            expect_end(sock, PROMPT, silent=False)
    stop_server()
    unload()


if __name__ == "__main__":
    # CVE-2024-57857 of siw: its network device was used after the device was gone.
    sys.exit(ring.run_with_rping("handshake.py", CASES, [("removal", removal)]))
