# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Functions for scripts that run this program in a lab, on hosts of their own. Source it after
# scripts/lab/hosts.sh:
#
#     make_hosts 4 1             # namespaces H0 to H3 on one wire, each with Weft
#     ranks 4 rdma 60 fft        # the program on each; what host 2 said is in /run/rank.2
#
#        H0: 10.0.0.1 eth0 ─┐                 ┌─ eth0 10.0.0.3 :H2
#                           ├─ bridge wire0 ──┤
#        H1: 10.0.0.2 eth0 ─┘                 └─ eth0 10.0.0.4 :H3      and with two links wire1,
#                                                                       eth1, 10.1.0.1 to 10.1.0.4

program=$LAB_PROJECT/build/apps/sharedmemory/sharedmemory
port=7000

# on HOST COMMAND...: runs a command on that host.
on() {
	local host=$1
	shift
	ip netns exec "H$host" "$@"
}

# make_hosts N LINKS: the hosts, each with so many links to all others, and a Weft device.
make_hosts() {
	local host link
	install_stage && modprobe weft || return
	ip netns add wires
	for ((link = 0; link < $2; link++)); do
		ip -n wires link add "wire$link" type bridge
		ip -n wires link set "wire$link" up
	done
	for ((host = 0; host < $1; host++)); do
		ip netns add "H$host"
		ip -n "H$host" link set lo up
		for ((link = 0; link < $2; link++)); do
			ip link add "eth$link" netns "H$host" type veth peer name "h$host.$link" netns wires
			ip -n wires link set "h$host.$link" master "wire$link" up
			ip -n "H$host" addr add "10.$link.0.$((host + 1))/24" dev "eth$link"
			ip -n "H$host" link set "eth$link" up
		done
		on "$host" rdma link add "weft$host" type weft netdev eth0 || return
	done
	# Each knows the others before rdma_cm asks; scripts/lab/two-hosts says why.
	for ((host = 1; host < $1; host++)); do
		for ((link = 0; link < host; link++)); do
			on "$host" ping -q -c 1 -W 10 "10.0.0.$((link + 1))" >/dev/null || return
		done
	done
}

# addresses N: what --hosts takes. Each run has ports of its own, so that none waits for the last one's.
addresses() {
	local host list=''
	for ((host = 0; host < $1; host++)); do
		list+=",10.0.0.$((host + 1)):$port"
	done
	echo "${list#,}"
}

# begin N TRANSPORT ARGUMENTS...: starts the program on each host; the process of host 2 is ${started[2]}.
begin() {
	local hosts=$1 transport=$2 host list
	shift 2
	port=$((port + 1))
	list=$(addresses "$hosts")
	started=()
	for ((host = 0; host < hosts; host++)); do
		ip netns exec "H$host" "$program" "$@" --hosts "$list" --rank "$host" --transport "$transport" \
			>"/run/rank.$host" 2>&1 </dev/null &
		started+=($!)
	done
}

# ended_all SECONDS: waits until all have ended, leaves their statuses in $statuses, and returns the worst.
# What does not end is killed, and is 124.
ended_all() {
	local end=$((SECONDS + $1 * ${WEFT_PATIENCE:-1})) pid worst=0 status
	statuses=()
	for pid in "${started[@]}"; do
		until ended "$pid" || ((SECONDS >= end)); do
			pause 0.05
		done
		status=0
		if ended "$pid"; then
			wait "$pid" 2>/dev/null || status=$?
		else
			kill -KILL "$pid"
			wait "$pid" 2>/dev/null || true
			status=124
		fi
		statuses+=("$status")
		((status <= worst)) || worst=$status
	done
	return "$worst"
}

# ranks N TRANSPORT SECONDS ARGUMENTS...: runs the program on each host, and prints what they said.
ranks() {
	local hosts=$1 transport=$2 limit=$3 status=0 host
	shift 3
	begin "$hosts" "$transport" "$@"
	ended_all "$limit" || status=$?
	for ((host = 0; host < hosts; host++)); do
		sed "s/^/host $host: /" "/run/rank.$host"
	done
	return "$status"
}
