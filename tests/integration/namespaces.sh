#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=46 debug
# Network namespaces with the RDMA subsystem in exclusive mode, where a device is seen in one namespace only:
# born in that of its Ethernet device, moved by hand, and cleaned up when the namespace is deleted.

source "${BASH_SOURCE[0]%/*}/lib.sh"

# Only before there is any namespace can the mode be changed.
modprobe ib_uverbs
check "exclusive mode" rdma system set netns exclusive
set_up

sees() { ip netns exec "$1" rdma dev show "$2" >/dev/null 2>&1; }
check "a new device is in the namespace of its Ethernet device" sees A weft0
check "  and not in the other host's" not sees B weft0
check "  nor in the first one" bash -c '! rdma dev show weft0 2>/dev/null'
check "  nor is there a directory in sysfs" test ! -e /sys/class/infiniband/weft0
check "  but there is one on the host itself" on_a test -e /sys/class/infiniband/weft0/weft/crc
check "ibv_devices shows each host its own" test "$(on_b ibv_devices | grep -o 'weft[0-9]')" = weft1
works "rping between the hosts"
check "rdma statistic in the namespace" on_a bash -c 'rdma statistic show link weft0/1 | grep -q rx_fpdus'
sent_and_received() { on_a "$LAB_PROJECT/tools/weft" status weft0 | grep -qE '^  sent [1-9][0-9]* bytes, received [1-9]'; }
check "weft status in the namespace: what was sent and received" sent_and_received
check "rdma res in the namespace" on_a bash -c 'rdma res show | grep -q weft0'

# Devices of the same MAC address are no trouble where nobody sees both.
ip netns add C
ip link add same netns C address 02:00:00:00:00:01 type dummy
check "the MAC address of another namespace's device" ip netns exec C rdma link add weft7 type weft netdev same

# A server on every address has no socket for devices of other namespaces.
begin stranger ip netns exec C rping -s -a 0.0.0.0 -p 7401
check "a server in another namespace, on every address" wait_for 20 listens C 7401
check "  A does not listen there" not listens A 7401
end stranger

# --- moved by hand ---
check "rdma dev set weft0 netns C" on_a rdma dev set weft0 netns C
check "  it is there" sees C weft0
check "  and no longer here" not sees A weft0
refused "a program here finds no device" "No IB devices|not found|wasn.t found|Failed" 10 on_a ibv_devinfo -d weft0
check "and back" ip netns exec C rdma dev set weft0 netns A
check "  it is here" sees A weft0
works "  and works"

# The namespace that it was moved to goes.
ip netns add E
check "rdma dev set weft0 netns E" on_a rdma dev set weft0 netns E
ip netns del E
check "  E is deleted: the device is in the first namespace" wait_for 20 rdma dev show weft0
check "  and back" rdma dev set weft0 netns A
works "after its namespace was deleted"

# Moved away under traffic: programs lose it, as if it were unplugged.
ping_pong -S 1000 -v
wait_for 60 grep -q "ping data" /run/client || not_ok "moved under traffic" "rping sends nothing"
check "moved under traffic" timeout $((30 * patience)) ip netns exec A rdma dev set weft0 netns C
check "  the programs end" wait_for 30 both_ended
end server client
check "  and back" ip netns exec C rdma dev set weft0 netns A
works "  and it works"

# --- a cgroup: its firewall's rules hold for connections by which socket is in it ---
if mkdir /run/cgroup && mount -t cgroup2 cgroup2 /run/cgroup && echo +memory >/run/cgroup/cgroup.subtree_control; then
	mkdir /run/cgroup/weft
	charged() { (($(awk '$1 == "sock" { print $2 }' /run/cgroup/weft/memory.stat) > 0)); }
	in_cgroup=(bash -c 'echo $$ >/run/cgroup/weft/cgroup.procs && exec "$@"' _)
	# connections PORT: those of B's to it, with their cgroups.
	connections() { on_b ss -Htn --cgroup state established "dport = :$1"; }
	# This peer closes the first connection, so that a worker opens another, of MPA's revision 1.
	begin server ip netns exec A python3 -c '
import socket, time
s = socket.create_server(("10.0.0.1", 7302))
first, _ = s.accept()
first.recv(1000)
first.close()
second = s.accept()
print("again", flush=True)
time.sleep(1000)'
	await "a peer of revision 1 listens" 20 listening
	# What is sent is acknowledged late: until then it takes memory.
	on_a tc qdisc add dev eth0 root netem delay 3s
	begin client ip netns exec B "${in_cgroup[@]}" rping -c -a 10.0.0.1 -p 7302
	await "the second connection" 20 grep -q again /run/server
	check "a connection that is opened again is paid for by its cgroup" wait_for 10 charged
	on_a tc qdisc del dev eth0 root
	check "a connection that is opened again stays in its cgroup ($(connections 7302 | tr -s ' '))" \
		grep -q 'cgroup:/weft' <(connections 7302)
	end server client

	# connect_over TRANSPORT: in exclusive mode each host alone has its device.
	connect_over() {
		on_a bash -c "echo $1 >/sys/class/infiniband/weft0/weft/transport"
		on_b bash -c "echo $1 >/sys/class/infiniband/weft1/weft/transport"
	}
	modprobe weft_paths
	connect_over paths
	begin server ip netns exec A "${in_cgroup[@]}" rping -s -a 10.0.0.1 -S 1000
	await "a server of two paths listens" 20 listening
	begin client ip netns exec B "${in_cgroup[@]}" rping -c -a 10.0.0.1 -S 1000
	two_paths() { (($(on_b ss -Htn state established dst 10.0.0.1 | wc -l) == 2)); }
	await "two paths" 20 two_paths
	check "every path of a connection is in its cgroup" \
		test "$(on_b ss -Htn --cgroup state established dst 10.0.0.1 | grep -c cgroup:/weft)" = 2
	check "what listens for further paths as well ($(on_a ss -Htln --cgroup | tr -s ' \n' ' '))" \
		test -z "$(on_a ss -Htln --cgroup | grep -v cgroup:/weft)"
	check "  and there is such a listener" test "$(on_a ss -Htln | wc -l)" -gt 1
	end server client
	connect_over tcp
else
	skip "cgroups" "this kernel has none that count memory"
fi

# --- the namespace goes ---
check "deletion of a namespace with a device in it" ip netns del C
nowhere() { ! rdma dev show | grep -q weft7; }
check "  the device goes with its Ethernet device" wait_for 20 nowhere
check "  and its name is free" bash -c 'ip link add spare type dummy && rdma link add weft7 type weft netdev spare'
check "  for a device in the first namespace" rdma dev show weft7
# The Ethernet device moves to another namespace: its device ends, and can be added there.
ip netns add D
check "an Ethernet device moves to another namespace" ip link set spare netns D
check "  its device is gone" wait_for 20 nowhere
check "  and can be added there" ip netns exec D rdma link add weft7 type weft netdev spare
works "meanwhile the hosts work"
leave
for host in A B D; do ip netns del $host; done
check "deletion of every namespace: no device is left" wait_for 30 no_devices
rmmod weft_paths
check "  nobody holds the module" wait_for 20 unused
check "  and it can be removed" removed
finish
