# SPDX-License-Identifier: GPL-2.0
"""Tests of /etc/weft.conf: what is wrong with a file, by line; and what is done for a unit, on a machine that is made up."""
import errno
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools"))
sys.dont_write_bytecode = True

from weftlib import links, settings  # noqa: E402 (the path comes first)
from weftlib.host import Failed  # noqa: E402

GOOD = """
# two links
[weft0]
netdev = eth0    # the first card
crc = required
rtr = send, write

[storage]
netdev = br-lan.7
fpdu_peers = 10.0.0.0/8=segment
"""


class Machine:
    """Files and directories, and programs that do what the kernel would."""

    def __init__(self, conf, netdevs=("eth0", "br-lan.7"), refuse=(), fails=None):
        self.conf = conf
        self.netdevs = netdevs
        self.refuse = refuse
        self.fails = fails or {}
        self.devices = {}
        self.settings = {}
        self.ran = []

    def read(self, path):
        return self.conf if path == links.PATH else None

    def names(self, path):
        if path == links.NETDEVS:
            return sorted(self.netdevs)
        if path == links.DEVICES:
            return sorted(self.devices)
        device = re.fullmatch(r"/sys/class/infiniband/(\w+)/weft", path)
        return sorted(settings.SETTINGS) if device and device.group(1) in self.devices else []

    def write(self, path, text):
        name = path.rpartition("/")[2]
        if name in self.refuse:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self.settings[name] = text

    def run(self, *command):
        if command[:4] == ("rdma", "-j", "link", "show"):
            name = command[4].removesuffix("/1")
            return 0, json.dumps([{"ifname": name, "port": 1, "netdev": self.devices[name]}]), ""
        self.ran.append(" ".join(command))
        if command[0] in self.fails:
            return 1, "", self.fails[command[0]]
        if command[:3] == ("rdma", "link", "add"):
            self.devices[command[3]] = command[7]
        if command[:3] == ("rdma", "link", "delete"):
            del self.devices[command[3]]
        return 0, "", ""


def wrong(text):
    """The errors of a file, without its name."""
    return [error.removeprefix("/etc/weft.conf:") for error in links.parse(text)[1]]


class File(unittest.TestCase):
    def test_good(self):
        found, errors = links.parse(GOOD)
        self.assertEqual(errors, [])
        self.assertEqual([(link.name, link.netdev) for link in found], [("weft0", "eth0"), ("storage", "br-lan.7")])
        self.assertEqual(found[0].values, {"crc": ("required", 5), "rtr": ("send, write", 6)})

    def test_shipped(self):
        """The file of the package has no devices, and is right when its example's marks are taken away."""
        text = (TOP / "tools/weft.conf").read_text(encoding="utf-8")
        self.assertEqual(links.parse(text), ([], []))
        example = "\n".join(line[1:] for line in text[text.index("#[") :].splitlines())
        found, errors = links.parse(example)
        self.assertEqual((errors, [link.netdev for link in found]), ([], ["eth0"]))

    def test_each_setting_is_known(self):
        """Every setting of the module can be in the file: names in sysfs are those of the kernel's table."""
        source = (TOP / "kernel/device/sysfs.c").read_text(encoding="utf-8")
        for name in settings.SETTINGS:
            self.assertRegex(source, rf"\b{name}\b")

    def test_longest_name(self):
        self.assertEqual(wrong(f"[{'n' * 31}]\nnetdev = eth0\n"), [])

    def test_lines(self):
        for text, said in (
            ("crc = off\n", "1: crc belongs to no device; put it below a line [DEVICE], such as [weft0]"),
            ("[weft0]\nnetdev eth0\n", "2: 'netdev eth0' is neither [DEVICE] nor SETTING = VALUE"),
            ("[weft0]\n\n", "1: [weft0] has no netdev; add a line such as netdev = eth0"),
            ("[weft-0]\nnetdev = eth0\n", "1: 'weft-0' is no name of a device: up to 31 letters, digits and _, a letter first"),
            (f"[{'n' * 32}]\nnetdev = eth0\n", f"1: '{'n' * 32}' is no name of a device: up to 31 letters, digits and _, a letter first"),
            ("[a]\nnetdev = x\n[a]\nnetdev = y\n", "3: [a] is there already, in line 1"),
            ("[a]\nnetdev = x\n[b]\nnetdev = x\n", "3: x carries a already; an Ethernet device carries one"),
            ("[a]\nnetdev = x\nnetdev = y\n", "3: a has a netdev already: x"),
            ("[a]\nnetdev = ../../etc\n", "2: '../../etc' is no name of a network device"),
            ("[a]\nnetdev = x\ncrcs = off\n", "3: there is no setting 'crcs'; is it crc?"),
            ("[a]\nnetdev = x\nqwertz = off\n", "3: there is no setting 'qwertz'; weft(7) lists them"),
            ("[a]\nnetdev = x\ncrc = off\ncrc = off\n", "4: a has crc already, in line 3"),
            ("[a]\nnetdev = x\ncrc = maybe\n", "3: crc can't be 'maybe'; it takes off, preferred or required"),
            ("[a]\nnetdev = x\nmpa_revision = 9\n", "3: mpa_revision can't be '9'; it takes 1 or 2"),
        ):
            with self.subTest(text):
                self.assertIn(said, wrong(text))

    def test_one_wrong_device_does_not_harm_others(self):
        found, errors = links.parse("[a]\nnetdev = x\ncrc = maybe\n[b]\nnetdev = y\n")
        self.assertEqual((len(errors), [bool(link.errors) for link in found]), (1, [True, False]))


