# SPDX-License-Identifier: GPL-2.0
"""Checks of the Ethernet devices below, and of anything between them and their peers."""

import json
import re

from weftlib.finding import FAULT, OK, UNKNOWN, WARNING, Finding
from weftlib.host import said, said_json

NET = "/sys/class/net"
NO_MAC = "00:00:00:00:00:00"
ENOUGH_RMEM = 4 << 20
# Offloads that the fast way needs of a card or of the stack above it, and the cost without each.
OFFLOADS = (
    ("tcp-segmentation-offload", "tso", "each segment is made by the processor"),
    ("generic-segmentation-offload", "gso", "frames go down one segment at a time"),
    ("generic-receive-offload", "gro", "frames come up one segment at a time"),
    ("tx-checksumming", "tx", "TCP's checksum is computed by the processor"),
)


def links(host, found):
    """A device there is, up, and on a card that is seen from here."""
    if not found:
        yield Finding("device", FAULT, "there is no Weft device", "rdma link add weft0 type weft netdev eth0; dmesg says why if it fails")
    for device in found:
        if device.netdev is None:
            yield Finding("device", UNKNOWN, f"{device.name}: its card is in another network namespace; ask there (ip netns exec)")
        elif device.state != "active":
            yield Finding("device", FAULT, f"{device.name}: its port is {device.state}", f"ip link set {device.netdev} up; a cable, a switch port")
        else:
            yield Finding("device", OK, f"{device.name} on {device.netdev} is active")


def macs(host, found):
    """RDMA finds an iWARP device by its MAC address; older kernels, like 6.1, by nothing else."""
    cards = {name: host.read(f"{NET}/{name}/address") for name in host.names(NET)}
    for device in found:
        same = [name for name, mac in cards.items() if device.mac and mac == device.mac and name != device.netdev]
        if same:
            mend = f"ip link set {same[0]} address 02:00:00:00:00:01, if programs are to use {same[0]}'s addresses by a device of its own"
            what = f"{', '.join(same)} has the MAC address of {device.netdev}: only one of them can carry a device on older kernels"
            yield Finding("MAC address", WARNING, what, mend)
            return
    if found:
        yield Finding("MAC address", OK, "no other card has that of a device")
    elif cards.get("lo") == NO_MAC and len(cards) == 1:
        yield Finding("MAC address", WARNING, "lo has none, so it can carry no device", "ip link set lo address 02:00:00:00:00:01")


def offloads(host, device):
    text = said(host, "ethtool", "-k", device.netdev)
    if not text:
        return Finding("offloads", UNKNOWN, f"ethtool says nothing of {device.netdev} (apt-get install ethtool)")
    off = [(short, cost) for name, short, cost in OFFLOADS if re.search(rf"^{name}: off", text, re.MULTILINE)]
    if not off:
        return Finding("offloads", OK, f"{device.netdev} has segmentation, receive and checksum offload")
    fixed = re.findall(r"^([\w-]+): off \[fixed\]", text, re.MULTILINE)
    changeable = [short for (name, short, _) in OFFLOADS if (short in dict(off)) and name not in fixed]
    mend = f"ethtool -K {device.netdev} " + " ".join(f"{short} on" for short in changeable) if changeable else ""
    what = f"{device.netdev}: " + "; ".join(f"{short} is off, so {cost}" for short, cost in off)
    return Finding("offloads", WARNING, what + ("" if changeable else "; this card can't"), mend)


def mtu(host, device):
    details = said_json(host, "ip", "-j", "-d", "link", "show", "dev", device.netdev)
    most = (details[0].get("max_mtu") or 0) if details else 0
    if device.mtu and device.mtu < 1500:
        return Finding("MTU", WARNING, f"{device.netdev} has {device.mtu}: frames are short", f"ip link set {device.netdev} mtu 1500")
    if device.mtu and device.mtu < 9000 <= most:
        mend = f"ip link set {device.netdev} mtu 9000, if every card and switch port on the way takes it"
        return Finding("MTU", OK, f"{device.netdev} has {device.mtu}, and could have 9000", mend)
    return Finding("MTU", OK, f"{device.netdev} has {device.mtu}")


