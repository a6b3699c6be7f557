#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=24
# Devices on every kind of Ethernet device: lo, VLAN, bond and bridge, with data over each;
# the rule of one device per MAC address; and a MAC address that changes.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up
sysctl -qw net.ipv6.conf.all.accept_dad=0 2>/dev/null

# rping_to NAME ADDRESS [OPTIONS]: from B, with these of rping's client.
rping_to() { rping_of "$1" "$2" 5000 5 "${3-}"; }
log_says() { grep -qE "weft: $1" < <(dmesg); }
# by_netdev: true where the kernel finds a device by its Ethernet device, not by the MAC address alone: it has
# noted it with the GID. One MAC address can then have several devices.
by_netdev() { [[ -n $(cat /sys/class/infiniband/weft0/ports/1/gid_attrs/ndevs/0 2>/dev/null) ]]; }

# --- lo ---
refused "a device on lo without a MAC address" "not available|Cannot assign" 10 on_a rdma link add weftlo type weft netdev lo
check "a device on lo without a MAC address: the log says what to do" log_says "lo has no MAC address.*ip link set lo address"
ip -n A link set lo address 02:00:00:00:00:aa
check "lo with a MAC address" on_a rdma link add weftlo type weft netdev lo
# Both ends are on A here.
to_itself() { # NAME ADDRESS
	rping_listens "$1" -a "$2" -C 5 -S 5000 -V
	rping_answers "$1" A -a "$2" -C 5 -S 5000 -V
}
before=$(counter weftlo conn_accepted)
to_itself "rping to 127.0.0.1" 127.0.0.1
to_itself "rping to ::1" ::1
check "rping to lo: it was lo's device that accepted" test "$(counter weftlo conn_accepted)" = $((before + 2))
to_itself "rping to its own address on eth0" 10.0.0.1
check "lo's device goes" rdma link del weftlo

# --- one device per MAC ---
for host in A1 B2; do
	ip -n ${host:0:1} link add link eth0 name eth0.5 type vlan id 5
	ip -n ${host:0:1} addr add "10.5.0.${host:1}/24" dev eth0.5
	ip -n ${host:0:1} link set eth0.5 up
done
if by_netdev; then
	check "a VLAN with the MAC address of the device below" on_a rdma link add weft5 type weft netdev eth0.5
	check "a VLAN with it on the other host as well" on_b rdma link add weft6 type weft netdev eth0.5
else
	refused "a VLAN with the MAC address of the device below" "in use|busy" 10 on_a rdma link add weft5 type weft netdev eth0.5
	check "a VLAN with the MAC address of the device below: the log says which" log_says "eth0.5 has the MAC address of eth0, which carries weft0"
	ip -n A link set eth0.5 address 02:00:00:00:05:01
	ip -n B link set eth0.5 address 02:00:00:00:05:02
	check "a VLAN with one of its own" on_a rdma link add weft5 type weft netdev eth0.5
	check "a VLAN with one of its own on the other host as well" on_b rdma link add weft6 type weft netdev eth0.5
fi
below=$(counter weft1 conn_opened)
rping_to "rping over the VLAN" 10.5.0.1
if by_netdev; then
	# rdma_cm takes the device of a VLAN for that of the device below, and the other way round.
	check "rping over the VLAN: it was the VLAN's device or the one below" \
		test $(($(counter weft6 conn_opened) + $(counter weft1 conn_opened))) -gt "$below"
else
	check "rping over the VLAN: it was the VLAN's device" test "$(counter weft6 conn_opened)" -ge 1
fi
rping_to "rping over the device below" 10.0.0.1
for device in weft5 weft6; do rdma link del $device; done

# A MAC address that changes: rdma_cm finds the device by the new one.
set_mac() { ip -n A link set eth0 address "$1" && ip -n A neigh flush all && ip -n B neigh flush all; }
set_mac 02:00:00:00:00:77
check "the GID follows the MAC address" wait_for 10 grep -q 0200:0000:0077 /sys/class/infiniband/weft0/ports/1/gids/0
rping_to "rping after the MAC address changed" 10.0.0.1
set_mac 02:00:00:00:00:01

