#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=17 debug hosts
# lab: limit=900 where=uml order=33 transport=sctp hosts
"""Hostile peers once the stream of FPDUs runs, on host B: as clients to an rping server on host A,
whose reads they answer, and as servers to rping clients there, whose regions they attack. Each case
says which Terminate is due; rping must learn of the end."""
import contextlib
import signal
import socket
import struct
import sys
import time

import ring
from counters import counted, traced
from hosts import HERE, START, Failure, case, check, meanwhile, reset, setting, unload
from peer import PROMPT
from pinging import (INFO_LEN, SIZE, TEXT, Said, bad_crc, client, fin, info, ping, reads_back, region_of, rst, segment_size,
                     server, server_stopped, wanted)
from wire import ddp, mpa
from wire.ddp import (BAD_CRC, BAD_MARKER, BOUNDS, CANNOT_INVALIDATE, CATASTROPHIC, DDP_LOCAL, LOCAL, MSN, NO_BUFFER, NO_RIGHT,
                      OFFSET, OPCODE, OTHER_PD, QUEUE, RDMAP_VERSION, READ_BOUNDS, READ_PD, READ_STAG, READ_WRAP, STAG,
                      TAGGED_VERSION, TOO_LONG, UNTAGGED_VERSION, WRAP)

RNR_LIMIT = 10
# Completion statuses as rping prints them.
LENGTH_ERROR, PROTECTION_ERROR, REMOTE_ACCESS_ERROR, REMOTE_OPERATION_ERROR = 1, 4, 10, 11


# --- cases against the rping server, whose client we are ---
def reason_traced(reason):
    """How a tracepoint writes a Terminate's reason."""
    layer, etype, code = reason
    return f"layer={layer} type={etype} code={code:#x}"


@contextlib.contextmanager
def refusal(reason):
    """A connection is refused for this reason, which is traced, and is all that host A's device counts."""
    with counted(tx_terminates=1, rx_crc_errors=int(reason == BAD_CRC)), traced("weft_qp_fail", f"terminate=1 {reason_traced(reason)}"):
        yield


@case
def to_server(reason, *ulpdus, raw=None, status=None, culprit=None, extended=False):
    """These are refused by the server, with this Terminate; the last is the culprit."""
    with refusal(reason), client(status, extended) as stream:
        stream.give_raw(mpa.framed(*ulpdus) if raw is None else raw)
        shown = culprit if culprit is not None else ulpdus[-1] if ulpdus else None
        stream.refused(reason, shown, allowed=(ddp.READ_RESPONSE,))


@case
def to_server_each(reason, *ulpdus, extended=False):
    """Each of these is refused, on a connection of its own."""
    for ulpdu in ulpdus:
        try:
            to_server(reason, ulpdu, extended=extended)()
        except Failure as error:
            raise Failure(f"{ulpdu.hex()}: {error}") from error


def answer_segments(sink, *parts):
    """Read response segments: (offset, bytes, last)."""
    stag, base = sink
    return [ddp.tagged(ddp.READ_RESPONSE, stag, (base + offset) % 2**64, bytes(length), last=last) for offset, length, last in parts]


@case
def answered(reason, *parts, stag_delta=0, allowed=()):
    """The server reads SIZE bytes of us, and what we answer is refused."""
    with refusal(reason), client() as stream:
        stag, base = wanted(stream)
        stream.refuses(reason, *answer_segments(((stag + stag_delta) % 2**32, base), *parts), allowed=allowed)


def endless_response():
    """Each segment comes in a packet of its own, so that the receiver must have kept what it needs of earlier ones."""
    with client() as stream:
        segments = answer_segments(wanted(stream), *((n, 8, False) for n in range(0, SIZE + 1, 8)))
        for segment in segments:
            stream.give(segment)
            time.sleep(0.002)
        stream.refused(BOUNDS, segments[-1])


@case
def answer_bad_crc(*cuts):
    with client() as stream:
        sink = wanted(stream)
        stream.in_pieces(bad_crc(answer_segments(sink, (0, SIZE, True))[0], 300), *cuts)
        stream.refused(BAD_CRC)


def half_an_answer(stream):
    return mpa.framed(*answer_segments(wanted(stream), (0, SIZE, True)))[:50]


def ping_cut(stream, *cuts):
    """A ping whose messages come in pieces: all cut there, as far as they are so long."""

    def in_pieces(frame):
        stream.in_pieces(frame, *(cut for cut in cuts if cut < len(frame)))

    ping(stream, lambda sink, sink_to: in_pieces(mpa.framed(ddp.tagged(ddp.READ_RESPONSE, sink, sink_to, TEXT))), in_pieces, in_pieces)


@case
def pings_cut(*pings):
    """A ping for each of these, which is where its messages are cut."""
    with client() as stream:
        for cuts in pings:
            ping_cut(stream, *cuts)
        fin(stream)


