# SPDX-License-Identifier: GPL-2.0
"""/etc/weft.conf: the devices that this machine has after it boots, and their settings. This module
alone reads it, for the units of systemd through weft-links, and for weft(8)."""

import difflib
import re

from weftlib import settings
from weftlib.host import Failed, said_json

PATH = "/etc/weft.conf"
DEVICES = "/sys/class/infiniband"
NETDEVS = "/sys/class/net"
SIGNATURE = "this machine takes signed modules only: mokutil --import /var/lib/dkms/mok.pub, and reboot"
SECTION = re.compile(r"\[\s*(.*?)\s*\]")
LONGEST_NAME = 31  # with a longer one, iw_cm_map() of the kernel has each connection and each listener fail
NAME = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{LONGEST_NAME - 1}}}")
NETDEV = re.compile(r"[^\s/:]{1,15}")


class Link:
    """A section: a device, the Ethernet device below it, and its settings."""

    def __init__(self, name, line):
        self.name = name
        self.line = line
        self.netdev = None
        self.values = {}  # of a setting: its value, and the line that says so
        self.errors = []

    def take(self, key, value, line):
        """One line of the section. Raises ValueError if it can't be."""
        if key == "netdev":
            if self.netdev:
                raise ValueError(f"{self.name} has a netdev already: {self.netdev}")
            if not NETDEV.fullmatch(value) or value in (".", ".."):
                raise ValueError(f"'{value}' is no name of a network device")
            self.netdev = value
            return
        if key in self.values:
            raise ValueError(f"{self.name} has {key} already, in line {self.values[key][1]}")
        if key not in settings.SETTINGS:
            near = difflib.get_close_matches(key, [*settings.SETTINGS, "netdev"], 1)
            raise ValueError(f"there is no setting '{key}'" + (f"; is it {near[0]}?" if near else "; weft(7) lists them"))
        settings.find(key).check(value)
        self.values[key] = (value, line)


