# SPDX-License-Identifier: GPL-2.0
"""The settings of a device: the values of each, its default and its meaning. The kernel has the
last word on a value; this table is there to say why it refuses one."""

import ipaddress
import re

MAX_PEERS = 16


class Setting:
    """One file below /sys/class/infiniband/DEVICE/weft."""

    def __init__(self, name, default, takes, meaning, fits):
        self.name = name
        self.default = default
        self.takes = takes
        self.meaning = meaning
        self.fits = fits

    def check(self, value):
        """Raises ValueError, with the values that it takes, if the value is none of these."""
        if not self.fits(value.strip()):
            raise ValueError(f"{self.name} can't be '{value}'; it takes {self.takes}")


def words(*allowed):
    """One of these words, or its number."""
    return lambda value: value in allowed or value in {str(n) for n in range(len(allowed))}


def number(first, last, *allowed):
    """A number in this range, or one of these words."""
    return lambda value: value in allowed or (value.isascii() and value.isdigit() and first <= int(value) <= last)


def some_of(*allowed):
    """One or more of these words, with spaces or commas between, or the number of their bits."""

    def fits(value):
        if value.isascii() and value.isdigit():
            return 1 <= int(value) < 1 << len(allowed)
        chosen = re.split(r"[ ,]+", value)
        return bool(value) and all(word in allowed for word in chosen)

    return fits


def peer(entry):
    """ADDRESS[/BITS]=LENGTH."""
    network, _, length = entry.partition("=")
    try:
        ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
    return number(512, 65536, "segment", "large")(length)


def peers(value):
    entries = [entry for entry in re.split(r"[ ,\t\n]+", value) if entry]
    return len(entries) <= MAX_PEERS and all(map(peer, entries))


ON_OFF = ("off", "on")
SECONDS = number(0, 32767, "off")
SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("crc", "preferred", "off, preferred or required", "CRC32C of each frame", words("off", "preferred", "required")),
        Setting("mpa_revision", "2", "1 or 2", "revision of MPA to connect with", number(1, 2)),
        Setting(
            "rtr",
            "send write read",
            "one or more of send, write and read",
            "kinds of ready-to-receive frames",
            some_of("send", "write", "read"),
        ),
        Setting("keepalive", "60", "1 to 32767 seconds, or off", "silence after which TCP asks for the peer", SECONDS),
        Setting("user_timeout", "60", "1 to 32767 seconds, or off", "how long sent data may stay unacknowledged", SECONDS),
        Setting("fpdu", "large", "segment or large", "how long frames to other Weft devices are", words("segment", "large")),
        Setting(
            "fpdu_peers",
            "",
            f"up to {MAX_PEERS} entries ADDRESS[/BITS]=LENGTH; LENGTH is segment, large or 512 to 65536",
            "peers that get frames of another length",
            peers,
        ),
        Setting("extensions", "on", "on or off", "immediate data, atomics and large frames with other Weft devices", words(*ON_OFF)),
        Setting("markers", "off", "on or off", "ask peers for MPA markers", words(*ON_OFF)),
        Setting("transport", "tcp", "tcp, sctp or paths", "what connections are made over", lambda value: value in ("tcp", "sctp", "paths")),
        Setting("lend", "unchecked", "off, unchecked or all", "large payload that is sent without a copy", words("off", "unchecked", "all")),
    )
}


def find(name):
    """The setting of this name. Raises ValueError if there is none."""
    if name not in SETTINGS:
        raise ValueError(f"there is no setting '{name}'; there are: {', '.join(SETTINGS)}")
    return SETTINGS[name]