def crumbs():
    """Messages in segments of one byte, a whole train of them in one TCP segment."""
    with client() as stream:

        def advert(_):
            stream.give(*(ddp.send(info()[at : at + 1], msn=stream.sent_msn, mo=at, last=at == INFO_LEN - 1) for at in range(INFO_LEN)))

        def answer(sink, sink_to):
            stream.give(*(ddp.tagged(ddp.READ_RESPONSE, sink, sink_to + at, TEXT[at : at + 1], last=at == SIZE - 1) for at in range(SIZE)))

        def late_last(sink, sink_to):
            stream.give(ddp.tagged(ddp.READ_RESPONSE, sink, sink_to, TEXT, last=False), ddp.tagged(ddp.READ_RESPONSE, sink, sink_to + SIZE))

        ping(stream, answer, advert, advert)
        ping(stream, late_last)
        stream.give(*[ddp.write(0xDEADBEEF, 2**64 - 1)] * 1000)
        ping(stream)
        fin(stream)


def urgent():
    """An urgent byte is a byte like any other."""
    with client() as stream:

        def urgently(frame):
            for at in range(len(frame)):
                stream.sock.send(frame[at : at + 1], socket.MSG_OOB if at % 7 == 3 else 0)

        ping(stream, None, urgently, urgently)
        fin(stream)


def zero_length_reads():
    with client() as stream:
        sink = (0xCAFE, 2**64 - 1)
        for msn in range(1, 9):
            stream.give(ddp.read_request((0xBAD0BAD, 2**64 - 1), 0, sink, msn=msn))
            got = stream.expect(ddp.READ_RESPONSE)
            check((got.stag, got.offset, got.payload, got.last) == (*sink, b"", True), f"answer {got}")
        ping(stream)
        fin(stream)


@case
def too_many_reads(peer):
    """Of nothing at a server, and of its region at a client, one more than agreed."""
    with peer() as stream:
        check(stream.ird, "the peer takes no reads")
        what = (stream.region, SIZE) if peer is server else ((0, 0), 0)
        requests = [ddp.read_request(*what, msn=msn) for msn in range(1, stream.ird + 2)]
        stream.refuses(NO_BUFFER, *requests, allowed=(ddp.READ_RESPONSE,))


@case
def read_of(size):
    """A size that the server's own region has no room for: its fault, told to both."""
    with client(status=PROTECTION_ERROR) as stream:
        stream.give(ddp.send(info(size)))
        stream.refused(LOCAL)


def two_sends():
    return ddp.send(info(), msn=1), ddp.send(info(), msn=2)


@case
def no_receive(culprit, extended=False):
    """Behind a first SEND, this waits for a receive, and is refused when time is up."""
    with client(extended=extended) as stream, server_stopped():
        stream.give(ddp.send(info(), msn=1), culprit)
        began = time.monotonic()
        stream.refused(NO_BUFFER, culprit, within=RNR_LIMIT + PROMPT)
        waited = time.monotonic() - began
        check(waited > RNR_LIMIT - 1, f"refused after {waited:.1f} s; a receive may be late")


def late_receive():
    # The second SEND, or the end, may come while rping works on the first or has not begun to. Then rping ends by
    # itself, perhaps before the event comes.
    with client(says=("server DISCONNECT EVENT", "wait for RDMA_READ_COMPLETE state 8", "wait for RDMA_READ_ADV state 8")) as stream:
        with server_stopped():
            stream.give(*two_sends())
            stream.silent(2)
        # rping did not count on two; but no Terminate.
        fin(stream)


def no_receive_then_reset():
    with client() as stream, server_stopped():
        stream.give(*two_sends())
        stream.silent(0.5)
        reset(stream.sock)


def atomic_instead_of_read():
    """The server's read is answered as if it were an atomic, with its own number."""
    with client(extended=True) as stream:
        sink, _ = wanted(stream)
        stream.refuses(NO_BUFFER, ddp.atomic_response(sink))


@case
def peer_terminates(*ulpdus):
    """Whatever is in them, the connection ends, and no Terminate answers them."""
    for ulpdu in ulpdus:
        with counted(rx_terminates=1), client() as stream:
            stream.give(ulpdu)
            stream.ends()


@case
def terminated_read(reason, status=None, **fields):
    """status: what the server's read ends with; None: it is flushed, for the Terminate is not believed."""
    blamed = status is not None
    ends = {"req_cqe_error": int(blamed), "req_remote_access_errors": int(blamed and reason[:2] == (0, 1))}
    tells = traced("weft_rx_terminate", reason_traced(reason)) if blamed else contextlib.nullcontext()
    with counted(rx_terminates=1, req_cqe_flush_error=int(not blamed), **ends), tells, client(status) as stream:
        stream.give(ddp.send(info(), msn=1))
        asked = stream.expect(ddp.READ_REQUEST)
        stream.give(ddp.terminate(*reason, control=0xE0, rest=struct.pack(">H", len(asked.ulpdu)) + asked.ulpdu, **fields))
        stream.ends()


# Peer to peer, and the ready-to-receive frame is an empty SEND.
READY_BY_SEND = (0xC004, 0x0004)


def ready_by_send():
    """An empty SEND as the first frame takes no receive, in whatever pieces it comes."""
    for cut in (None, 1, 2, 3, 19, 21, 23):
        with client(limits=READY_BY_SEND) as stream:
            stream.in_pieces(mpa.framed(ddp.send(b"", msn=stream.next_msn())), *([cut] if cut else []))
            ping(stream)
            fin(stream)