def parse(text, path=PATH):
    """(links, errors) of the text of a configuration. A link has its own errors as well, and those of one do
    not keep others from coming up."""
    links, errors, link, skipping = [], [], None, False

    def wrong(number, what):
        errors.append(f"{path}:{number}: {what}")
        if link:
            link.errors.append(errors[-1])

    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)[#;].*", "", line).strip()
        if not line:
            continue
        section = SECTION.fullmatch(line)
        if section:
            name = section.group(1)
            known = next((other for other in links if other.name == name), None)
            link, skipping = None, True
            if known:
                wrong(number, f"[{name}] is there already, in line {known.line}")
            elif not NAME.fullmatch(name):
                wrong(number, f"'{name}' is no name of a device: up to {LONGEST_NAME} letters, digits and _, a letter first")
            else:
                link, skipping = Link(name, number), False
                links.append(link)
            continue
        if skipping:
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not key:
            wrong(number, f"'{line}' is neither [DEVICE] nor SETTING = VALUE")
        elif not link:
            wrong(number, f"{key} belongs to no device; put it below a line [DEVICE], such as [weft0]")
        else:
            try:
                link.take(key, value, number)
            except ValueError as error:
                wrong(number, str(error))
    below = {}
    for link in links:
        if not link.netdev:
            wrong(link.line, f"[{link.name}] has no netdev; add a line such as netdev = eth0")
        elif link.netdev in below:
            wrong(link.line, f"{link.netdev} carries {below[link.netdev]} already; an Ethernet device carries one")
        else:
            below[link.netdev] = link.name
    return links, errors


def read(host, path=PATH):
    """(links, errors) of the configuration; none of either if there is no such file."""
    text = host.read(path)
    if text is not None:
        return parse(text, path)
    folder, _, name = path.rpartition("/")
    return [], [f"{path}: it can't be read; see it as root"] if name in host.names(folder) else []


def find(host, name, path=PATH):
    """The link of that name, without errors. Raises Failed if the file has none, or a wrong one."""
    links, errors = read(host, path)
    link = next((link for link in links if link.name == name), None)
    if not link:
        why = "; ".join(errors) or f"it has {', '.join(link.name for link in links) or 'no devices'}"
        raise Failed(f"{path} has no device {name}: {why}")
    if link.errors:
        raise Failed("\n".join(link.errors))
    return link


# ---- the units' work ------------------------------------------------------


def carrier(host, name):
    """The network device below a device that is up, or None if it is in another network namespace. sysfs does not
    tell on Linux 6.1."""
    return next((row.get("netdev") for row in said_json(host, "rdma", "-j", "link", "show", f"{name}/1")), None)


def complaint(ran, program):
    """The message of a program that failed."""
    if ran is None:
        return f"{program} is not installed"
    return (ran[2] or ran[1]).strip() or f"{program} ended with status {ran[0]}"


def apply(host, link, path=PATH):
    """Makes the settings of the section, and leaves others alone: they have the defaults that the module was loaded with.
    Raises Failed at the first that fails."""
    directory = f"{DEVICES}/{link.name}/weft"
    known = host.names(directory)
    for name, (value, line) in link.values.items():
        if name not in known:
            raise Failed(f"{path}:{line}: the module that is loaded has no setting '{name}'; it is older than this file")
        try:
            host.write(f"{directory}/{name}", value)
        except OSError as error:
            raise Failed(f"{path}:{line}: {name} = {value}: {error.strerror}; weft(7) says what it takes") from None


def up(host, name, path=PATH):
    """Adds the device, unless it is there, and makes its settings. Raises Failed, with nothing left behind."""
    link = find(host, name, path)
    if name in host.names(DEVICES):
        below = carrier(host, name)
        if not host.names(f"{DEVICES}/{name}/weft"):
            raise Failed(f"{name} is a device of another driver; give [{name}] in {path} another name")
        if below and below != link.netdev and link.netdev in host.names(NETDEVS):
            raise Failed(f"{name} is on {below}, and {path}:{link.line} says {link.netdev}: rdma link delete {name}")
        apply(host, link, path)
        return
    if link.netdev not in host.names(NETDEVS):
        raise Failed(f"{path}:{link.line}: {name}: there is no network device {link.netdev} (ip link shows those there are)")
    ran = host.run("modprobe", "weft")
    if not ran or ran[0]:
        said = complaint(ran, "modprobe")
        signature = re.search(r"[Kk]ey (was rejected|not available)|Operation not permitted", said)
        raise Failed(f"the module can't be loaded: {said} ({SIGNATURE if signature else 'dkms status weft; dmesg'})")
    ran = host.run("rdma", "link", "add", name, "type", "weft", "netdev", link.netdev)
    if not ran or ran[0]:
        raise Failed(f"{path}:{link.line}: rdma link add {name} on {link.netdev}: {complaint(ran, 'rdma')} (dmesg says why)")
    try:
        apply(host, link, path)
    except Failed:
        down(host, name)
        raise


def down(host, name):
    """Deletes the device, if it is there: its connections end, and programs see flushed requests. Raises Failed."""
    if not host.names(f"{DEVICES}/{name}/weft"):
        return
    ran = host.run("rdma", "link", "delete", name)
    if (not ran or ran[0]) and name in host.names(DEVICES):
        raise Failed(f"rdma link delete {name}: {complaint(ran, 'rdma')}")


# ---- for systemd ------------------------------------------------------------


def escape(text):
    """A word of a path, as names of units have it (systemd.unit(5))."""
    return "".join(
        char if re.fullmatch(r"[A-Za-z0-9:_.]", char) and (at or char != ".") else "".join(f"\\x{byte:02x}" for byte in char.encode())
        for at, char in enumerate(text)
    )


def units(links, path=PATH):
    """Files and links below the generator's directory: {name: text}, and {name: target}."""
    files, symlinks = {}, {}
    for link in links:
        unit = f"weft@{escape(link.name)}.service"
        symlinks[f"weft.target.wants/{unit}"] = "/usr/lib/systemd/system/weft@.service"
        # A section with an error fails at once, and says so, instead of waiting for its network device.
        if not link.errors:
            device = f"sys-subsystem-net-devices-{escape(link.netdev)}.device"
            # Wants, not BindsTo: a device goes on when its netdev gets another name.
            files[f"{unit}.d/netdev.conf"] = (
                f"# Made of {path}, line {link.line}.\n[Unit]\nDescription=Weft device {link.name} on {link.netdev}\n"
                f"SourcePath={path}\nWants={device}\nAfter={device}\n"
            )
            symlinks[f"{device}.wants/{unit}"] = "/usr/lib/systemd/system/weft@.service"
    if links:
        symlinks["multi-user.target.wants/weft.target"] = "/usr/lib/systemd/system/weft.target"
    return files, symlinks
