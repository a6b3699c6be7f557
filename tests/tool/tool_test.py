# SPDX-License-Identifier: GPL-2.0
"""weft(8) against machines that were recorded, or made up for one thing that is wrong with them."""
import errno
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import schema
from recorded import TOP, Recorded, run
from weftlib import check_programs, connections, host, settings

WEFT0 = "/sys/class/infiniband/weft0"
LDCONFIG = "\tlibibverbs.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libibverbs.so.1\n"
LOOKS = " ".join(check_programs.LOOKS) + " /lib/x86_64-linux-gnu/libibverbs.so.1"
DEFAULTS = {name: setting.default for name, setting in settings.SETTINGS.items()}
KERNEL_OPTIONS = "CONFIG_INFINIBAND_ADDR_TRANS=y\nCONFIG_INFINIBAND_VIRT_DMA=y\nCONFIG_INFINIBAND_USER_ACCESS=m\n"
SS = """ESTAB 0 0 10.0.0.1:7174 10.0.0.2:40001
\t cubic wscale:7,7 rto:204 rtt:0.4/0.1 mss:1448 pmtu:1500 rcvmss:536 cwnd:10 bytes_sent:100 segs_out:50000 segs_in:4 retrans:0/3
ESTAB 0 0 [fd00::1]:7174 [fd00::2]:40002
\t cubic rtt:20.5/3 mss:1208 pmtu:1280 segs_out:1000 retrans:1/90
"""


def queue_pair(number=17, peer="10.0.0.2:40001", local="10.0.0.1:7174", **facts):
    drawn = {"conn": "streaming", "role": "responder", "transport": "tcp", "local": local, "remote": peer, "crc": 1, "tx_markers": 0,
             "rx_markers": 0, "extended": 1, "tx_segment": 1448, "tx_longest": connections.ANY_LENGTH, "tx_waiting": 0, "rx_stalled": 0} | facts
    return {"ifname": "weft0", "port": 1, "lqpn": number, "pid": 99, "comm": "rping"} | {
        f"drv_{name}": value for name, value in drawn.items() if value is not None
    }


def machine(*queue_pairs, netdev="eth0", counters=None, values=None, files=None, said=None, **other):
    """A machine with weft0 on eth0, on which all is well."""
    there = {
        f"{WEFT0}/fw_ver": "0.1.0", f"{WEFT0}/node_desc": "Weft software iWARP",
        f"{WEFT0}/ports/1/state": "4: ACTIVE", f"{WEFT0}/ports/1/rate": "10 Gb/sec (4X SDR)",
        "/sys/class/net/eth0/mtu": "1500", "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456",
        "/sys/class/net/eth0/address": "02:00:00:00:00:01", "/sys/class/net/lo/address": "00:00:00:00:00:00",
        "/sys/module/weft/version": "0.1.0", "/boot/config-6.1.0": KERNEL_OPTIONS,
        "/dev/infiniband/uverbs0": "", "/dev/infiniband/rdma_cm": "", "/etc/libibverbs.d/weft.driver": "driver weft",
        "/usr/lib/x86_64-linux-gnu/libibverbs/libweft-rdmav34.so": "", "/usr/lib/x86_64-linux-gnu/libibverbs/libsiw-rdmav34.so": "",
    }
    there |= {f"{WEFT0}/weft/{name}": value for name, value in (DEFAULTS | (values or {})).items()}
    tells = {
        "rdma -j link show": json.dumps([{"ifname": "weft0", "port": 1} | ({"netdev": netdev} if netdev else {})]),
        "rdma -j statistic show link weft0/1": json.dumps([{"ifname": "weft0", "port": 1} | (counters or {})]),
        "rdma -j -dd res show qp link weft0/1": json.dumps([{"ifname": "weft0", "lqpn": 1, "type": "RC"}, *queue_pairs]),
        "rdma -j -dd res show cm_id dev weft0": '[{"state":"LISTEN","src-addr":"10.0.0.1:7174"},{"state":"CONNECT"}]',
        LOOKS: "/etc/libibverbs.d\0/usr/lib/x86_64-linux-gnu/libibverbs/lib%s-rdmav34.so\0",
        "ldconfig -p": LDCONFIG, "rdma -V": "rdma utility, iproute2-6.1.0\n", "ss -tniH": SS, "ss -tlnH sport = :18515": "",
        "modinfo -F version weft": "0.1.0\n", "ibv_devinfo -d weft0": "hca_id: weft0\n",
        "modinfo -F filename ib_core": "/lib/modules/6.1.0/kernel/drivers/infiniband/core/ib_core.ko\n",
        "ip -j -d link show dev eth0": '[{"max_mtu":1500}]', "nft -j list ruleset": '{"nftables": []}',
        "ethtool -k eth0": "".join(f"{name}: on\n" for name in OFFLOADS),
    }
    tells = {command: [0, text, ""] for command, text in tells.items()} | (said or {})
    drawn = {"kernel": "6.1.0", "memlock": None, "root": False, "files": there | (files or {}), "said": tells}
    for some in ("files", "said"):
        drawn[some] = {name: text for name, text in drawn[some].items() if text is not None}
    return Recorded(drawn | other)


