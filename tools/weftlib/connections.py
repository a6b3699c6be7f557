# SPDX-License-Identifier: GPL-2.0
"""The connections of the Weft devices: their queue pairs from rdma(8), and the TCP below from
ss(8)."""

import dataclasses
import re

from weftlib.host import said, said_json

# The length that means "as much as a packet buffer holds".
ANY_LENGTH = 4294967295


@dataclasses.dataclass
class Tcp:
    """TCP's figures of one connection. A name is ss's own, with the value behind its colon."""

    retransmitted: int  # segments, ever
    sent: int  # segments, ever
    mss: int | None
    path_mtu: int | None
    rtt_ms: float | None


@dataclasses.dataclass
class Path:
    """One of several TCP connections that carry a queue pair's data."""

    peer: str | None  # None: it is down
    replayed: int
    leaves: int


@dataclasses.dataclass
class Connection:
    """A queue pair with a connection."""

    device: str
    queue_pair: int
    process: str
    state: str
    role: str
    local: str | None
    peer: str | None
    transport: str | None
    weft_peer: bool | None  # None: the handshake is not over
    crc: bool | None
    markers: bool | None
    segment: int | None
    longest_frame: int | None  # 0: a segment; ANY_LENGTH
    waiting_bytes: int
    stalled: bool
    paths: list
    tcp: Tcp | None

    def as_json(self):
        return dataclasses.asdict(self)

    def frames(self):
        """How long its frames are, in words."""
        if not self.longest_frame:
            return f"{self.segment}" if self.segment else "-"
        return "large" if self.longest_frame == ANY_LENGTH else f"{self.longest_frame}"


def first_number(pattern, text, kind=int):
    found = re.search(pattern, text)
    return kind(found[1]) if found else None


def parse_tcp(text):
    """{(local, peer): Tcp} of `ss -tniH`, which has two lines for each."""
    found, key = {}, None
    for line in text.splitlines():
        if not line[:1].isspace():
            words = line.split()
            key = (words[3], words[4]) if len(words) > 4 else None
        elif key:
            found[key] = Tcp(
                retransmitted=first_number(r"\bretrans:\d+/(\d+)", line) or 0,
                sent=first_number(r"\bsegs_out:(\d+)", line) or 0,
                mss=first_number(r"\bmss:(\d+)", line),
                path_mtu=first_number(r"\bpmtu:(\d+)", line),
                rtt_ms=first_number(r"\brtt:([0-9.]+)", line, float),
            )
    return found


def read_paths(fact):
    paths = []
    while (number := len(paths)) < 8 and fact(f"path{number}") is not None:
        peer = fact(f"path{number}")
        paths.append(
            Path(
                peer=None if peer == "down" else peer,
                replayed=fact(f"path{number}_replayed") or 0,
                leaves=fact(f"path{number}_leaves") or 0,
            )
        )
    return paths


def as_bool(value):
    return None if value is None else bool(value)


def connection(row, tcp):
    """The connection of a row of rdma's, or None if that queue pair has none."""

    def fact(name):
        # Up to iproute2 6.1 at least, rdma(8) writes numbers of 64 bits into JSON as signed ones of 32.
        value = row.get(f"drv_{name}")
        return value & 0xFFFFFFFF if isinstance(value, int) and value < 0 else value

    if fact("conn") is None:
        return None
    key = (fact("local"), fact("remote"))
    marked = fact("tx_markers"), fact("rx_markers")
    return Connection(
        device=row.get("ifname", "?"),
        queue_pair=row.get("lqpn", 0),
        process=f"{row.get('comm', '?')}/{row['pid']}" if "pid" in row else f"[{row.get('comm', 'kernel').strip('[]')}]",
        state=fact("conn"),
        role=fact("role"),
        local=key[0],
        peer=key[1],
        transport=fact("transport"),
        weft_peer=as_bool(fact("extended")),
        crc=as_bool(fact("crc")),
        markers=None if marked == (None, None) else any(marked),
        segment=fact("tx_segment"),
        longest_frame=fact("tx_longest"),
        waiting_bytes=fact("tx_waiting") or 0,
        stalled=bool(fact("rx_stalled")),
        paths=read_paths(fact),
        tcp=tcp.get(key),
    )


def find(host, device):
    """The connections of one device."""
    tcp = parse_tcp(said(host, "ss", "-tniH"))
    rows = said_json(host, "rdma", "-j", "-dd", "res", "show", "qp", "link", f"{device}/1")
    return [found for row in rows if (found := connection(row, tcp))]


def listeners(host, device):
    """The addresses that a device is listened on."""
    rows = said_json(host, "rdma", "-j", "-dd", "res", "show", "cm_id", "dev", device)
    return [row.get("src-addr", "any address") for row in rows if row.get("state") == "LISTEN"]