class Units(unittest.TestCase):
    def test_names(self):
        files, symlinks = links.units(links.parse(GOOD)[0])
        device = r"sys-subsystem-net-devices-br\x2dlan.7.device"
        self.assertIn(f"{device}.wants/weft@storage.service", symlinks)
        self.assertIn("weft.target.wants/weft@weft0.service", symlinks)
        self.assertIn(f"After={device}\n", files["weft@storage.service.d/netdev.conf"])

    def test_nothing(self):
        self.assertEqual(links.units([]), ({}, {}))

    def test_a_file_that_cannot_be_read(self):
        here = Machine(None)
        self.assertEqual(links.read(here, links.PATH), ([], []))
        here.names = lambda path: ["weft.conf"] if path == "/etc" else []
        self.assertEqual(links.read(here, links.PATH), ([], ["/etc/weft.conf: it can't be read; see it as root"]))

    def test_an_error_is_not_waited_for(self):
        files, symlinks = links.units(links.parse("[a]\nnetdev = x\ncrc = maybe\n")[0])
        self.assertEqual(files, {})
        self.assertEqual(sorted(symlinks), ["multi-user.target.wants/weft.target", "weft.target.wants/weft@a.service"])

    def test_as_systemd_escapes(self):
        """systemd-escape, where it is installed, says the same."""
        for name in ("eth0", "br-lan.7", ".x", "a_b:c", "ä"):
            try:
                ran = subprocess.run(["systemd-escape", "--", name], capture_output=True, text=True, check=True)
            except FileNotFoundError:
                self.skipTest("no systemd-escape here")
            self.assertEqual(links.escape(name), ran.stdout.strip())

    def test_generator(self):
        """The program writes them, and tells what is wrong."""
        with tempfile.TemporaryDirectory() as directory:
            conf = pathlib.Path(directory, "weft.conf")
            conf.write_text(GOOD + "[bad]\nmpa_revision = 99\n", encoding="utf-8")
            out = pathlib.Path(directory, "out")
            ran = subprocess.run([TOP / "tools/weft-links", "generate", out], env=dict(os.environ, WEFT_CONF=conf),
                                 capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn(f"weft: {conf}:12: mpa_revision can't be '99'", ran.stderr)
            self.assertTrue((out / "multi-user.target.wants/weft.target").is_symlink())
            self.assertTrue((out / "weft@storage.service.d/netdev.conf").is_file())


class Device(unittest.TestCase):
    def fails(self, machine, said, action=links.up, name="weft0"):
        with self.assertRaises(Failed) as failed:
            action(machine, name)
        self.assertIn(said, str(failed.exception))

    def test_up_and_down(self):
        machine = Machine(GOOD)
        links.up(machine, "weft0")
        self.assertEqual(machine.ran, ["modprobe weft", "rdma link add weft0 type weft netdev eth0"])
        self.assertEqual(machine.settings, {"crc": "required", "rtr": "send, write"})
        links.down(machine, "weft0")
        self.assertEqual(machine.devices, {})
        links.down(machine, "weft0")  # deleted already, or gone with its netdev
        self.assertEqual(len(machine.ran), 3)

    def test_up_again(self):
        """A device that is there gets its settings, and its connections stay."""
        machine = Machine(GOOD)
        links.up(machine, "weft0")
        machine.settings.clear()
        links.up(machine, "weft0")
        self.assertEqual((len(machine.ran), machine.settings["crc"]), (2, "required"))

    def test_another_netdev(self):
        machine = Machine(GOOD)
        machine.devices["weft0"] = "br-lan.7"
        self.fails(machine, "weft0 is on br-lan.7, and /etc/weft.conf:3 says eth0")

    def test_renamed_netdev(self):
        """What is below may have got another name."""
        machine = Machine(GOOD, netdevs=["lan0"])
        machine.devices["weft0"] = "lan0"
        links.up(machine, "weft0")
        self.assertEqual(machine.settings["crc"], "required")

    def test_unknown(self):
        self.fails(Machine(GOOD), "/etc/weft.conf has no device weft7: it has weft0, storage", name="weft7")

    def test_wrong(self):
        machine = Machine(GOOD.replace("required", "maybe"))
        self.fails(machine, "/etc/weft.conf:5: crc can't be 'maybe'")
        self.assertEqual(machine.ran, [])
        links.up(machine, "storage")

    def test_no_netdev(self):
        self.fails(Machine(GOOD, netdevs=[]), "/etc/weft.conf:3: weft0: there is no network device eth0")

    def test_no_module(self):
        machine = Machine(GOOD, fails={"modprobe": "FATAL: Module weft not found"})
        self.fails(machine, "the module can't be loaded: FATAL: Module weft not found (dkms status weft; dmesg)")

    def test_secure_boot(self):
        machine = Machine(GOOD, fails={"modprobe": "could not insert 'weft': Key was rejected by service"})
        self.fails(machine, "Key was rejected by service (this machine takes signed modules only: mokutil --import")

    def test_refused(self):
        machine = Machine(GOOD, fails={"rdma": "error: Operation not supported"})
        self.fails(machine, "/etc/weft.conf:3: rdma link add weft0 on eth0: error: Operation not supported")

    def test_refused_setting(self):
        """No device is left with half of its settings."""
        machine = Machine(GOOD, refuse=["rtr"])
        self.fails(machine, "/etc/weft.conf:6: rtr = send, write: Invalid argument; weft(7) says what it takes")
        self.assertEqual(machine.devices, {})