# --- VRF: eth0 and its addresses are in a routing domain of their own ---
modprobe -q vrf
# to_domain NAME: puts eth0 of both hosts there, or takes it out. It goes down meanwhile, and so loses its address of IPv6.
to_domain() {
	local host
	for host in A1 B2; do
		[[ -z $1 ]] || { ip -n ${host:0:1} link add "$1" type vrf table 10 && ip -n ${host:0:1} link set "$1" up; } || return
		ip -n ${host:0:1} link set eth0 ${1:+master} "${1:-nomaster}"
		ip -n ${host:0:1} addr replace "fd00::${host:1}/64" dev eth0 nodad
	done
}
to_domain red 2>/run/vrf || give_up "a VRF" "$(</run/vrf)"
rping_to "rping within a VRF" 10.0.0.1 "-I 10.0.0.2"
rping_to "rping within a VRF, over IPv6" fd00::1 "-I fd00::2"
# rdma_cm chooses a port without asking TCP, which then has to choose another: for an ordinary user, too.
chmod 666 /dev/infiniband/rdma_cm /dev/infiniband/uverbs*
range=$(ip netns exec B sysctl -n net.ipv4.ip_local_port_range)
ip netns exec B sysctl -qw net.ipv4.ip_local_port_range="40000 40015" net.ipv4.ip_local_reserved_ports=40000-40011
begin taken ip netns exec B python3 -c '
import socket, time
taken = [socket.socket() for _ in range(12)]
for number, sock in enumerate(taken):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"red")
    sock.bind(("10.0.0.2", 40000 + number))
    sock.listen()
print("taken", flush=True)
time.sleep(1000)'
await "ports are taken" 20 grep -q taken /run/taken
for round in 1 2 3; do
	session "rping -s -a 10.0.0.1 -C 5" "setpriv --reuid 65534 --regid 65534 --clear-groups rping -c -a 10.0.0.1 -I 10.0.0.2 -C 5" 30
	ended_well $? "an ordinary user's connections within a VRF, with few ports ($round)"
done
end taken
ip netns exec B sysctl -qw net.ipv4.ip_local_port_range="$range" net.ipv4.ip_local_reserved_ports=
# Who listens on all addresses is in no domain.
refused "a listener on all addresses has no connections from a VRF" "RDMA_CM_EVENT_REJECTED|connect error" 40 \
	server_client "rping -s -a 0.0.0.0 -C 1" "rping -c -a 10.0.0.1 -I 10.0.0.2 -C 1" 20
await "nobody listens any more" 10 quiet_a
ip netns exec A sysctl -qw net.ipv4.tcp_l3mdev_accept=1
session "rping -s -a 0.0.0.0 -C 5" "rping -c -a 10.0.0.1 -I 10.0.0.2 -C 5" 30
ended_well $? "with tcp_l3mdev_accept it has them"
ip netns exec A sysctl -qw net.ipv4.tcp_l3mdev_accept=0
to_domain ""
rping_to "rping out of the VRF" 10.0.0.1
ip -n A link del red
ip -n B link del red

# --- bond and bridge: eth0 becomes a part of them ---
for device in weft0 weft1; do rdma link del $device; done
modprobe -q bonding
ip -n A link add bond0 type bond mode active-backup miimon 100 2>/run/bond || give_up "a bond" "$(</run/bond)"
ip -n A -batch - <<-END
	link set eth0 down
	addr flush dev eth0
	link set eth0 master bond0
	link set bond0 up
	addr add 10.0.0.1/24 dev bond0
END
check "a device on a bond" on_a rdma link add weft0 type weft netdev bond0
if by_netdev; then
	check "the port of a bond shares its MAC address" on_a rdma link add weft9 type weft netdev eth0
	rdma link del weft9
else
	refused "the port of a bond shares its MAC address" "in use|busy" 10 on_a rdma link add weft9 type weft netdev eth0
fi
modprobe -q bridge
ip -n B link add br0 type bridge 2>/run/bridge || give_up "a bridge" "$(</run/bridge)"
ip -n B -batch - <<-END
	addr flush dev eth0
	link set eth0 master br0
	link set br0 address 02:00:00:00:00:02 up
	addr add 10.0.0.2/24 dev br0
END
check "a device on a bridge" on_b rdma link add weft1 type weft netdev br0
reachable() { on_b ping -c 1 -W 1 10.0.0.1 >/dev/null 2>&1; }
await "the bridge reaches the bond" 20 reachable
rping_to "rping from the bridge to the bond" 10.0.0.1
check "the bridge goes, and its device with it" ip -n B link del br0
gone() { ! rdma link show | grep -q weft1; }
check "the bridge goes: its device is gone at once" wait_for 20 gone
check "modprobe -r after all kinds of Ethernet devices" removed
finish