def sctp(host, device):
    """DDP over SCTP needs a module that is loaded by nobody else."""
    wanted = device.settings.get("transport") == "sctp"
    if not wanted or host.names("/sys/module/sctp") or host.names("/proc/net/sctp"):
        return []
    there = said(host, "modinfo", "-F", "filename", "sctp").strip()
    mend = "modprobe sctp, at both ends" if there else "a kernel with CONFIG_IP_SCTP (on Debian it comes with the kernel), or transport tcp"
    return [Finding("SCTP", FAULT, f"{device.name} is to use SCTP, which the kernel has not loaded", mend)]


def buffers(host):
    """TCP's receive buffer must hold the peer's largest frame until its CRC is checked, and a bandwidth times a delay."""
    text = host.read("/proc/sys/net/ipv4/tcp_rmem") or ""
    most = int(text.split()[2]) if len(text.split()) == 3 else 0
    if 0 < most < ENOUGH_RMEM:
        mend = f"sysctl -w net.ipv4.tcp_rmem='4096 131072 {ENOUGH_RMEM + (2 << 20)}'"
        return Finding("TCP buffers", WARNING, f"net.ipv4.tcp_rmem allows {most} bytes", mend)
    return Finding("TCP buffers", OK if most else UNKNOWN, f"net.ipv4.tcp_rmem allows {most} bytes" if most else "net.ipv4.tcp_rmem can't be read")


def listens(host, port):
    """Somebody's socket of TCP on the port, which RDMA could not have then."""
    lines = said(host, "ss", "-tlnH", f"sport = :{port}").splitlines()
    if lines:
        what = f"a socket of TCP listens on {port}: RDMA, whose ports are TCP's, can't, unless that is RDMA already"
        return Finding("port", WARNING, what, f"ss -tlnp 'sport = :{port}' names it")
    return Finding("port", OK, f"nobody listens on {port} yet")


def compares(match, what):
    """Does a rule's comparison hold for a value? what(right) is true if the comparison names the value."""
    return what(match.get("right")) != (match.get("op") == "!=")


def holds(part, port):
    """Does this part of a rule of nftables hold for TCP to the port, from a peer of any address that begins? None: can't be told."""
    if "xt" in part:
        return None  # of iptables, in words that nft does not know
    left = part.get("match", {}).get("left", {})
    if not isinstance(left, dict) or "match" not in part:
        return True
    field = left.get("payload", {})
    meta = left.get("meta", {}).get("key")
    if field.get("field") == "dport":
        return field.get("protocol") in ("tcp", "th") and compares(part["match"], lambda right: covers(right, port))
    if meta == "l4proto" or field.get("field") in ("protocol", "nexthdr"):
        return compares(part["match"], lambda right: covers(right, "tcp") or covers(right, 6))
    if meta in ("iif", "iifname"):
        return compares(part["match"], lambda right: right != "lo")
    if left.get("ct", {}).get("key") == "state":
        return compares(part["match"], lambda right: covers(right, "new"))
    if "concat" in left:
        return None  # of some ports with some addresses
    # Of some peers, of another protocol, or of connections that are open.
    return not field and "ct" not in left


def is_of_port(left):
    """Does a rule compare this of all that begins a connection to a port, from any peer?"""
    return isinstance(left, dict) and (
        left.get("payload", {}).get("field") == "dport" or left.get("meta", {}).get("key") == "l4proto" or left.get("ct", {}).get("key") == "state"
    )


def drops(rule):
    """Does this rule drop or reject all packets that holds() says it holds for, not only those of a card, a mark or a rate?"""
    plain = {"counter", "log", "drop", "reject"}
    compared = [part["match"].get("left") for part in rule if "match" in part]
    ports = [left for left in compared if is_of_port(left)]
    return any("drop" in part or "reject" in part for part in rule) and len(ports) == len(compared) and all("match" in part or plain & set(part) for part in rule)


def accepts(rules, where, port, seen=()):
    """Does a chain, or one that it hands packets on to, accept TCP to the port? None: can't be told. Others come before its policy."""
    told = True
    for rule in rules.get(where, []):
        parts = [holds(part, port) for part in rule]
        if False in parts:
            continue
        on = [part[word]["target"] for part in rule for word in ("jump", "goto") if word in part]
        behind = (*where[:2], on[0]) if on else None
        if any("accept" in part for part in rule):
            verdict = True
        elif behind and behind not in seen:
            verdict = accepts(rules, behind, port, (*seen, where))
        elif drops(rule):
            return False if told else None
        else:
            continue
        if verdict and None not in parts:
            return True
        told = told and verdict is False
    return False if told else None


