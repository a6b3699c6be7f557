# SPDX-License-Identifier: GPL-2.0
"""Reasons why a device runs slower than it could: rules over its connections and counters. Each
rule gives one line that names the symptom and the remedy."""

# Fewer than these say nothing: a handful of repeats is normal for TCP.
FEW = 10
LOST_SHARE = 0.001
# Bytes that wait for TCP's window are normal up to the amount that a connection holds anyway.
MUCH_WAITING = 1 << 20


def lost(connection):
    tcp = connection.tcp
    if tcp and tcp.retransmitted >= FEW and tcp.retransmitted > LOST_SHARE * tcp.sent:
        return (
            f"{tcp.retransmitted} of {tcp.sent} segments were sent again: the network loses packets, or too many come at once"
            " (ethtool -S, switch counters; a larger ring: ethtool -G)"
        )
    return None


def no_receive(connection):
    if connection.stalled:
        return "a message waits for a receive: this end's program posts too few; after ten seconds the connection ends"
    return None


def full(connection):
    if connection.waiting_bytes > MUCH_WAITING:
        return f"{connection.waiting_bytes} bytes wait for TCP: the network or the peer takes no more"
    return None


def small_frames(connection, setting):
    if connection.weft_peer is None or connection.transport == "sctp" or connection.longest_frame:
        return None
    why = "the peer is not Weft, or its extensions are off"
    if connection.weft_peer:
        why = "fpdu is 'segment' here"
    if setting("extensions") == "off":
        why = "extensions is 'off' here"
    if connection.markers:
        why = "the connection has markers"
    return f"frames of one segment ({connection.segment} bytes): {why}; a larger MTU makes them longer"


def markers(connection):
    if connection.markers:
        return "markers: a slower way and a copy more (weft set DEVICE markers off, if it is this end that asks for them)"
    return None


def over_sctp(connection):
    if connection.transport == "sctp":
        return "over SCTP messages are copied twice; transport tcp is several times faster"
    return None


def narrow_path(connection, mtu):
    path_mtu = connection.tcp.path_mtu if connection.tcp else None
    if mtu and path_mtu and path_mtu < mtu:
        return f"the path takes packets of {path_mtu} bytes, the card {mtu}: an MTU on the way is smaller"
    return None


def broken_paths(connection):
    down = [number for number, path in enumerate(connection.paths) if path.peer is None]
    if down:
        return f"{len(down)} of {len(connection.paths)} paths are down (ip link; routes): data takes the others"
    return None


def of_connection(device, connection):
    """The reasons why one connection may be slow."""

    def setting(name):
        return device.settings.get(name)

    told = (
        lost(connection),
        no_receive(connection),
        full(connection),
        small_frames(connection, setting),
        markers(connection),
        over_sctp(connection),
        narrow_path(connection, device.mtu),
        broken_paths(connection),
    )
    return [reason for reason in told if reason]


# Counter, how much of another it may be (or None: any number tells), and its meaning.
SIGNS = (
    ("rx_crc_errors", None, "frames came with a wrong CRC: a cable, a card or an offload damages data (ethtool -K NETDEV gro off tso off)"),
    ("rnr_stalls", ("rx_fpdus", 0.001), "messages waited for a receive: programs here post too few"),
    ("rnr_timeouts", None, "connections ended because no receive was posted for ten seconds"),
    ("rx_staged_fpdus", ("rx_fpdus", 0.01), "frames were copied on the way, since TCP's receive buffer is small: raise net.ipv4.tcp_rmem"),
    ("tx_lent_copied", ("tx_lent", 0.01), "lent pages were copied after all: packets stay on this machine, or somebody looks at them (tcpdump)"),
    ("tx_blocked", ("tx_batches", 0.5), "TCP had no room for more than half of what it was handed: the network or the peer is the limit"),
    ("conn_without_crc", None, "peers were refused since they ask for no CRC, and crc is 'required'"),
    ("conn_broken", None, "connections were lost by a reset, a time-out or the end of a device"),
    ("path_replayed", None, "frames were sent again on another path"),
)


def of_device(device):
    """The meaning of a device's counters since it was added."""
    told = []
    for counter, share, meaning in SIGNS:
        count = device.counters.get(counter, 0)
        whole = device.counters.get(share[0], 0) if share else 0
        if count and (not share or (count >= FEW and count > share[1] * whole)):
            of = f" of {whole} {share[0]}" if share else ""
            told.append(f"{counter} {count}{of}: {meaning}")
    return told