@case
def ready_by_message(opcode, extended=False):
    """An empty SEND of another kind is a message: the receive completes, and rping says that it is no ping."""
    with client(limits=READY_BY_SEND, extended=extended, says="Received bogus data, size 0") as stream:
        stream.give(ddp.untagged(opcode, b""))
        stream.ends()


def path_widens():
    """A path that was narrow for a while does not leave segments small for good."""
    wide, route = contextlib.nullcontext(), f"ip -n A route {{}} {HERE}/32"
    narrow = meanwhile([route.format("replace") + " dev eth0 mtu 1402"], [route.format("del")])
    with client() as stream:
        sizes = []
        for times, path in ((1, wide), (3, narrow), (3, wide)):
            with path:
                for _ in range(times):
                    ping(stream)
                sizes.append(segment_size())
        fin(stream)
    before, then, after = sizes
    check(then < before and not then % 4, f"segments of {before} bytes, then of {then}")
    check(after == before, f"segments of {before} bytes, then of {then}, and at the end of {after}")


def deaf_peer():
    """Wrong, and then neither reading nor ending: the server must not wait for ever."""
    since = len(Said.now())
    with client() as stream:
        stream.give(ddp.send(msn=9))
        Said.within(10 + PROMPT, since, "server DISCONNECT EVENT")


def flood():
    """Half a megabyte behind a refused FPDU does not keep the Terminate from us."""
    with client() as stream:
        stream.sock.settimeout(PROMPT)
        with contextlib.suppress(socket.timeout):
            stream.give_raw(mpa.framed(ddp.send(msn=9)) + b"\xff" * (8 * mpa.fpdu_len(0xFFFF)))
        stream.refused(MSN)


@case
def silence_then(data, end):
    """Nothing is wrong yet: the server waits; then the stream ends."""
    with client() as stream:
        stream.give_raw(data(stream) if callable(data) else data)
        stream.silent(0.5)
        end(stream)


# --- markers, which the server asks for ---
@contextlib.contextmanager
def marking(crc):
    """A connection to a server whose device asks for markers."""
    with setting("markers", "on"), setting("crc", "preferred" if crc else "off"):
        with client(marks=True, crc=crc) as stream:
            yield stream


@case
def markers(crc):
    """Pings in pieces of all kinds, so that markers are cut, and lie everywhere in a frame."""
    with marking(crc) as stream:
        for cut in range(1, 92):
            ping_cut(stream, cut)
        for _ in range(4):
            ping_cut(stream, *range(1, 92))
        # Many frames in one segment, several markers among them.
        stream.give(*[ddp.write(0xDEADBEEF, 2**64 - 1)] * 1000)
        ping(stream)
        # What a receiver has to overlook: the reserved half, and two bits of the pointer.
        stream.marking = {"point": lambda _, pointer: 0xFFFF0003 | pointer}
        for _ in range(8):
            ping(stream)
        fin(stream)


@case
def marked_wrongly(crc, reason=BAD_MARKER, **how):
    """Empty Writes of 20 bytes, over two markers, of which how says what is wrong."""
    with refusal(reason), marking(crc) as stream:
        stream.marking = how
        stream.give(*[ddp.write(0xDEADBEEF, 0)] * 40)
        stream.refused(reason)


def at_marker(which, wrong):
    """Only that marker of the stream is wrong."""
    return lambda at, pointer: wrong(pointer) if at == which * mpa.EVERY else pointer


def marked_behind_waiting():
    """TCP offers at once what lies behind a SEND that waits for a receive: nothing of it is taken before that SEND."""
    with marking(True) as stream, server_stopped():
        stream.give(*two_sends(), *[ddp.write(0xDEADBEEF, 0)] * 200)
        stream.refused(NO_BUFFER, two_sends()[1], within=RNR_LIMIT + PROMPT)


MARKER_CASES = [
    (f"{name}, {'with' if crc else 'without'} CRC", case)
    for crc in (True, False)
    for name, case in (
        ("markers", markers(crc)),
        ("marker before the first frame points behind it", marked_wrongly(crc, point=at_marker(0, lambda _: 4))),
        ("marker in a frame says it is between two", marked_wrongly(crc, point=at_marker(1, lambda _: 0))),
        ("marker points behind its frame's begin", marked_wrongly(crc, point=at_marker(1, lambda pointer: pointer - 4))),
        ("marker points before its frame", marked_wrongly(crc, point=at_marker(1, lambda pointer: pointer + 20))),
        ("marker points 32 KiB back", marked_wrongly(crc, point=at_marker(1, lambda pointer: pointer | 0x8000))),
    )
] + [
    ("CRC that does not cover the markers", marked_wrongly(True, BAD_CRC, covered=False)),
    ("markers: frames behind a SEND that waits", marked_behind_waiting),
]


# --- cases against rping clients, whose server we are ---
@case
def to_client(reason, make, extended=False):
    """What make(stag, address) returns is refused by the client; the last is the culprit.
    Not extended: our reply echoes the offer, as siw's does, which must agree to nothing."""
    with refusal(reason), server(extended=extended) as stream:
        ulpdus = make(*stream.region)
        stream.refuses(reason, *(ulpdus if isinstance(ulpdus, tuple) else (ulpdus,)), allowed=(ddp.READ_RESPONSE,))


