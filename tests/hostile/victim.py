# SPDX-License-Identifier: GPL-2.0
"""The victim program on host A, and connections to it in every manner a peer may choose."""
import contextlib
import os
import select
import socket
import subprocess
import threading

from hosts import OVER_SCTP, START, Failure, check, listen, on, setting
from peer import Stream, peer_socket, receive_frame
from wire import ddp, mpa

PROGRAM = "build/tests/hostile/victim"
# The first connection has programs loaded, which takes a busy emulated machine its time.
PATIENCE = 180
OWN = {socket.AF_INET: "10.0.0.1", socket.AF_INET6: "fd00::1"}
PEER = {socket.AF_INET: "10.0.0.2", socket.AF_INET6: "fd00::2"}


class Region:
    """A region of the victim's: its key, address, length and place in the arena."""

    def __init__(self, words):
        self.stag, self.address, self.length, self.offset = map(int, words)

    def place(self, at=0):
        return self.stag, self.address + at


class Victim:
    """The program; it lives as long as the cases."""

    def __init__(self):
        if not os.path.exists(PROGRAM):
            raise SystemExit(f"{PROGRAM} is missing. Run: make -C tests/hostile")
        self.process = subprocess.Popen(
            on("A", PROGRAM, OWN[socket.AF_INET]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.regions = {}
        for line in self.answer():
            word, name, *rest = line.split()
            check(word == "region", f"the victim says {line!r}")
            self.regions[name] = Region(rest)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        """The lines of its answer to a command."""
        lines = []
        guard = threading.Timer(PATIENCE, self.process.kill)
        guard.start()
        try:
            for line in self.process.stdout:
                line = line.strip()
                if line == "done":
                    return lines
                check(not line.startswith("failed"), f"the victim says {line!r}")
                lines.append(line)
        finally:
            guard.cancel()
        raise Failure("the victim died")

    def ask(self, command):
        self.tell(command)
        return self.answer()

    def changed(self):
        """Offsets of the first and last byte of its arena that are not as they should be, or None."""
        words = self.ask("memory")[0].split()
        return None if words == ["same"] else (int(words[1]), int(words[2]))

    def unharmed(self):
        where = self.changed()
        if where:
            self.ask("renew")
        check(not where, f"bytes {where} of the victim's memory have changed")

    def written(self, region, pieces):
        """These bytes lie in a region now, each piece at its offset, and no other byte has changed. Then all are as before."""
        check(self.changed(), "nothing has changed")
        for at, piece in pieces.items():
            self.ask(f"holds {self.regions[region].offset + at} {piece.hex()}")
        self.unharmed()
        self.ask("renew")

    def close(self):
        self.process.stdin.close()
        self.process.wait(START)


@contextlib.contextmanager
def called(victim, family=socket.AF_INET, buffer=None, **options):
    """Tells the victim to connect to us. Returns our end of the connection, with a receive buffer of that size."""
    with peer_socket(family) as listener:
        if buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        listen(listener, (PEER[family], 0), PATIENCE)
        words = [f"{name}={int(value)}" for name, value in options.items()]
        victim.tell(" ".join(["connect", PEER[family], str(listener.getsockname()[1]), *words]))
        # If the victim speaks before it is connected, it says why it failed.
        ready, _, _ = select.select([listener, victim.process.stdout], [], [], PATIENCE)
        if listener not in ready:
            raise Failure(f"no connection, and the victim says {victim.answer() if ready else 'nothing'}")
        with listener.accept()[0] as sock:
            if not OVER_SCTP:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield sock


@contextlib.contextmanager
def connection(victim, crc=True, revision=2, extended=False, **manner):
    """The victim connects to us. Afterwards it must have seen the end; what it says of it is in .said."""
    with contextlib.ExitStack() as stack:
        if not crc:
            stack.enter_context(setting("crc", "off"))
        if revision == 1:
            stack.enter_context(setting("mpa_revision", "1"))
        sock = stack.enter_context(called(victim, **manner))
        stream = Stream(sock, crc)
        answer_request(stream, crc, revision, extended)
        stream.window = None
        for line in victim.answer():
            word, value = line.split()
            setattr(stream, word, int(value))
        yield stream
        sock.close()
        stream.said = victim.ask("end")


def answer_request(stream, crc, revision, extended):
    request = receive_frame(stream.sock, START)
    check(request.key == mpa.REQUEST_KEY and request.revision == revision, f"request {vars(request)}")
    check(bool(request.flags & mpa.CRC) == crc, f"flags {request.flags:#x} in the request")
    flags = (mpa.CRC if crc else 0) | (mpa.EXTENDED if extended else 0)
    if revision == 1:
        stream.sock.sendall(mpa.reply(flags=flags, revision=1))
        return
    asked = mpa.Limits.parsed(request.private)
    check(asked.p2p and asked.write, f"no RTR by WRITE offered: {request.private.hex()}")
    stream.sock.sendall(mpa.reply(flags=flags | mpa.ENHANCED, revision=2, private=mpa.Limits(1, 1, write=True).packed()))
    check(not stream.expect(ddp.WRITE, START).payload, "the RTR has a payload")
