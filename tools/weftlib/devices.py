# SPDX-License-Identifier: GPL-2.0
"""The Weft devices of this machine, from sysfs and rdma(8)."""

import dataclasses

from weftlib import settings
from weftlib.host import Failed, said_json

CLASS = "/sys/class/infiniband"


@dataclasses.dataclass
class Device:
    """One device, its port, and the Ethernet device below as far as it is seen from here."""

    name: str
    netdev: str | None
    state: str
    rate: str
    version: str
    mtu: int | None
    mac: str | None
    settings: dict
    counters: dict  # empty where rdma(8) does not tell them

    def changed(self):
        """The settings that are not at their default."""
        return {
            name: value
            for name, value in self.settings.items()
            if name not in settings.SETTINGS or value != settings.SETTINGS[name].default
        }

    def as_json(self):
        return dataclasses.asdict(self) | {"changed": self.changed()}


def file_of(device, name):
    return f"{CLASS}/{device}/weft/{name}"


def names(host):
    """The names of the Weft devices: those with a folder of settings."""
    return [name for name in host.names(CLASS) if host.names(f"{CLASS}/{name}/weft")]


def number(text):
    return int(text) if text and text.isdigit() else None


def counters(host, name):
    """From netlink: sysfs has no counters in another network namespace than the first, such as a container's."""
    rows = said_json(host, "rdma", "-j", "statistic", "show", "link", f"{name}/1")
    return {counter: value for row in rows for counter, value in row.items() if counter not in ("ifname", "port")}


def read_settings(host, name):
    return {setting: " ".join((host.read(file_of(name, setting)) or "").split()) for setting in host.names(f"{CLASS}/{name}/weft")}


def state(text):
    """`4: ACTIVE` is active."""
    return (text or "unknown").rpartition(": ")[2].lower()


def load(host, name, netdev):
    port = f"{CLASS}/{name}/ports/1"
    return Device(
        name=name,
        netdev=netdev,
        state=state(host.read(f"{port}/state")),
        rate=(host.read(f"{port}/rate") or "unknown").partition(" (")[0],
        version=host.read(f"{CLASS}/{name}/fw_ver") or "unknown",
        mtu=number(host.read(f"/sys/class/net/{netdev}/mtu")) if netdev else None,
        mac=host.read(f"/sys/class/net/{netdev}/address") if netdev else None,
        settings=read_settings(host, name),
        counters=counters(host, name),
    )


def find(host, wanted=None):
    """All Weft devices, or the wanted one. Raises Failed if that is none."""
    there = names(host)
    if wanted is not None and wanted not in there:
        if wanted in host.names(CLASS):
            raise Failed(f"{wanted} is an RDMA device, but not Weft's")
        rest = f"there are: {', '.join(there)}" if there else "there is none; rdma link add weft0 type weft netdev eth0"
        raise Failed(f"there is no Weft device '{wanted}'; {rest}")
    if not there:
        return []  # and rdma(8) fails where the RDMA core is not loaded
    netdevs = {link.get("ifname"): link.get("netdev") for link in said_json(host, "rdma", "-j", "link", "show")}
    return [load(host, name, netdevs.get(name)) for name in there if wanted in (None, name)]
