#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=10 seldom debug cards
# Network namespaces that share all devices (the kernel's default), and who may harm whom there: containers C, D and E listen,
# connect and steal, without a device of their own. Only E has a way to the network: ipvlan on A's eth0, with its MAC address.
#
#     C, D              A                              B
#     (nothing)         weft0 on eth0 ── veth ── weft1 on eth0
#                       │
#              E: ipv0 ─┘ 10.0.0.3

source "${BASH_SOURCE[0]%/*}/lib.sh"

set_up
peers=$LAB_PROJECT/tests/integration/namespace_peers.py
for name in C D E; do ip netns add $name && ip -n $name link set lo up; done
in_e() { ip netns exec E "$@"; }
# server_in CASE NAME HOST ADDRESS PORT [OPTION...]: the case: rping, begun as NAME, listens on that host.
server_in() {
	begin "$2" ip netns exec "$3" rping -s -a "$4" -p "${@:5}"
	check "$1" wait_for 20 listens "$3" "$5"
}

# served NAME ADDRESS SERVER_ADDRESS PORT: B reaches the server on A, and no other.
served() {
	session "rping -s -a $3 -p $4 -C 3" "rping -c -a $2 -p $4 -C 3" 40 && rping_ended "$SERVER_STATUS"
	judge $? "$1" "rping's client ended with $CLIENT_STATUS, its server on A with $SERVER_STATUS" "$said"
}

# --- a port is taken in the listener's namespace, and nowhere else ---
port=7401
server_in "a server in C, on every address" stranger-c C 0.0.0.0 $port
server_in "a server in D on the same port" stranger-d D 0.0.0.0 $port
pause 1
check "  neither ends" eval 'alive stranger-c && alive stranger-d'
check "  A does not listen there" not listens A $port
check "  nor does B" not listens B $port
check "  nor the first namespace" bash -c '! grep -q ":'"$(printf %04X $port)"' .* 0A " /proc/net/tcp /proc/net/tcp6'
served "A serves that port on its address, and B reaches it" 10.0.0.1 10.0.0.1 $port
served "  and on every address" 10.0.0.1 0.0.0.0 $port

port6=7402
server_in "IPv6: a server in C, on every address" stranger-6 C :: $port6
check "  A does not listen there" not listens A $port6
served "  A serves that port, and B reaches it" fd00::1 fd00::1 $port6
served "  and on every address, IPv4 as well" 10.0.0.1 :: $port6
end stranger-6
begin stranger-2 ip netns exec C rping -s -a 0.0.0.0 -p 7407
await "the server of C listens" 20 listens C 7407

# --- another's addresses are of no use without his wire ---
ip -n C link add fake address 02:00:00:00:00:01 type dummy
ip -n C -batch - <<-END
	link set fake up
	addr add 10.0.0.1/24 dev fake
	neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev fake
END
server_in "a server on B" victim B 10.0.0.2 7403 -P
refused "C, with A's MAC and IP address, does not reach it" "error|UNREACHABLE|wait for" 40 \
	ip netns exec C rping -c -I 10.0.0.1 -a 10.0.0.2 -p 7403 -C 1
check "  A does" rping_client on_a 40 -I 10.0.0.1 -a 10.0.0.2 -p 7403 -C 1
server_in "C serves A's address: in C" posing C 10.0.0.1 7404
check "  and not in A" not listens A 7404
refused "  B does not reach it" "error|UNREACHABLE|REJECTED|wait for" 40 on_b rping -c -a 10.0.0.1 -p 7404 -C 1
end posing
ip -n C link del fake

# --- ipvlan: a container that shares the host's MAC address, and so its device ---
ipvlan=no
if modprobe -q ipvlan && ip -n A link add link eth0 name ipv0 netns E type ipvlan mode l2; then
	ipvlan=yes
	ip -n E link set ipv0 up
	ip -n E addr add 10.0.0.3/24 dev ipv0
	for address in 10.0.0.3 0.0.0.0; do
		server_in "a server in an ipvlan container, on $address" contained E $address 7405 -C 2
		check "  B reaches it ($address)" rping_client on_b 40 -a 10.0.0.3 -p 7405 -C 2
		end contained
	done
	check "a client there reaches B" rping_client in_e 40 -a 10.0.0.2 -p 7403 -C 1
else
	skip "ipvlan containers" "this kernel has no ipvlan"
fi