def honest_server():
    with server() as stream:
        first = reads_back(stream, stream.region)
        check(first.startswith(b"rdma-ping-0: "), f"read {first}")
        stag, address = stream.region
        # Bounds that hold, to the byte; and FPDUs of no bytes, which may name anything.
        stream.give(
            ddp.write(stag, address, b"<"),
            ddp.write(stag, address + SIZE - 1, b">"),
            ddp.write(stag ^ 1, address),
            ddp.write(0, 2**64 - 1),
            ddp.write(stag, address + SIZE + 1),
        )
        check(reads_back(stream, stream.region, msn=2) == b"<" + first[1:-1] + b">", "a write at a bound went wrong")
        stream.give(ddp.write(stag, address, first))
        stream.give(ddp.send(info(), msn=stream.next_msn()))
        sink = region_of(stream)
        stream.give(ddp.write(*sink, first))
        stream.give(ddp.send(info(), msn=stream.next_msn()))
        stream.ends(START)


def piecewise_write():
    """A WRITE cut at every byte boundary ends up where and as it should."""
    with server() as stream:
        for msn, cut in enumerate(range(1, 84, 3), 1):
            payload = bytes([cut]) * SIZE
            stream.in_pieces(mpa.framed(ddp.write(*stream.region, payload)), cut)
            check(reads_back(stream, stream.region, msn=msn) == payload, f"cut at {cut}")
        fin(stream)


def row(make, at, step, count):
    return tuple(make(at + step * i) for i in range(count))


def honest_row():
    """WRITEs in rows of segments end up where they should."""
    with server() as stream:
        stag, address = stream.region
        payload = bytes(range(SIZE))
        for msn, step in enumerate((1, 2, 3, 4, 8, 16, 32), 1):
            stream.give(*(ddp.write(stag, address + n, payload[n : n + step], last=n + step == SIZE) for n in range(0, SIZE, step)))
            check(reads_back(stream, stream.region, msn=msn) == payload, f"segments of {step}")
            payload = payload[::-1]
        fin(stream)


def unbelieved_header():
    """A header is not believed, nor refused, before its frame's CRC has passed."""
    with server() as stream:
        stag, address = stream.region
        stream.give_raw(mpa.promised(65535, ddp.write(stag, address, EVIL)))
        stream.silent(1)
        fin(stream)


def split_bad_write():
    """A bad CRC under a WRITE that comes in pieces."""
    with server() as stream:
        stream.in_pieces(bad_crc(ddp.write(*stream.region, bytes(SIZE)), 600), 40)
        stream.refused(BAD_CRC)


def second_read_bad():
    with server() as stream:
        stag, address = stream.region
        reads_back(stream, stream.region)
        stream.refuses(READ_BOUNDS, ddp.read_request((stag, address + 1), SIZE, msn=2))


def other_domain():
    """A key of another process's region, of the same device."""
    with server() as stream:
        culprit = ddp.write(*stream.region, b"stolen")
        to_server(OTHER_PD, culprit)()
        to_server(READ_PD, ddp.read_request(stream.region, SIZE))()
        to_server(CANNOT_INVALIDATE, invalidating(stream.region[0]))()
        check(reads_back(stream, stream.region).startswith(b"rdma-ping-0: "), "the write was done")
        fin(stream)


def dead_region():
    """The region went away with its process, its key with it."""
    with server() as stream:
        region = stream.region
        rst(stream)
    to_server(STAG, ddp.write(*region, b"ghost"))()


def killed_under_writes():
    with server() as stream:
        train = mpa.framed(*[ddp.write(*stream.region, bytes(SIZE))] * 400)
        stream.give_raw(train)
        stream.process.kill()
        stream.sock.settimeout(PROMPT)
        with contextlib.suppress(OSError):
            for _ in range(20):
                stream.sock.sendall(train)
        stream.sock.close()
        check(stream.process.wait(START) == -signal.SIGKILL, "rping -c was not killed")
        stream.process.returncode = 0
        stream.sent_msn = 2


def invalidating(stag, opcode=ddp.SEND_INV):
    """A SEND that closes a key of the receiver's."""
    return ddp.untagged(opcode, info(), inv_stag=stag)


def word(address):
    """The first aligned one of a region."""
    return (address + 7) // 8 * 8


def atomic_on(reason, at=word, stag_change=0, **fields):
    """An atomic on the client's region, which grants none."""
    return to_client(reason, lambda stag, address: ddp.atomic((stag ^ stag_change, at(address)), **fields), extended=True)


WRITE_TO = ddp.write
READ_FROM = ddp.read_request
SENDS_INV = (ddp.SEND_INV, ddp.SEND_SE_INV)
EVIL = b"E" * 8

