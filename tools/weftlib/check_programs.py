# SPDX-License-Identifier: GPL-2.0
"""Checks of the needs of programs in user space: the library, the device files, the limit of locked
memory, the names."""

import re

from weftlib.finding import FAULT, OK, UNKNOWN, WARNING, Finding
from weftlib.host import said
from weftlib.links import LONGEST_NAME

# Prints where a libibverbs looks for the files that name plugins, and how it makes a plugin's path of a name: its own texts.
LOOKS = ("grep", "-zaoE", r"^/.*/(libibverbs\.d|lib%s-rdmav[0-9]+\.so)$")
REINSTALL = "make && make install in Weft's tree, or the package libweft"
# A queue pair of default size with its buffers fits many times; ib_write_bw with large messages fits as well.
ENOUGH_MEMLOCK = 64 << 20


def library(host):
    """The provider is there, for the rdma-core that programs load, and its driver file names it."""
    libraries = said(host, "ldconfig", "-p")
    path = re.search(r"^\s*libibverbs\.so\.1 .*=> (.+)$", libraries, re.MULTILINE)
    if not libraries:
        return Finding("library", UNKNOWN, "ldconfig does not tell which libraries there are")
    if not path:
        return Finding("library", FAULT, "libibverbs, the library of rdma-core, is not installed", "apt-get install libibverbs1")
    texts = said(host, *LOOKS, path[1]).split("\0")
    config = next((text for text in texts if text.endswith(".d")), None)
    plugin = next((text % "weft" for text in texts if "%s" in text), None)
    if not config or not plugin:
        return Finding("library", UNKNOWN, f"{path[1]} does not tell where it looks for providers")
    folder, _, name = plugin.rpartition("/")
    if name not in host.names(folder):
        others = [other for other in host.names(folder) if other.startswith("libweft-")]
        what = f"{plugin}, the provider for this rdma-core, is not there"
        return Finding("library", FAULT, what + "".join(f"; {other} is of another" for other in others), REINSTALL)
    if "driver weft" not in (host.read(f"{config}/weft.driver") or ""):
        return Finding("library", FAULT, f"{plugin} is here, but no weft.driver names it in {config}", REINSTALL)
    return Finding("library", OK, plugin)


def agreement(host, found):
    """Do library and module understand each other? The library itself says so when it opens a device."""
    for device in found:
        ran = host.run("ibv_devinfo", "-d", device.name)
        if ran is None:
            return Finding("library and module", WARNING, "ibv_devinfo is missing, so nothing was opened", "apt-get install ibverbs-utils")
        # libibverbs complains of other drivers, too, and of the limit of locked memory.
        complaint = next((line for line in ran[2].splitlines() if "libweft" in line), "")
        if ran[0] or complaint:
            what = complaint or (ran[2] + ran[1]).strip().partition("\n")[0] or f"ibv_devinfo ended with status {ran[0]}"
            return Finding("library and module", FAULT, f"{device.name} can't be opened: {what}", REINSTALL + "; then reload the module")
    if found:
        return Finding("library and module", OK, "a program can open each device")
    return Finding("library and module", WARNING, "there is no device to try", "rdma link add weft0 type weft netdev eth0")


def device_files(host):
    missing = [module for module, file in (("ib_uverbs", "uverbs"), ("rdma_ucm", "rdma_cm")) if not has_file(host, file)]
    if missing:
        return Finding("device files", FAULT, f"there is no /dev/infiniband/ of {' and '.join(missing)}", f"modprobe -a {' '.join(missing)}")
    return Finding("device files", OK, "/dev/infiniband/uverbs* and rdma_cm are there")


def has_file(host, name):
    return any(file.startswith(name) for file in host.names("/dev/infiniband"))


def memlock(host):
    limit = host.memlock()
    if host.is_root() and limit is not None:
        return Finding("locked memory", OK, f"{limit >> 10} KiB, which does not bind root; see it as another user (ulimit -l)")
    if limit is not None and limit < ENOUGH_MEMLOCK:
        mend = "ulimit -l unlimited, memlock in /etc/security/limits.d, LimitMEMLOCK=infinity in a unit of systemd"
        return Finding("locked memory", WARNING, f"the limit is {limit >> 10} KiB: registering more memory fails with ENOMEM", mend)
    return Finding("locked memory", OK, "unlimited" if limit is None else f"{limit >> 10} KiB")


def names(host, found):
    """rdma_cm can use the name, and udev's rule of rdma-core has not given the device another than it was added with."""
    long = next((device.name for device in found if len(device.name) > LONGEST_NAME), None)
    if long:
        what = f"{long} has more than {LONGEST_NAME} characters: it can neither connect nor listen, nor can any program here listen on all addresses"
        return Finding("device name", FAULT, what, f"rdma dev set {long} name weft0, or another that is not in use")
    rule = "60-rdma-persistent-naming.rules"
    renamed = [device.name for device in found if re.match(r"iw[pxsofn]", device.name)]
    if not renamed:
        return Finding("device name", OK, "no device was renamed" if found else "no device to look at")
    mend = f"ln -s /dev/null /etc/udev/rules.d/{rule}; or go by the names that rdma link shows"
    if host.read(f"/etc/udev/rules.d/{rule}") is not None:
        mend = "the rule is replaced by now: add the link again"
    return Finding("device name", WARNING, f"{', '.join(renamed)}: udev's rule ({rule}) gave it this name", mend)


def configuration(host):
    """/etc/weft.conf, if it is here; the program that brings its links up judges it."""
    ran = host.run("/usr/lib/weft/weft-links", "check")
    if ran is None:
        return []
    if ran[0]:
        return [Finding("configuration", FAULT, "; ".join(ran[2].split("\n")).strip("; "), "weft.conf(5) says what it can hold")]
    return [Finding("configuration", OK, "/etc/weft.conf")]


def rdma_tool(host):
    if said(host, "rdma", "-V"):
        return Finding("rdma(8)", OK, said(host, "rdma", "-V").strip())
    return Finding("rdma(8)", FAULT, "rdma(8) is missing: no link can be added", "apt-get install iproute2")


def findings(host, found):
    return [
        rdma_tool(host),
        *configuration(host),
        library(host),
        device_files(host),
        agreement(host, found),
        memlock(host),
        names(host, found),
    ]