# --- whose queue pair it is, its number cannot tell ---
chmod 666 /dev/infiniband/rdma_cm /dev/infiniband/uverbs*
pair_of() { # NAME COMMAND...: the COMMAND makes a queue pair in A; its number goes to $qpn
	mkfifo "/run/$1.go"
	exec {go}<>"/run/$1.go"
	setsid ip netns exec A "${@:2}" >"/run/$1" 2>&1 <"/run/$1.go" &
	running[$1]=$!
	await "$1 has a queue pair" 60 grep -q 'queue pair' "/run/$1"
	qpn=$(sed -n 's/^queue pair //p' "/run/$1")
}
owner() { # NAME [COMMAND...]: the same for user 1000, by the COMMAND
	pair_of "$1" setpriv --reuid 1000 --regid 1000 --clear-groups -- "${@:2}" "$peers" owner 10.0.0.2 7403
}
thief() { # NAMESPACE USER: tries to connect it
	ip netns exec "$1" setpriv --reuid "$2" --regid "$2" --clear-groups -- \
		timeout $((40 * patience)) "$peers" thief "$qpn" 10.0.0.2 7403 2>&1
}
# steals REGEX NAMESPACE USER: it prints that.
steals() { grep -q "$1" <<<"$(thief "${@:2}" | tee /dev/stderr)"; }
none='Invalid argument' # as of a number that no queue pair has

qpn=''
owner first
check "a queue pair of one user" test -n "$qpn"
check "  another user finds none of its number" steals "$none" A 1001
[[ $ipvlan == no ]] || check "  nor can the same user from another container" steals 'Operation not permitted' E 1000
echo go >&"$go"
check "  its owner can" wait_for 40 grep -q '^connected' /run/first
end first
owner second
check "  another process of the owner's can" steals ^connected A 1000
end second
# A program that the user has started, and that has rights of its own: another user's such as su, a group's, a capability.
for rights in user group capability; do
	program=/run/python-with-$rights
	install -m 755 "$(readlink -f /usr/bin/python3)" "$program"
	case $rights in
	user) chmod u+s "$program" ;;
	group) chgrp 1234 "$program" && chmod g+s "$program" ;;
	capability) setcap cap_net_raw+ep "$program" ;;
	esac
	owner "$rights" "$program"
	check "a queue pair of a program with a $rights that its starter has not" test -n "$qpn"
	check "  who started it (another $rights) finds none of its number" steals "$none" A 1000
	end "$rights"
done
pair_of dropped "$peers" owner 10.0.0.2 7403 1000
check "a queue pair of a program that gives up its rights" test -n "$qpn"
check "  its new user's other programs find none of its number" steals "$none" A 1000
end dropped
owner third
check "  who may administer the network can" steals ^connected A 0
end third
end victim

# --- refused connections that the peer keeps open ---
server_in "a server for the refused" crowded A 10.0.0.1 7406 -P
crowd=500
in_use() { awk '$1 == "TCP:" { print $3 }' "/proc/$someone_in_a/net/sockstat"; }
before=$(in_use)
begin crowd ip netns exec B "$peers" refused 10.0.0.1 7406 $crowd
check "$crowd peers that are refused and do not close" wait_for 60 grep -q ready /run/crowd
used=$(($(in_use) - before))
check "  have few sockets left on A ($used)" test "$used" -lt 100
check "  and the server serves" rping_client on_b 40 -a 10.0.0.1 -p 7406 -C 1
end crowd crowded

# --- the server pays: memory of an accepted connection is charged to its cgroup ---
group=/run/cgroup/server
charge() { awk '$1 == "sock" { print $2 }' "$group/memory.stat"; }
charged() { (($(charge) >= 65536)); }
charged_not() { [[ $(charge) == 0 ]]; }
if mkdir /run/cgroup && mount -t cgroup2 none /run/cgroup &&
	echo +memory >/run/cgroup/cgroup.subtree_control && mkdir $group; then
	begin payer ip netns exec A bash -c "echo \$\$ >$group/cgroup.procs && exec ib_read_bw -R -d weft0 -s 1048576 -D 60"
	await "the payer listens" 20 listens A 18515
	# What is acknowledged late is held for long enough to be seen: the server lets others run only when the peer has all it sent.
	tc -n B qdisc add dev eth0 root netem delay 100ms
	begin reader ip netns exec B ib_read_bw -R -d weft1 -s 1048576 -D 60 10.0.0.1
	check "a server that sends is charged with what TCP holds of it" wait_for 50 charged
	end reader payer
	tc -n B qdisc del dev eth0 root
	check "  and no longer when it has ended" wait_for 30 charged_not

	# What a queue pair keeps of the reads that may be under way is made by a worker, when it is connected.
	group=/run/cgroup/readers
	connected() { (($(on_b ss -Htn state established "dport = :18515" | wc -l) >= pairs)); }
	kept_with() { # OUTSTANDING: leaves in $kept the bytes that the kernel keeps for a program with so many reads a queue pair
		kept=0
		mkdir $group
		begin answers ip netns exec A ib_read_bw -R -d weft0 -q $pairs -o "$1" -s 4096 -D 60
		await "who answers listens" 20 listens A 18515
		begin readers ip netns exec B bash -c \
			"echo \$\$ >$group/cgroup.procs && exec ib_read_bw -R -d weft1 -q $pairs -o $1 -s 4096 -D 60 10.0.0.1"
		# Linux brings these numbers up to date every two seconds.
		wait_for 40 connected && pause 3 && kept=$(awk '$1 == "kernel" { print $2 }' $group/memory.stat)
		holding=$(awk '$1 == "sockets:" { print $3 }' "/proc/$someone_in_a/net/sockstat")
		end readers answers
		await "nobody is left in the group" 10 rmdir $group
	}
	pairs=64
	kept_with 1
	few=$kept
	kept_with 128
	check "who reads pays for what its reads may need ($few bytes with 1 each for $pairs queue pairs, $kept with 128)" \
		test "$few" -gt 0 -a $((kept - few)) -ge $((pairs * 127 * 40))
	# Only those are counted there that hold their namespace, so that it stays as long as they do.
	check "  the socket of each connection holds its namespace ($holding do)" test "$holding" -ge $pairs