# Cases that other software iWARP did not stand say so, and which: "siw:" and what happened to it.
CASES = [
    ("honest peer", pings_cut(*[()] * 3)),
    # siw: how much of a header had come was taken from the wrong sum when it came in pieces.
    ("FPDU cut at every byte", pings_cut(*([cut] for cut in range(1, 84)))),
    ("a byte at a time", pings_cut(range(1, 84))),
    ("many FPDUs in one segment", crumbs),
    ("urgent bytes", urgent),
    ("path that widens again", path_widens),
    ("ready by an empty SEND", ready_by_send),
    ("ready by a SEND with solicited event", ready_by_message(ddp.SEND_SE)),
    ("ready by a SEND with immediate", ready_by_message(ddp.SEND_IMM, extended=True)),
    # Lengths. The first five: CVE-2026-64102 of siw, which subtracted the header's length from a smaller
    # one and copied out of bounds.
    ("FPDU of no bytes", to_server(DDP_LOCAL, b"")),
    ("FPDU of one byte", to_server_each(DDP_LOCAL, b"\x41", b"\xc1")),
    ("tagged FPDU of 13 bytes", to_server(DDP_LOCAL, ddp.write(1, 2)[:13])),
    ("untagged FPDU of 17 bytes", to_server(DDP_LOCAL, ddp.send()[:17])),
    ("response of 13 bytes", to_server(DDP_LOCAL, ddp.tagged(ddp.READ_RESPONSE, 1, 0)[:13])),
    ("SEND of 65535 bytes", to_server(TOO_LONG, ddp.send(bytes(65535 - ddp.UNTAGGED_LEN)), status=LENGTH_ERROR)),
    ("read request of 65535 bytes", to_server(TOO_LONG, ddp.untagged(ddp.READ_REQUEST, bytes(65535 - ddp.UNTAGGED_LEN)))),
    ("WRITE of 65535 bytes", to_server(STAG, ddp.write(1, 2, bytes(65535 - ddp.TAGGED_LEN)))),
    ("65535 bytes promised, then FIN", silence_then(b"\xff\xff", fin)),
    ("half a length, then FIN", silence_then(b"\0", fin)),
    ("half a header, then RST", silence_then(mpa.framed(ddp.send(info()))[:12], rst)),
    ("half a CRC, then FIN", silence_then(mpa.framed(ddp.send(info()))[:-2], fin)),
    ("half a CRC, then RST", silence_then(mpa.framed(ddp.send(info()))[:-2], rst)),
    # CRCs.
    ("bad CRC: payload", to_server(BAD_CRC, raw=bad_crc(ddp.send(info()), 200))),
    ("bad CRC: header", to_server(BAD_CRC, raw=bad_crc(ddp.send(info()), 100))),
    ("bad CRC: CRC", to_server(BAD_CRC, raw=bad_crc(ddp.send(info()), 36 * 8))),
    ("bad CRC: padding", to_server(BAD_CRC, raw=bad_crc(ddp.send(b"123"), 23 * 8 + 1))),
    ("bad CRC: second FPDU", to_server(BAD_CRC, raw=mpa.framed(ddp.write(1, 2)) + bad_crc(ddp.write(1, 2), 40))),
    # Headers.
    ("DDP version, tagged", to_server_each(TAGGED_VERSION, *(ddp.write(1, 2, b"3", ddp_version=v) for v in (0, 2, 3)))),
    ("DDP version, untagged", to_server_each(UNTAGGED_VERSION, *(ddp.send(info(), ddp_version=v) for v in (0, 2, 3)))),
    ("RDMAP version", to_server_each(RDMAP_VERSION, *(ddp.send(info(), rdmap_version=v) for v in (0, 2, 3)), ddp.write(1, 2, rdmap_version=0))),
    # siw: a header that could not be parsed left a NULL pointer behind, which was followed.
    ("unknown opcodes, untagged", to_server_each(OPCODE, *(ddp.untagged(op, info(), queue=0) for op in range(8, 16)))),
    ("unknown opcodes, tagged", to_server_each(OPCODE, *(ddp.tagged(op, 1, 2, b"3") for op in range(8, 16)))),
    ("tagged opcodes untagged", to_server_each(OPCODE, ddp.untagged(ddp.WRITE, info()), ddp.untagged(ddp.READ_RESPONSE, info()))),
    ("untagged opcodes tagged", to_server_each(OPCODE, *(ddp.tagged(op, 1, 2, info()) for op in (1, 3, 4, 5, 6, 7)))),
    ("queue that is not there", to_server_each(QUEUE, *(ddp.send(info(), queue=q) for q in (3, 4, 2**31, 2**32 - 1)))),
    ("queue of another opcode", to_server_each(OPCODE, ddp.send(info(), queue=1), ddp.send(info(), queue=2), READ_FROM((1, 2), 3, queue=0), ddp.terminate(0, 0, 0, queue=0))),
    # SENDs.
    ("SEND: MSN", to_server_each(MSN, *(ddp.send(info(), msn=n) for n in (0, 2, 0x10001, 2**31, 2**32 - 1)))),
    ("SEND: offset", to_server_each(OFFSET, *(ddp.send(info(), mo=n) for n in (1, 16, 2**32 - 1)))),
    ("SEND: hole in it", to_server(OFFSET, ddp.send(b"1234", last=False), ddp.send(b"5678", mo=5))),
    ("SEND: overlaps itself", to_server(OFFSET, ddp.send(b"1234", last=False), ddp.send(b"5678", mo=3))),
    ("SEND: row, too long", to_server(TOO_LONG, *row(lambda n: ddp.send(b"1234", mo=n, last=False), 0, 4, 5), status=LENGTH_ERROR)),
    ("SEND: row, then a hole", to_server(OFFSET, *row(lambda n: ddp.send(b"12", mo=n, last=False), 0, 2, 5), ddp.send(b"12", mo=12, last=False))),
    ("SEND: row, bad CRC", to_server(BAD_CRC, raw=mpa.framed(*row(lambda n: ddp.send(b"1234", mo=n, last=False), 0, 4, 3)) + bad_crc(ddp.send(b"1234", mo=12, last=False), 170))),
    ("SEND: next before the end", to_server(MSN, ddp.send(b"1234", last=False), ddp.send(b"5678", msn=2))),
    # siw: the Terminate had another code than that of a message too long: layer 1, type 2, code 5.
    ("SEND: too long by one", to_server(TOO_LONG, ddp.send(info() + b"+"), status=LENGTH_ERROR)),
    ("SEND: too long in two", to_server(TOO_LONG, ddp.send(info(), last=False), ddp.send(b"+", mo=16), status=LENGTH_ERROR)),
    ("SEND: invalidates an unknown key", to_server_each(READ_STAG, *(invalidating(0x100, op) for op in SENDS_INV))),
    ("SEND: no receive in time", no_receive(ddp.send(info(), msn=2))),
    ("SEND: receive comes late", late_receive),
    ("SEND: no receive, then RST", no_receive_then_reset),
    # Immediate data and atomics, with a peer that agreed on them and with others.
    ("not agreed: immediate data", to_server_each(OPCODE, ddp.immediate(), ddp.immediate(opcode=ddp.IMM_SE))),
    ("not agreed: SEND with immediate", to_server_each(OPCODE, *(ddp.untagged(op, info()) for op in (ddp.SEND_IMM, ddp.SEND_SE_IMM)))),
    ("not agreed: atomic", to_server(OPCODE, ddp.atomic((1, 8)))),
    ("not agreed: atomic response", to_server(QUEUE, ddp.atomic_response(1))),
    ("unknown opcodes, agreed", to_server_each(OPCODE, ddp.untagged(14), ddp.untagged(15), extended=True)),
    ("new opcodes, tagged", to_server_each(OPCODE, *(ddp.tagged(op, 1, 2, b"3") for op in range(8, 14)), extended=True)),
    ("new opcodes, other queues", to_server_each(OPCODE, ddp.immediate(queue=1), ddp.immediate(queue=3), ddp.atomic((1, 8), queue=0), ddp.atomic((1, 8), queue=3), ddp.atomic_response(1, queue=1), ddp.send(queue=3), ddp.untagged(ddp.SEND_IMM, queue=1), extended=True)),
    ("queue 4, agreed", to_server(QUEUE, ddp.immediate(queue=4), extended=True)),
    ("immediate: MSN", to_server_each(MSN, *(ddp.immediate(msn=n) for n in (0, 2, 2**32 - 1)), extended=True)),
    ("immediate: offset", to_server_each(OFFSET, ddp.immediate(mo=8), ddp.immediate(last=False), extended=True)),
    ("immediate: length", to_server_each(TOO_LONG, *(ddp.immediate(bytes(n)) for n in (0, 4, 7, 9, 100)), extended=True)),
    ("immediate: amidst a SEND", to_server(OFFSET, ddp.send(b"", last=False), ddp.immediate(), extended=True)),
    ("immediate: amidst a longer SEND", to_server(OFFSET, ddp.send(b"1234", last=False), ddp.immediate(), extended=True)),
    ("immediate: no receive in time", no_receive(ddp.immediate(msn=2), extended=True)),
    ("SEND with immediate: too long", to_server(TOO_LONG, ddp.untagged(ddp.SEND_IMM, info() + b"+"), status=LENGTH_ERROR, extended=True)),
    ("SEND with immediate: MSN", to_server(MSN, ddp.untagged(ddp.SEND_IMM, info(), msn=2), extended=True)),
    ("atomic: unknown STags", to_server_each(READ_STAG, *(ddp.atomic((s, 0x1000)) for s in (0, 1, 2**31, 2**32 - 1)), extended=True)),
    ("atomic: MSN", to_server_each(MSN, *(ddp.atomic((1, 8), msn=n) for n in (0, 2, 2**32 - 1)), extended=True)),
    ("atomic: offset", to_server_each(OFFSET, ddp.atomic((1, 8), mo=1), ddp.atomic((1, 8), last=False), extended=True)),
    ("atomic: length", to_server_each(TOO_LONG, ddp.atomic((1, 8))[:-1], ddp.atomic((1, 8)) + b"+", ddp.untagged(ddp.ATOMIC_REQUEST), extended=True)),
    ("atomic: operation", to_server_each(OPCODE, *(ddp.atomic((1, 8), operation=n) for n in range(3, 16)), extended=True)),
    ("atomic: unaligned", to_server_each(CATASTROPHIC, *(ddp.atomic((1, n)) for n in (1, 4, 7, 2**64 - 1)), extended=True)),
    ("atomic response: none was asked for", to_server(NO_BUFFER, ddp.atomic_response(1), extended=True)),
    ("atomic response: to a read", atomic_instead_of_read),
    ("atomic response: MSN", to_server_each(MSN, *(ddp.atomic_response(1, msn=n) for n in (0, 2)), extended=True)),
    ("atomic response: offset", to_server(OFFSET, ddp.atomic_response(1, mo=4), extended=True)),
    # WRITEs and reads without a right key.
    ("WRITE: unknown STags", to_server_each(STAG, *(ddp.write(s, 0x1000, b"x") for s in (0, 1, 0x100, 2**31, 2**32 - 1)))),
    ("read: unknown STags", to_server_each(READ_STAG, *(READ_FROM((s, 0x1000), 1) for s in (0, 1, 0x100, 2**31, 2**32 - 1)))),
    ("read: nothing, of anywhere", zero_length_reads),
    ("read: more than agreed", too_many_reads(client)),
    ("read: MSN", to_server_each(MSN, *(READ_FROM((1, 2), 0, msn=n) for n in (0, 2, 2**32 - 1)))),
    ("read: offset", to_server(OFFSET, READ_FROM((1, 2), 0, mo=1))),
    ("read: more to come", to_server(OFFSET, READ_FROM((1, 2), 0, last=False))),
    ("read: short", to_server_each(TOO_LONG, READ_FROM((1, 2), 0)[:-1], ddp.untagged(ddp.READ_REQUEST))),
    ("read: long", to_server(TOO_LONG, READ_FROM((1, 2), 0) + b"+")),
    # Answers to the server's read of SIZE bytes.
    ("response: none was asked for", to_server(STAG, ddp.tagged(ddp.READ_RESPONSE, 1, 0, bytes(64)))),
    ("response: none, of no bytes", to_server(STAG, ddp.tagged(ddp.READ_RESPONSE, 0, 0))),
    # siw checked only one segment, so a message without a last segment wrote beyond the sink.
    ("response: never the last", answered(BOUNDS, *row(lambda n: (n, 1, False), 0, 1, SIZE + 1))),
    ("response: never the last, one at a time", endless_response),
    ("response: too long by one", answered(BOUNDS, (0, SIZE + 1, True))),
    ("response: too long, not the last", answered(BOUNDS, (0, SIZE + 1, False))),
    ("response: continued beyond", answered(BOUNDS, (0, SIZE, False), (SIZE, 1, True))),
    ("response: continued beyond, not the last", answered(BOUNDS, (0, 32, False), (32, 32, False), (64, 1000, False))),
    ("response: second half too long", answered(BOUNDS, (0, 32, False), (32, 33, True))),
    ("response: 65535 bytes", answered(BOUNDS, (0, 65535 - ddp.TAGGED_LEN, True))),
    ("response: second of 65535 bytes", answered(BOUNDS, (0, 32, False), (32, 65535 - ddp.TAGGED_LEN, True))),
    ("response: last too early", answered(BOUNDS, (0, 32, True))),
    ("response: second last too early", answered(BOUNDS, (0, 32, False), (32, 31, True))),
    ("response: empty", answered(BOUNDS, (0, 0, True))),
    ("response: wrong STag", answered(STAG, (0, SIZE, True), stag_delta=2**31)),
    ("response: STag of the next read", answered(STAG, (0, SIZE, True), stag_delta=1)),
    ("response: STag of the last read", answered(STAG, (0, SIZE, True), stag_delta=-1)),
    ("response: offset one on", answered(BOUNDS, (1, SIZE, True))),
    ("response: offset one back", answered(BOUNDS, (-1, SIZE, True))),
    ("response: offset would wrap", answered(BOUNDS, (-32, SIZE, True))),
    ("response: segment twice", answered(BOUNDS, (0, 32, False), (0, 32, False))),
    ("response: row, one too many", answered(BOUNDS, *row(lambda n: (n, 16, False), 0, 16, 5))),
    ("response: row, then a hole", answered(BOUNDS, *row(lambda n: (n, 8, False), 0, 8, 5), (48, 8, False))),
    ("response: segments swapped", answered(BOUNDS, (32, 32, False))),
    ("response: twice", answered(STAG, (0, SIZE, True), (0, SIZE, True), allowed=(ddp.SEND,))),
    ("response: bad CRC", answer_bad_crc()),
    ("response: bad CRC, in pieces", answer_bad_crc(30)),
    ("response: half, then FIN", silence_then(half_an_answer, fin)),
    ("response: half, then RST", silence_then(half_an_answer, rst)),
    ("server reads more than its region", read_of(SIZE + 1)),
    # Terminates of ours.
    ("Terminate: every layer and type", peer_terminates(*(ddp.terminate(layer, etype, 1) for layer in (0, 1, 2, 15) for etype in (0, 1, 2, 15)))),
    ("Terminate: cut short", peer_terminates(*(ddp.untagged(ddp.TERMINATE, body) for body in (b"", b"\0", b"\1\0\xe0", b"\1\0\xe0\0", b"\1\0\xe0\0\0", b"\1\0\x40\0\x80", b"\1\0\xe0\0\0\x2e\x41\x41")))),
    ("Terminate: longest", peer_terminates(ddp.terminate(0, 1, 0, 0xE0, bytes(48)))),
    ("Terminate: too long", peer_terminates(ddp.terminate(0, 1, 0, 0xE0, bytes(49)), ddp.terminate(0, 1, 0, 0xE0, bytes(5000)))),
    ("Terminate: in two", peer_terminates(ddp.terminate(0, 1, 0, last=False), ddp.terminate(0, 1, 0, mo=4))),
    ("Terminate: MSN", peer_terminates(*(ddp.terminate(0, 1, 0, msn=n) for n in (0, 2, 2**32 - 1)))),
    ("Terminate: of the server's read, wrong MSN", terminated_read((0, 1, 0), msn=2)),
    ("Terminate: of the server's read, its key", terminated_read((0, 1, 0), REMOTE_ACCESS_ERROR)),
    ("Terminate: of the server's read, local", terminated_read((0, 0, 0), REMOTE_OPERATION_ERROR)),
    ("deaf peer", deaf_peer),
    ("flood behind a bad FPDU", flood),
    # Regions of a client.
    ("client: honest server", honest_server),
    ("client: WRITE in pieces", piecewise_write),
    ("client: WRITE in rows of segments", honest_row),
    ("client: WRITE, row runs out", to_client(BOUNDS, lambda s, a: row(lambda n: WRITE_TO(s, n, bytes(16), last=False), a, 16, 5))),
    ("client: WRITE, row not to the end", to_client(BOUNDS, lambda s, a: row(lambda n: WRITE_TO(s, n, bytes(24), last=False), a, 24, 3))),
    ("client: WRITE, row of another key", to_client(STAG, lambda s, a: (*row(lambda n: WRITE_TO(s, n, bytes(8), last=False), a, 8, 4), WRITE_TO(s ^ 1, a + 32, bytes(8), last=False)))),
    ("client: WRITE one beyond", to_client(BOUNDS, lambda s, a: WRITE_TO(s, a + SIZE, b"x"))),
    ("client: WRITE across the end", to_client(BOUNDS, lambda s, a: WRITE_TO(s, a + SIZE - 7, EVIL))),
    ("client: WRITE one before", to_client(BOUNDS, lambda s, a: WRITE_TO(s, a - 1, b"x"))),
    ("client: WRITE too long", to_client(BOUNDS, lambda s, a: WRITE_TO(s, a, bytes(SIZE + 1)))),
    ("client: WRITE, second segment out", to_client(BOUNDS, lambda s, a: (WRITE_TO(s, a, bytes(SIZE), last=False), WRITE_TO(s, a + SIZE, b"x")))),
    ("client: WRITE wraps", to_client(WRAP, lambda s, a: WRITE_TO(s, 2**64 - 1, b"xy"))),
    ("client: WRITE ends at 2^64", to_client(BOUNDS, lambda s, a: WRITE_TO(s, 2**64 - 8, EVIL))),
    ("client: WRITE at 0", to_client(BOUNDS, lambda s, a: WRITE_TO(s, 0, EVIL))),
    ("client: WRITE, wrong key byte", to_client(STAG, lambda s, a: WRITE_TO(s ^ 1, a, EVIL))),
    ("client: WRITE, wrong index", to_client(STAG, lambda s, a: WRITE_TO(s ^ 0x80000000, a, EVIL))),
    ("client: WRITE promises 65535 bytes", unbelieved_header),
    ("client: WRITE of 65535 bytes", to_client(BOUNDS, lambda s, a: WRITE_TO(s, a, bytes(65535 - ddp.TAGGED_LEN)))),
    ("client: WRITE in pieces, bad CRC", split_bad_write),
    ("client: read one beyond", to_client(READ_BOUNDS, lambda s, a: READ_FROM((s, a), SIZE + 1))),
    ("client: read one before", to_client(READ_BOUNDS, lambda s, a: READ_FROM((s, a - 1), 2))),
    # siw: a length was kept in a signed number.
    ("client: read of 4 GiB", to_client(READ_BOUNDS, lambda s, a: READ_FROM((s, a), 2**32 - 1))),
    ("client: read wraps", to_client(READ_WRAP, lambda s, a: READ_FROM((s, 2**64 - 1), 2))),
    ("client: read, wrong key byte", to_client(READ_STAG, lambda s, a: READ_FROM((s ^ 1, a), 8))),
    ("client: read, second one bad", second_read_bad),
    *((f"client: SEND {op} invalidates a region", to_client(CANNOT_INVALIDATE, lambda s, a, op=op: invalidating(s, op))) for op in SENDS_INV),
    ("client: SEND invalidates, wrong key byte", to_client(READ_STAG, lambda s, a: invalidating(s ^ 1))),
    ("client: more reads than agreed", too_many_reads(server)),
    ("client: echoed offer, immediate data", to_client(OPCODE, lambda s, a: ddp.immediate())),
    ("client: echoed offer, atomic", to_client(OPCODE, lambda s, a: ddp.atomic((s, word(a))))),
    ("client: atomic without the right", atomic_on(NO_RIGHT)),
    ("client: atomic, wrong key byte", atomic_on(READ_STAG, stag_change=1)),
    ("client: atomic, unaligned", atomic_on(CATASTROPHIC, at=lambda a: word(a) + 4)),
    ("key of another process", other_domain),
    ("key of a dead process", dead_region),
    # CVE-2022-50666 of siw: a queue pair was destroyed while its peer still sent.
    ("client killed under a stream of WRITEs", killed_under_writes),
]


if __name__ == "__main__":
    STATUS = ring.run_with_rping("stream.py", CASES + MARKER_CASES)
    unload()
    sys.exit(STATUS)