def covers(right, port):
    """Is the port, or the protocol, in the value that a rule compares it with: a number, a name, a range, or a set of those?"""
    if isinstance(right, list):
        return any(covers(element, port) for element in right)
    if isinstance(right, dict):
        if "range" in right:
            return isinstance(port, int) and right["range"][0] <= port <= right["range"][1]
        # An element with a counter or a time limit has its value inside.
        return covers(right["elem"].get("val") if "elem" in right else right.get("set"), port)
    return right == port


def spelled(value, sets):
    """A rule, or a part of one, with the elements of a set or a map in the place of its name."""
    if isinstance(value, dict):
        return {key: spelled(inside, sets) for key, inside in value.items()}
    if isinstance(value, list):
        return [spelled(inside, sets) for inside in value]
    return {"set": sets[value]} if isinstance(value, str) and value in sets else value


def without_maps(rule):
    """The rules that together do the same as one with a verdict map, a rule for each of its elements; or that rule itself."""
    for at, part in enumerate(rule):
        if "vmap" in part:
            pairs = part["vmap"]["data"].get("set") or []
            return [
                [*rule[:at], {"match": {"op": "==", "left": part["vmap"]["key"], "right": right}}, verdict, *rule[at + 1 :]] for right, verdict in pairs
            ]
    return [rule]


def drops_all(rule):
    """Does this rule drop or reject all packets that come to it?"""
    return any("drop" in part or "reject" in part for part in rule) and not any("match" in part for part in rule)


def firewall(host, port):
    """nftables' chains for incoming packets, and those of iptables, which nft shows as well."""
    ran = host.run("nft", "-j", "list", "ruleset")
    mend = f"nft add rule inet filter input tcp dport {port} accept, or what your firewall calls it; a port for each program that listens"
    if ran is None:
        return Finding("firewall", UNKNOWN, "nft is missing, so a firewall can't be seen (apt-get install nftables)")
    if ran[0]:
        return Finding("firewall", UNKNOWN, "nft tells only root of the firewall (sudo weft doctor)")
    objects = said_json_of(ran[1])
    rules, sets = {}, {}
    for one in (item.get("set") or item.get("map") for item in objects if "set" in item or "map" in item):
        sets.setdefault((one.get("family"), one.get("table")), {})[f"@{one.get('name')}"] = one.get("elem", [])
    for rule in (item["rule"] for item in objects if "rule" in item):
        table = (rule.get("family"), rule.get("table"))
        expressions = spelled(rule.get("expr", []), sets.get(table, {}))
        rules.setdefault((*table, rule.get("chain")), []).extend(without_maps(expressions))
    for chain in (item["chain"] for item in objects if "chain" in item):
        if chain.get("hook") != "input":
            continue
        where = (chain.get("family"), chain.get("table"), chain.get("name"))
        own = rules.get(where, [])
        if chain.get("policy") != "drop" and not (own and drops_all(own[-1])):
            continue
        verdict = accepts(rules, where, port)
        if verdict is None:
            what = f"nftables' chain {' '.join(map(str, where))} has rules that can't be followed here: whether it accepts TCP's port {port} can't be told"
            return Finding("firewall", UNKNOWN, what + " (nft list ruleset; iptables -L -n)")
        if not verdict:
            what = f"nftables' chain {' '.join(map(str, where))} drops what no rule accepts, and none accepts TCP's port {port}"
            return Finding("firewall", WARNING, what, mend)
    return Finding("firewall", OK, f"no chain of nftables drops TCP to port {port}")


def said_json_of(text):
    """The objects of `nft -j`."""
    try:
        return json.loads(text).get("nftables", [])
    except (ValueError, AttributeError):
        return []


def findings(host, found, port):
    result = [*links(host, found), *macs(host, found)]
    for device in found:
        if device.netdev:
            result += [mtu(host, device), offloads(host, device)]
        result += sctp(host, device)
    return [*result, buffers(host), listens(host, port), firewall(host, port)]
