# SPDX-License-Identifier: GPL-2.0
"""Checks of the kernel and of the module."""

import re

from weftlib.finding import FAULT, OK, UNKNOWN, WARNING, Finding
from weftlib.host import said

# Options that the module needs, and options that programs need.
OPTIONS = (
    ("CONFIG_INFINIBAND_ADDR_TRANS", FAULT, "connections (rdma_cm) need"),
    ("CONFIG_INFINIBAND_VIRT_DMA", FAULT, "a device without DMA needs"),
    ("CONFIG_INFINIBAND_USER_ACCESS", WARNING, "programs in user space (ib_uverbs) need"),
)


def config(host):
    """{option: value} of the running kernel, or None."""
    text = host.read(f"/boot/config-{host.kernel()}") or said(host, "zcat", "/proc/config.gz")
    return dict(re.findall(r"^(CONFIG_\w+)=(\S+)$", text, re.MULTILINE)) if text else None


def options(host):
    there = config(host)
    if there is None:
        yield Finding("kernel options", UNKNOWN, f"neither /boot/config-{host.kernel()} nor /proc/config.gz is here")
        return
    bad = [(name, verdict, use) for name, verdict, use in OPTIONS if there.get(name) not in ("y", "m")]
    for name, verdict, use in bad:
        yield Finding("kernel options", verdict, f"{name} is not set, which {use}", "boot a kernel that has it; Debian's have")
    if not bad:
        yield Finding("kernel options", OK, f"{host.kernel()} has what Weft needs")


def ofed(host):
    """A vendor's RDMA stack in place of the kernel's, for which weft.ko was not built."""
    core = said(host, "modinfo", "-F", "filename", "ib_core").strip()
    if host.names("/sys/module/mlx_compat") or re.search(r"/(updates|extra|weak-updates)/", core):
        return Finding(
            "RDMA core",
            FAULT,
            f"a vendor's RDMA stack (OFED) has replaced the kernel's ({core or 'mlx_compat is loaded'}); weft.ko fits the kernel's own",
            "uninstall it (ofed_uninstall.sh), or build weft.ko against /usr/src/ofa_kernel, which nobody has tried",
        )
    return Finding("RDMA core", OK, "the kernel's own")


def signed_only(host):
    """Does this kernel load signed modules only?"""
    lockdown = host.read("/sys/kernel/security/lockdown") or ""
    return host.read("/sys/module/module/parameters/sig_enforce") == "Y" or re.search(r"\[(integrity|confidentiality)\]", lockdown)


def module(host):
    loaded = host.read("/sys/module/weft/version")
    file = said(host, "modinfo", "-F", "version", "weft").strip()
    if not loaded and not file:
        mend = f"the package weft-dkms, or make install or make dkms-install in Weft's tree, with the headers of {host.kernel()}"
        return Finding("module", FAULT, f"there is no weft.ko for {host.kernel()}", mend)
    if not loaded:
        mend = "modprobe weft"
        if signed_only(host):
            mend += "; this kernel loads signed modules only (Secure Boot): enroll the key that signed it (mokutil --import)"
        return Finding("module", FAULT, f"weft.ko {file} is installed, but not loaded", mend)
    if file and file != loaded:
        mend = "end what uses the devices, then modprobe -r weft_sctp weft_paths weft, modprobe weft, and add the links again"
        return Finding("module", WARNING, f"version {loaded} is loaded, but {file} is installed", mend)
    return Finding("module", OK, f"version {loaded} is loaded")


def findings(host):
    return [*options(host), ofed(host), module(host)]