OFFLOADS = ("tx-checksumming", "tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload")


class Case(unittest.TestCase):
    def says(self, where, *words, status=0):
        """The command's output; it ends with this status and complains of nothing."""
        ended, output, complaints = run(where, *words)
        self.assertEqual((ended, complaints), (status, ""), output)
        return output

    def refuses(self, where, *words, status=1):
        """What the command complains of, instead of doing anything."""
        ended, output, complaints = run(where, *words)
        self.assertEqual((ended, output), (status, ""), complaints)
        return complaints

    def told(self, where, *words, status=0):
        """The command's JSON, which is as the schema describes it."""
        value = json.loads(self.says(where, *words, "--json", status=status))
        self.assertEqual(schema.faults(value, schema.SCHEMA["$defs"][words[0]]), [])
        return value


class TwoHosts(Case):
    """Host A of the lab observe, as tests/tool/recorded.py wrote it down there while rping ran."""

    def test_status(self):
        where = Recorded.load("two-hosts")
        output = self.says(where, "status")
        self.assertIn("weft0 on eth0: active, 10 Gb/sec, MTU 1500, module 0.1.0\n", output)
        self.assertIn("weft1 on a card of another network namespace: active", output)
        self.assertIn("  listens on 10.0.0.1:7174\n", output)
        self.assertRegex(output, r"\n  16  rping/\d+  streaming  10\.0\.0\.2:47936  Weft  on   large   tcp\n")
        first, second = self.told(where, "status")["devices"]
        self.assertEqual(first["connections"][0]["tcp"]["path_mtu"], 1500)
        self.assertIsNone(second["connections"][0]["tcp"])
        self.assertEqual(second["connections"][0]["role"], "initiator")

    def test_doctor(self):
        told = self.told(Recorded.load("two-hosts"), "doctor")
        found = {finding["check"]: finding for finding in told["findings"] if finding["verdict"] not in ("ok", "unknown")}
        self.assertEqual(set(found), {"offloads"})
        self.assertIn("gro is off", found["offloads"]["what"])