else
	skip "charges to memory cgroups" "this kernel has none"
fi

# --- a device that comes, while neighbours listen already ---
on_a rdma link delete weft0
on_b rdma link delete weft1
check "a neighbour takes away the port of its own server" wait_for 20 not listens C $port
begin plain ip netns exec C "$peers" port $port
check "  by a plain TCP socket" wait_for 20 grep -q ready /run/plain
check "  its server listens on" alive stranger-c
begin plain-a ip netns exec A "$peers" port 7407
check "a plain TCP server on A, on the port of another neighbour's" wait_for 20 grep -q ready /run/plain-a
check "rdma link add on A" add_a
check "  and on B" add_b
said_why() { grep -q "weft0: the program that listens on 0.0.0.0:$port gets no connections" < <(dmesg); }
check "  the kernel log says who gets no connections" said_why
check "  A does not listen for its neighbours" not listens A $port
check "  D listens for itself" listens D $port
works "  the devices work"
served "  A serves the port that the neighbours listen on" 10.0.0.1 0.0.0.0 $port
end plain plain-a stranger-2 stranger-c stranger-d

# --- a namespace goes that has a network card, which outlives it ---
card() { # MAC: the name of that network card, if it is in the first namespace
	local file name
	for file in /sys/class/net/*/address; do
		name=${file%/address}
		[[ $(<"$file") != "$1" ]] || echo "${name##*/}"
	done
}
mac=02:00:00:00:02:01 other_mac=02:00:00:00:02:02
back() { [[ -n $(card "$mac") ]]; }
gone() { [[ $(rdma dev show) != *weft8* ]]; }
modprobe -q virtio_net
if wait_for 5 back; then
	ip netns add V
	ip netns add W
	ip link set "$(card $mac)" netns V name card
	ip link set "$(card $other_mac)" netns W name card
	for host in V1 W2; do
		ip -n ${host:0:1} link set lo up
		ip -n ${host:0:1} link set card up
		ip -n ${host:0:1} addr add 10.1.0.${host:1}/24 dev card
	done
	check "a device on a network card" ip netns exec V rdma link add weft8 type weft netdev card
	# They make the end of the device slower than that of the namespace.
	begin hoard ip netns exec W "$peers" hoard weft8 100
	check "  somebody elsewhere has many queue pairs of it" wait_for 60 grep -q ready /run/hoard
	begin doomed ip netns exec V rping -s -P -a 10.1.0.1 -p 7408
	await "the server of V listens" 20 listens V 7408
	begin mute ip netns exec W "$peers" mute 10.1.0.1 7408
	check "  a peer that does not close" wait_for 20 grep -q ready /run/mute
	pause 1
	end doomed
	check "its namespace goes" ip netns del V
	check "  the card is back in the first namespace" wait_for 40 back
	check "  its device is gone" wait_for 20 gone
	end hoard mute
	check "  it can be added again" rdma link add weft8 type weft netdev "$(card $mac)"
	rdma link delete weft8
	ip netns del W
else
	skip "a namespace with a network card" "no card $mac: the lab was started without"
fi

# --- all of them go ---
leave
for host in A B C D E; do ip netns del $host; done
check "deletion of every namespace: no device is left" wait_for 30 no_devices
# The mode can be changed only when there is no namespace but the first.
check "  and no namespace" wait_for 60 rdma system set netns exclusive
check "  nobody holds the module" wait_for 20 unused
check "  and it can be removed" removed
finish