class Status(Case):
    def test_a_device_with_a_connection(self):
        output = self.says(machine(queue_pair(), counters={"tx_bytes": 4096, "rx_bytes": 12}), "status")
        self.assertIn("weft0 on eth0: active, 10 Gb/sec, MTU 1500, module 0.1.0\n", output)
        self.assertIn("sent 4096 bytes, received 12", output)
        self.assertIn("listens on 10.0.0.1:7174\n", output)
        self.assertRegex(output, r"\n  17  rping/99  streaming  10\.0\.0\.2:40001  Weft  on   large   tcp\n")
        self.assertNotIn("!", output)
        self.assertNotIn("default", output)

    def test_json(self):
        (device,) = self.told(machine(queue_pair(), values={"crc": "off"}, counters={"tx_bytes": 7}), "status")["devices"]
        self.assertEqual(device["changed"], {"crc": "off"})
        self.assertEqual(device["counters"], {"tx_bytes": 7})
        (connection,) = device["connections"]
        self.assertEqual((connection["peer"], connection["weft_peer"], connection["tcp"]["sent"]), ("10.0.0.2:40001", True, 50000))

    def test_numbers_that_rdma_cuts(self):
        (device,) = self.told(machine(queue_pair(tx_longest=-1)), "status")["devices"]
        self.assertEqual(device["connections"][0]["longest_frame"], connections.ANY_LENGTH)

    def test_no_device(self):
        nothing = Recorded({"kernel": "6.1.0", "memlock": None, "root": True, "files": {}, "said": {}})
        self.assertIn("no Weft device; rdma link add", self.says(nothing, "status"))
        self.assertEqual(self.told(nothing, "status"), {"devices": []})

    def test_a_device_that_is_none(self):
        self.assertIn("no Weft device 'weft9'; there are: weft0", self.refuses(machine(), "status", "weft9"))
        other = machine(files={"/sys/class/infiniband/mlx5_0/node_desc": "mlx5"})
        self.assertIn("mlx5_0 is an RDMA device, but not Weft's", self.refuses(other, "status", "mlx5_0"))

    def test_settings_that_differ(self):
        output = self.says(machine(values={"crc": "off", "lend": "all", "colour": "red"}), "status")
        for setting, value, default in (("crc", "off", "preferred"), ("lend", "all", "unchecked"), ("colour", "red", "unknown")):
            self.assertIn(f"  {setting} is '{value}' (default '{default}')\n", output)

    def test_another_namespace(self):
        output = self.says(machine(netdev=None, values={"crc": "off"}), "status")
        self.assertIn("on a card of another network namespace", output)
        self.assertIn("crc is 'off'", output)

    def test_no_counters(self):
        there = machine(said={"rdma -j statistic show link weft0/1": None})
        self.assertIn("its counters can't be read: rdma statistic show link weft0/1", self.says(there, "status"))
        self.assertEqual(self.told(there, "status")["devices"][0]["counters"], {})

    def test_before_the_handshake(self):
        bare = dict.fromkeys(("local", "remote", "transport", "crc", "extended", "tx_segment", "tx_longest", "tx_markers", "rx_markers"))
        output = self.says(machine(queue_pair(**bare | {"conn": "connecting", "peer": None, "local": None})), "status")
        self.assertRegex(output, r"connecting  -  +-  +-  +-  +-\n")
        self.assertNotIn("!", output)

    def test_many_connections(self):
        many = machine(*(queue_pair(number) for number in range(100)))
        self.assertIn("and 68 more connections (--all)", self.says(many, "status"))
        self.assertNotIn("more connections", self.says(many, "status", "--all"))

    def test_what_programs_say_that_is_no_json(self):
        for command in ("rdma -j link show", "rdma -j -dd res show qp link weft0/1", "rdma -j -dd res show cm_id dev weft0"):
            for said in ("Segmentation fault", "{}", '[{"ifname"'):
                broken = machine(said={command: [0, said, ""]})
                self.assertIn(f"what '{command}' prints is no JSON", self.refuses(broken, "status"))

    def test_programs_that_fail(self):
        for command in ("rdma -j link show", "rdma -j -dd res show qp link weft0/1"):
            broken = machine(said={command: [1, "", "Failed to open NETLINK_RDMA socket\n"]})
            self.assertIn(f"'{command}' failed: Failed to open NETLINK_RDMA socket", self.refuses(broken, "status"))

    def test_names_with_control_characters(self):
        """rdma(8) writes a process's name into its JSON as it is, but for what JSON's own writer escapes."""
        rows = json.dumps([queue_pair() | {"comm": "NAME"}])
        for name, shown in (("a\x1b[2J", "a?[2J"), ("a\u009b31m", "a?31m"), (r"a\nb", "a?b"), ("a\x7f\u202e", "a??"), ("a\x01b", "a?b"), ("grün", "grün")):
            with self.subTest(name=name):
                there = machine(said={"rdma -j -dd res show qp link weft0/1": [0, rows.replace("NAME", name), ""]})
                self.assertRegex(self.says(there, "status"), rf"\n  17  {re.escape(shown)}/99 +streaming")
                self.assertTrue(self.says(there, "status", "--json").replace("\n", "").isprintable())
                (device,) = self.told(there, "status")["devices"]
                self.assertEqual(device["connections"][0]["process"], json.loads(f'"{name}/99"', strict=False))

    def test_a_locale_that_has_not_every_letter(self):
        program = (
            "import sys; from tool_test import machine, queue_pair; from weftlib import main;"
            "sys.exit(main.main(['status'], machine(*(queue_pair(n) | {'comm': '\\u0142'} for n in range(40)))))"
        )
        ran = subprocess.run([sys.executable, "-c", program], cwd=pathlib.Path(__file__).parent, env=dict(os.environ, PYTHONIOENCODING="iso-8859-1"), capture_output=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr.decode())
        self.assertRegex(ran.stdout, rb"\n  31  \?/99 +streaming")
        self.assertIn(b"and 8 more connections", ran.stdout)

    def test_a_disk_that_is_full(self):
        program = "import sys; from tool_test import machine; from weftlib import main; sys.exit(main.main(['status'], machine()))"
        with open("/dev/full", "wb") as full:
            ran = subprocess.run([sys.executable, "-c", program], cwd=pathlib.Path(__file__).parent, stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual((ran.returncode, ran.stderr.decode()), (1, "weft: No space left on device\n"))

    def test_a_program_that_is_stuck(self):
        status, output, complaints = host.Host(patience=0.2).run("sleep", "60")
        self.assertEqual((status, output), (124, ""))
        self.assertIn("timed out after 0.2 seconds", complaints)

    def test_what_programs_do_not_say(self):
        self.assertIn("weft0 on a card", self.says(machine(said={"rdma -j link show": None, "ss -tniH": None}), "status"))


class Slow(Case):
    def reasons(self, *queue_pairs, **other):
        (device,) = self.told(machine(*queue_pairs, **other), "status")["devices"]
        return [reason for connection in device["connections"] for reason in connection["slow"]], device["slow"]

    def expect(self, text, *queue_pairs, **other):
        reasons, _ = self.reasons(*queue_pairs, **other)
        self.assertTrue(any(text in reason for reason in reasons), reasons)

    def test_nothing(self):
        self.assertEqual(self.reasons(queue_pair()), ([], []))

    def test_lost_segments_and_a_narrow_path(self):
        for text in ("90 of 1000 segments were sent again", "the path takes packets of 1280 bytes, the card 1500"):
            self.expect(text, queue_pair(peer="[fd00::2]:40002", local="[fd00::1]:7174"))

    def test_no_receive(self):
        self.expect("waits for a receive", queue_pair(rx_stalled=1))

    def test_tcp_takes_no_more(self):
        self.expect("2000000 bytes wait for TCP", queue_pair(tx_waiting=2000000))

    def test_small_frames(self):
        self.expect("the peer is not Weft", queue_pair(extended=0, tx_longest=0))
        self.expect("fpdu is 'segment' here", queue_pair(tx_longest=0), values={"fpdu": "segment"})
        self.expect("extensions is 'off' here", queue_pair(extended=0, tx_longest=0), values={"extensions": "off"})
        self.expect("has markers", queue_pair(rx_markers=1, tx_longest=0))

    def test_markers_and_sctp(self):
        self.expect("markers: a slower way", queue_pair(tx_markers=1))
        self.expect("over SCTP messages are copied twice", queue_pair(transport="sctp"))

    def test_paths(self):
        paths = {"path0": "10.0.0.2:5", "path0_replayed": 0, "path0_leaves": 0, "path1": "down", "path1_leaves": 1}
        self.expect("1 of 2 paths are down", queue_pair(**paths))
        self.assertIn("tcp x2", self.says(machine(queue_pair(**paths)), "status"))

    def test_counters(self):
        single = ("rx_crc_errors", "rnr_timeouts", "conn_without_crc", "conn_broken", "path_replayed")
        shares = {"rnr_stalls": {"rnr_stalls": 20, "rx_fpdus": 1000}, "rx_staged_fpdus": {"rx_staged_fpdus": 100, "rx_fpdus": 1000},
                  "tx_lent_copied": {"tx_lent_copied": 30, "tx_lent": 100}, "tx_blocked": {"tx_blocked": 600, "tx_batches": 1000}}
        for counter, counters in ({name: {name: 1} for name in single} | shares).items():
            with self.subTest(counter=counter):
                _, told = self.reasons(counters=counters)
                self.assertEqual([line.split()[0] for line in told], [counter])
        _, told = self.reasons(counters={"rnr_stalls": 9, "tx_blocked": 100, "tx_batches": 1000, "rx_fpdus": 10**9})
        self.assertEqual(told, [])


class Settings(Case):
    def test_the_table_is_the_modules(self):
        source = (TOP / "kernel/device/sysfs.c").read_text(encoding="utf-8")
        names = set(re.findall(r"^WEFT_SETTING_ATTR\((\w+),", source, re.MULTILINE)) | set(re.findall(r"^static DEVICE_ATTR_RW\((\w+)\)", source, re.MULTILINE))
        self.assertEqual(names, set(settings.SETTINGS))
        page = (TOP / "docs/weft.7").read_text(encoding="utf-8")
        for name in names:
            self.assertIn(f"\n.It Pa {name}\n", page)
        # And what the lab's script holds the module to.
        script = (TOP / "tests/integration/settings.sh").read_text(encoding="utf-8")
        checked = re.search(r"for pair in (.*); do\n\tcheck \"default", script)[1]
        for pair in re.findall(r'"[^"]+"|\S+', checked):
            name, _, value = pair.strip('"').partition("=")
            self.assertEqual(settings.SETTINGS[name].default, value)

    def test_values_that_the_module_takes_or_refuses(self):
        """Every value of the lab's script gets the same answer here."""
        script = (TOP / "tests/integration/settings.sh").read_text(encoding="utf-8")
        calls = re.findall(r'^(takes|keeps) (\w+) ("[^"$]*"|[^\s"\'$]+)(?: |$)', script, re.MULTILINE)
        refused = re.search(r"\nfor pair in (crc=3 .*?); do\n\tkeeps", script, re.DOTALL)[1].replace("\\\n", " ")
        pairs = (pair.strip('"').partition("=") for pair in re.findall(r'"[^"$]+"|[^\s"$]+=[^\s"$]+', refused))
        calls += [("keeps", name, value) for name, _, value in pairs]
        taken = re.search(r"\nfor row in (.*?); do\n", script, re.DOTALL)[1]
        calls += [("takes", *row.split(":")[0].split(" ", 1)) for row in re.findall(r'"([^"]+)"', taken)]
        self.assertGreater(len(calls), 60)
        for verb, name, value in calls:
            value = value.strip('"')
            with self.subTest(setting=name, value=value):
                try:
                    settings.find(name).check(value)
                    answer = "takes"
                except ValueError:
                    answer = "keeps"
                self.assertEqual(answer, verb)

    def test_set(self):
        there = machine()
        self.assertIn("weft0: crc is 'off' for new connections", self.says(there, "set", "weft0", "crc", "off"))
        self.assertEqual(there.read(f"{WEFT0}/weft/crc"), "off")
        self.says(there, "set", "weft0", "rtr", "send", "write")
        self.assertEqual(there.read(f"{WEFT0}/weft/rtr"), "send write")
        self.says(there, "set", "weft0", "rtr", "default")
        self.assertEqual(there.read(f"{WEFT0}/weft/rtr"), "send write read")
        self.assertIn("modprobe sctp", self.says(there, "set", "weft0", "transport", "sctp"))

    def test_set_refuses(self):
        there = machine(files={f"{WEFT0}/weft/lend": None})
        before = dict(there.machine["files"])
        for words, why in (
            (("weft0", "crc", "sometimes"), "it takes off, preferred or required"),
            (("weft0", "crc", ""), "crc can't be ''"),
            (("weft0", "speed", "high"), "there is no setting 'speed'; there are: crc,"),
            (("weft0", "../../../weft1/weft/crc", "off"), "there is no setting"),
            (("../weft0", "crc", "off"), "there is no Weft device '../weft0'"),
            (("weft0", "keepalive", "32768"), "1 to 32767 seconds"),
            (("weft0", "keepalive", "²"), "1 to 32767 seconds"),
            (("weft0", "fpdu_peers", "10.0.0.300=large"), "ADDRESS"),
            (("weft0", "lend", "all"), "older than this tool"),
        ):
            with self.subTest(words=words):
                self.assertIn(why, self.refuses(there, "set", *words))
        self.assertEqual(there.machine["files"], before)

    def test_the_kernel_refuses(self):
        there = machine(values={"colour": "red"})
        for number, why in ((errno.EACCES, "only root"), (errno.EINVAL, "older than this tool"), (errno.ENOENT, "No such file")):
            there.refuses[f"{WEFT0}/weft/crc"] = OSError(number, "No such file")
            self.assertIn(why, self.refuses(there, "set", "weft0", "crc", "off"))
        there.refuses[f"{WEFT0}/weft/transport"] = OSError(errno.EINVAL, "Invalid argument")
        self.assertIn("modprobe weft_sctp", self.refuses(there, "set", "weft0", "transport", "sctp"))
        self.says(there, "set", "weft0", "colour", "blue")
        self.assertEqual(there.read(f"{WEFT0}/weft/colour"), "blue")

    def test_show(self):
        self.assertEqual(self.says(machine(), "show", "weft0", "crc"), "preferred\n")
        self.assertRegex(self.says(machine(), "show", "weft0"), r"\ntransport +tcp +tcp +tcp, sctp or paths +what connections")
        self.assertEqual(len(self.told(machine(), "show", "weft0")["settings"]), len(settings.SETTINGS))
        self.assertIn("has no setting 'speed'", self.refuses(machine(), "show", "weft0", "speed"))

    def test_wrong_words(self):
        for words in ((), ("sing",), ("set",), ("set", "weft0", "crc"), ("doctor", "--port", "0"), ("doctor", "--port", "high")):
            with self.subTest(words=words):
                self.assertIn("usage: weft", self.refuses(machine(), *words, status=2))


def chain(policy, *rules, hook="input", others=None, sets=None, maps=None):
    """nft's JSON of one chain, with the expressions of its rules, of others that nothing comes to by itself, and named sets."""
    where = {"family": "inet", "table": "filter"}
    objects = [{"metainfo": {"version": "1.0.6"}}, {"table": {"family": "inet", "name": "filter"}}]
    objects.append({"chain": where | {"name": "input", "hook": hook, "type": "filter", "policy": policy}})
    objects += [{"set": where | {"name": name, "type": "inet_service", "elem": elements}} for name, elements in (sets or {}).items()]
    objects += [{"map": where | {"name": name, "type": "inet_service", "map": "verdict", "elem": elements}} for name, elements in (maps or {}).items()]
    for name, own in {"input": rules, **(others or {})}.items():
        objects += [{"rule": where | {"chain": name, "expr": rule}} for rule in own]
    return {"nft -j list ruleset": [0, json.dumps({"nftables": objects}), ""]}


def match(left, right, op="=="):
    return {"match": {"op": op, "left": left, "right": right}}


def vmap(field, data):
    return [{"vmap": {"key": field, "data": data}}]


def dport(right, verdict="accept"):
    return [match(DPORT, right), {verdict: None}]


DPORT = {"payload": {"protocol": "tcp", "field": "dport"}}
ESTABLISHED = [match({"ct": {"key": "state"}}, ["established"], "in"), {"accept": None}]
LOOPBACK = [match({"meta": {"key": "iifname"}}, "lo"), {"accept": None}]
# Rules that drop some of what comes to the port.
SOME_DROPPED = [
    [match({"meta": {"key": "iifname"}}, "eth1"), {"drop": None}],
    [match({"fib": {"result": "type", "flags": ["daddr"]}}, "broadcast"), {"drop": None}],
    [match({"&": [{"payload": {"protocol": "tcp", "field": "flags"}}, ["fin", "syn"]]}, ["fin", "syn"]), {"drop": None}],
    [{"limit": {"rate": 10, "per": "second", "inv": True}}, {"drop": None}],
]


class Doctor(Case):
    def findings(self, where, *words, status=0):
        told = self.told(where, "doctor", *words, status=status)
        return [(finding["verdict"], finding["check"], f"{finding['what']} / {finding['mend']}") for finding in told["findings"] if finding["verdict"] != "ok"]

    def finds(self, verdict, check, text, where, *words):
        found = self.findings(where, *words, status=int(verdict == "fault"))
        self.assertEqual([one[:2] for one in found], [(verdict, check)], found)
        self.assertIn(text, found[0][2])

    def test_all_is_well(self):
        self.assertEqual(self.findings(machine()), [])
        self.assertRegex(self.says(machine(), "doctor"), r"\n\d+ ok, 0 warnings, 0 faults\n$")

    def test_nothing_is_here(self):
        nothing = Recorded({"kernel": "6.1.0", "memlock": None, "root": False, "files": {}, "said": {}})
        checks = {check for verdict, check, _ in self.findings(nothing, status=1) if verdict == "fault"}
        self.assertEqual(checks, {"module", "rdma(8)", "device files", "device"})
        self.assertIn("mend: modprobe -a ib_uverbs rdma_ucm", self.says(nothing, "doctor", status=1))

    def test_kernel_options(self):
        for option in ("ADDR_TRANS", "VIRT_DMA"):
            lacking = KERNEL_OPTIONS.replace(f"{option}=y", f"{option}=n")
            self.finds("fault", "kernel options", option, machine(files={"/boot/config-6.1.0": lacking}))
        self.finds("unknown", "kernel options", "/proc/config.gz", machine(files={"/boot/config-6.1.0": None}))

    def test_ofed(self):
        self.finds("fault", "RDMA core", "OFED", machine(said={"modinfo -F filename ib_core": [0, "/lib/modules/6.1.0/updates/dkms/ib_core.ko", ""]}))
        self.finds("fault", "RDMA core", "OFED", machine(files={"/sys/module/mlx_compat/version": "1"}))

    def test_module(self):
        unloaded = {"/sys/module/weft/version": None}
        self.finds("fault", "module", "modprobe weft", machine(files=unloaded))
        self.finds("fault", "module", "mokutil", machine(files=unloaded | {"/sys/kernel/security/lockdown": "none [integrity] confidentiality"}))
        self.finds("fault", "module", "no weft.ko for 6.1.0", machine(files=unloaded, said={"modinfo -F version weft": [1, "", "not found"]}))
        self.finds("warning", "module", "0.1.0 is loaded, but 0.2.0", machine(said={"modinfo -F version weft": [0, "0.2.0\n", ""]}))

    def test_library(self):
        folder = "/usr/lib/x86_64-linux-gnu/libibverbs"
        self.finds("fault", "library", "libweft-rdmav34.so, the provider for this rdma-core, is not there", machine(files={f"{folder}/libweft-rdmav34.so": None}))
        other = {f"{folder}/libweft-rdmav34.so": None, f"{folder}/libweft-rdmav57.so": ""}
        self.finds("fault", "library", "libweft-rdmav57.so is of another", machine(files=other))
        self.finds("fault", "library", "no weft.driver", machine(files={"/etc/libibverbs.d/weft.driver": None}))
        self.finds("fault", "library", "rdma-core", machine(said={"ldconfig -p": [0, "1 libs found\n", ""]}))
        self.finds("unknown", "library", "ldconfig", machine(said={"ldconfig -p": None}))
        self.finds("unknown", "library", "where it looks", machine(said={LOOKS: [1, "", ""]}))

    def test_library_in_usr_local(self):
        """The folders are those of the libibverbs that a program loads."""
        said = {LOOKS.replace("/lib/x86_64-linux-gnu", "/usr/local/lib"): [0, "/usr/local/etc/libibverbs.d\0/usr/local/lib/libibverbs/lib%s-rdmav57.so\0", ""]}
        said["ldconfig -p"] = [0, "\tlibibverbs.so.1 (libc6,x86-64) => /usr/local/lib/libibverbs.so.1\n" + LDCONFIG, ""]
        self.finds("fault", "library", "/usr/local/lib/libibverbs/libweft-rdmav57.so", machine(said=said))
        there = {"/usr/local/lib/libibverbs/libweft-rdmav57.so": ""}
        self.finds("fault", "library", "/usr/local/etc/libibverbs.d", machine(said=said, files=there))
        self.assertEqual(self.findings(machine(said=said, files=there | {"/usr/local/etc/libibverbs.d/weft.driver": "driver weft"})), [])

    def test_library_and_module(self):
        line = "libweft: weft0: the kernel module (ABI 5) is newer than libweft (ABI 4); restart this program\n"
        self.finds("fault", "library and module", "is newer than libweft", machine(said={"ibv_devinfo -d weft0": [255, "", line]}))
        self.finds("fault", "library and module", "couldn't load", machine(said={"ibv_devinfo -d weft0": [0, "", "libibverbs: Warning: couldn't load driver 'libweft-rdmav34.so'\n"]}))
        self.finds("warning", "library and module", "ibverbs-utils", machine(said={"ibv_devinfo -d weft0": None}))
        others = "libibverbs: Warning: couldn't load driver 'libhns-rdmav34.so'\nlibibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.\n"
        self.assertEqual(self.findings(machine(said={"ibv_devinfo -d weft0": [0, "", others]})), [])

    def test_programs(self):
        self.finds("fault", "device files", "modprobe -a rdma_ucm", machine(files={"/dev/infiniband/rdma_cm": None}))
        self.finds("warning", "locked memory", "8192 KiB", machine(memlock=8 << 20))
        self.assertEqual(self.findings(machine(memlock=8 << 20, root=True)), [])
        self.finds("fault", "rdma(8)", "iproute2", machine(said={"rdma -V": None}))
        check = "/usr/lib/weft/weft-links check"
        self.finds("fault", "configuration", "weft.conf:3: no netdev", machine(said={check: [1, "", "weft.conf:3: no netdev\n"]}))
        self.assertEqual(self.findings(machine(said={check: [0, "", ""]})), [])

    def test_renamed(self):
        renamed = machine()
        renamed.machine = json.loads(json.dumps(renamed.machine).replace("weft0", "iwx020000fffe000001"))
        self.finds("warning", "device name", "ln -s /dev/null", renamed)

    def test_long_name(self):
        for length, verdicts in ((31, []), (32, ["fault"])):
            there = machine()
            there.machine = json.loads(json.dumps(there.machine).replace("weft0", "n" * length))
            found = self.findings(there, status=len(verdicts))
            self.assertEqual([one[0] for one in found], verdicts)
        self.assertIn("rdma dev set " + "n" * 32 + " name", found[0][2])

    def test_device(self):
        down = machine(files={f"{WEFT0}/ports/1/state": "1: DOWN"})
        self.finds("fault", "device", "ip link set eth0 up", down)
        self.finds("unknown", "device", "another network namespace", machine(netdev=None))
        self.finds("warning", "MAC address", "eth0.5 has the MAC address of eth0", machine(files={"/sys/class/net/eth0.5/address": "02:00:00:00:00:01"}))

    def test_card(self):
        self.finds("warning", "MTU", "frames are short", machine(files={"/sys/class/net/eth0/mtu": "1280"}))
        roomy = machine(said={"ip -j -d link show dev eth0": [0, '[{"max_mtu":9216}]', ""]})
        self.assertIn("mend: ip link set eth0 mtu 9000", self.says(roomy, "doctor"))
        off = "tcp-segmentation-offload: off\ngeneric-receive-offload: off [fixed]\n"
        self.finds("warning", "offloads", "ethtool -K eth0 tso on", machine(said={"ethtool -k eth0": [0, off, ""]}))
        self.finds("warning", "offloads", "this card can't", machine(said={"ethtool -k eth0": [0, "tx-checksumming: off [fixed]\n", ""]}))
        self.finds("unknown", "offloads", "ethtool says nothing", machine(said={"ethtool -k eth0": None}))

    def test_sctp(self):
        wanted = {"values": {"transport": "sctp"}}
        self.finds("fault", "SCTP", "modprobe sctp", machine(**wanted, said={"modinfo -F filename sctp": [0, "/lib/sctp.ko", ""]}))
        self.finds("fault", "SCTP", "CONFIG_IP_SCTP", machine(values={"transport": "sctp"}))
        self.assertEqual(self.findings(machine(**wanted, files={"/proc/net/sctp/snmp": ""})), [])

    def test_buffers_and_port(self):
        self.finds("warning", "TCP buffers", "65536 bytes", machine(files={"/proc/sys/net/ipv4/tcp_rmem": "4096 16384 65536"}))
        self.finds("unknown", "TCP buffers", "can't be read", machine(files={"/proc/sys/net/ipv4/tcp_rmem": None}))
        taken = {"ss -tlnH sport = :7174": [0, "LISTEN 0 128 0.0.0.0:7174 0.0.0.0:*\n", ""]}
        self.finds("warning", "port", "listens on 7174", machine(said=taken), "--port", "7174")

    def test_firewall_that_is_closed(self):
        for name, said in (
            ("nothing", chain("drop")),
            ("open connections, and those on lo", chain("drop", ESTABLISHED, LOOPBACK)),
            ("other ports", chain("drop", dport(22), dport({"set": [80, {"range": [8000, 8999]}]}))),
            ("a last rule", chain("accept", dport(22), [{"drop": None}])),
            ("this port, dropped", chain("drop", dport(18515, "drop"))),
            ("pings", chain("drop", [match({"payload": {"protocol": "icmp", "field": "type"}}, "echo-request"), {"accept": None}])),
            ("pings by their number", chain("drop", [match({"meta": {"key": "l4proto"}}, "icmp"), {"accept": None}])),
            ("the port of UDP", chain("drop", [match({"payload": {"protocol": "udp", "field": "dport"}}, 18515), {"accept": None}])),
            ("all ports but this", chain("drop", [match(DPORT, 18515, "!="), {"accept": None}])),
            ("after it was dropped", chain("drop", dport(18515, "drop"), [{"accept": None}])),
            ("a set with a name, of other ports", chain("drop", dport("@allowed"), sets={"allowed": [22]})),
            ("an empty set", chain("drop", dport("@allowed"), sets={"allowed": []})),
            ("a map of other ports", chain("drop", vmap(DPORT, {"set": [[22, {"accept": None}]]}))),
            ("a map that drops it", chain("drop", vmap(DPORT, {"set": [[18515, {"drop": None}]]}), [{"accept": None}])),
            ("a map of connections that are open", chain("drop", vmap({"ct": {"key": "state"}}, {"set": [["established", {"accept": None}], ["invalid", {"drop": None}]]}))),
            ("in a chain that others go to", chain("drop", [{"jump": {"target": "other"}}], others={"other": [dport(22)]})),
            ("in a chain that goes round", chain("drop", [{"jump": {"target": "other"}}], others={"other": [[{"jump": {"target": "input"}}]]})),
        ):
            with self.subTest(accepts=name):
                self.finds("warning", "firewall", "tcp dport 18515 accept", machine(said=said))

    def test_firewall_that_is_open(self):
        for name, said in (
            ("the port", chain("drop", ESTABLISHED, dport(18515))),
            ("a range", chain("drop", dport({"range": [18000, 19000]}))),
            ("a set", chain("drop", dport({"set": [22, {"range": [18515, 18600]}]}))),
            ("all", chain("drop", [{"accept": None}])),
            ("all of TCP", chain("drop", [match({"meta": {"key": "l4proto"}}, {"set": ["tcp", "udp"]}), {"accept": None}])),
            ("the port, after others were dropped", chain("drop", *SOME_DROPPED, dport(18515))),
            ("another chain", chain("drop", [{"jump": {"target": "other"}}], others={"other": [dport(18515)]})),
            ("a set with a name", chain("drop", dport("@allowed"), sets={"allowed": [22, {"range": [18000, 19000]}]})),
            ("a set that counts", chain("drop", dport("@allowed"), sets={"allowed": [{"elem": {"val": 18515, "counter": {"packets": 1, "bytes": 60}}}]})),
            ("a map of verdicts", chain("drop", vmap(DPORT, {"set": [[22, {"drop": None}], [18515, {"accept": None}]]}))),
            ("a map of chains", chain("drop", vmap(DPORT, {"set": [[18515, {"jump": {"target": "other"}}]]}), others={"other": [[{"accept": None}]]})),
            ("a map with a name", chain("drop", vmap(DPORT, "@ports"), maps={"ports": [[{"range": [18000, 19000]}, {"accept": None}]]})),
            ("a map of cards", chain("drop", vmap({"meta": {"key": "iifname"}}, {"set": [["lo", {"accept": None}], ["eth0", {"jump": {"target": "other"}}]]}), others={"other": [dport(18515)]})),
            ("new connections to the port", chain("drop", [match({"ct": {"key": "state"}}, "new", "in"), *dport(18515)])),
            ("its policy", chain("accept", dport(22, "drop"))),
            ("what goes out", chain("drop", hook="output")),
        ):
            with self.subTest(accepts=name):
                self.assertEqual(self.findings(machine(said=said)), [])

    def test_firewall_of_iptables(self):
        odd = [{"xt": {"type": "match", "name": "multiport"}}, {"accept": None}]
        self.finds("unknown", "firewall", "iptables -L", machine(said=chain("drop", odd)))
        self.finds("unknown", "firewall", "iptables -L", machine(said=chain("drop", [{"jump": {"target": "other"}}], others={"other": [odd]})))
        self.assertEqual(self.findings(machine(said=chain("drop", odd, dport(18515)))), [])

    def test_firewall_of_addresses_with_ports(self):
        both = {"concat": [{"payload": {"protocol": "ip", "field": "saddr"}}, DPORT]}
        self.finds("unknown", "firewall", "nft list ruleset", machine(said=chain("drop", [match(both, "@allowed"), {"accept": None}], sets={"allowed": []})))

    def test_firewall_that_is_not_seen(self):
        self.finds("unknown", "firewall", "nftables", machine(said={"nft -j list ruleset": None}))
        self.finds("unknown", "firewall", "only root", machine(said={"nft -j list ruleset": [1, "", "Operation not permitted"]}))
        self.assertEqual(self.findings(machine(said={"nft -j list ruleset": [0, "[not json", ""]})), [])


class Documents(unittest.TestCase):
    def test_the_completion_knows_every_command_and_setting(self):
        text = (TOP / "tools/completion.bash").read_text(encoding="utf-8")
        for word in ("status", "show", "set", "doctor", "--json", "--port", "--all"):
            self.assertRegex(text, rf"(?<![\w-]){word}(?![\w-])")

    def test_the_completion_completes(self):
        script = "weft() { echo '  \"takes\": \"off, preferred or required\",'; }; source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _weft; echo ${COMPREPLY[@]}"
        for words, expected in (
            (("s",), "status show set"),
            (("doctor", "--"), "--port --json"),
            (("set", "weft0", "crc", "p"), "preferred"),
            (("set", "weft0", "crc", ""), "default off preferred required"),
            (("sing", ""), ""),
        ):
            ran = subprocess.run(["bash", "-c", script, str(TOP / "tools/completion.bash"), "weft", *words], capture_output=True, text=True, check=True)
            self.assertEqual((ran.stdout.strip(), ran.stderr), (expected, ""))

    def test_the_page_names_every_command_and_check(self):
        page = (TOP / "docs/weft.8").read_text(encoding="utf-8")
        checks = set()
        for source in (TOP / "tools/weftlib").glob("check_*.py"):
            checks |= set(re.findall(r'Finding\(\s*"([^"]+)"', source.read_text(encoding="utf-8")))
        self.assertGreater(len(checks), 12)
        for word in checks | {"status", "show", "set", "doctor"}:
            self.assertIn(word, page)
