#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1500 where=uml order=15 consumer='rdma-core tools'
#
# Every program of rdmacm-utils but rping: connections, RC by way of librdmacm's endpoints, streams over
# rsockets in all their modes, a file copied. IPv4 and IPv6.

# shellcheck disable=SC2317 # functions are called by name, from retry
source "${BASH_SOURCE[0]%/*}/../integration/lib.sh"
set_up

preload=LD_PRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so

# pair_of NAME SERVER CLIENT [REGEX]: both must end with status 0 (a server that serves for
# ever: be stopped), and the client must say something that matches REGEX.
pair_of() {
	local server=$2
	# rstream and riostream in mode a take a hang-up for an error even where data came with
	# it, and the server hangs up right behind its last message: on a busy machine always too
	# soon. rshutdown() begins with fcntl(), and strace holds it up there.
	if [[ $3 == *"-T a"* ]]; then
		server="strace -f -qq -o /dev/null -e trace=fcntl -e inject=fcntl:delay_enter=500000 $2"
		retry "rstream and riostream in mode a" 3 raced "$server" "$3"
	elif [[ $3 == riostream* ]]; then
		retry "riostream, which listens before it says how many mappings it takes" 3 raced "$server" "$3"
	else
		session "$server" "$3" 90
	fi
	[[ $CLIENT_STATUS == 0 && ($SERVER_STATUS == 0 || $2 == cmtime* && $SERVER_STATUS == 143) ]] ||
		{ ended_well 1 "$1" 25 && return; }
	grep -qE -- "${4:-.*}" <<<"$CLIENT_OUTPUT"
	judge $? "$1" "the client said nothing like '${4-}'" "$CLIENT_OUTPUT"
}

# raced SERVER CLIENT: a session. Status $again when the server hung up before the client had read, and when a
# connection came between riostream's rlisten() and its RDMA_IOMAPSIZE: librdmacm answers connections in a thread of its
# own, by what the server has set until then, and without a mapping riomap() finds no room.
raced() {
	session "$@" 90 && return
	if ((CLIENT_STATUS == 16)); then
		echo "# the server hung up before the client had read"
	elif grep -q "riomap: Cannot allocate memory" <<<"$said"; then
		echo "# riostream's server was connected to before it had said how many mappings it takes"
	else
		return 1
	fi
	return "$again"
}

# marked NAME FILTER SERVER CLIENT: pair_of, and packets that match the filter come to A meanwhile.
marked() {
	begin marked ip netns exec A timeout 60 tcpdump -i eth0 -n -c 3 "$2"
	await "tcpdump listens" 10 grep -q 'listening on' /run/marked
	pair_of "$1" "$3" "$4"
	wait_for 5 ended "${running[marked]}" && wait "${running[marked]}"
	judge $? "$1: packets like $2" "three of them did not come" "$(</run/marked)"
}

# not_for_iwarp NAME REASON COMMAND...: a program for a feature that iWARP lacks must end with an error, and is a skip.
not_for_iwarp() {
	local status=0 said
	said=$(on_b timeout -k 2 20 "${@:3}" 2>&1 </dev/null) || status=$?
	if ((status == 0 || status == 124 || status > 128 && status < 160)); then
		not_ok "$1" "status $status, where an error was expected" "$said"
	else
		skip "$1" "$2 (it says: $(head -n 1 <<<"$said"))"
	fi
}

for address in 10.0.0.1 fd00::1; do
	version=IPv4 filter="src 10.0.0.2 and tcp and ip[1] = 32"
	[[ $address == *:* ]] && version=IPv6 filter="src fd00::2 and ip6[0:2] & 0x0ff0 = 0x0200"
	marked "ucmatose over $version with a type of service" "$filter" "ucmatose -b $address" "ucmatose -s $address -t 32"
	pair_of "ucmatose over $version: 10 connections of 20 messages" "ucmatose -b $address -c 10 -C 20 -S 5000" \
		"ucmatose -c 10 -C 20 -S 5000 -s $address"
	pair_of "rdma_server and rdma_client over $version" "rdma_server -s $address" "rdma_client -s $address"
	pair_of "cmtime over $version: 50 connections" "cmtime -b $address -c 50" "cmtime -c 50 -s $address" "^connect"
	# All modes verify the data: blocking, nonblocking, with poll, addresses by rdma_cm. IPv6 does not matter.
	for mode in "n 1" "n 65536" "b 1000" "b 1048576" "a 1000" "a 65536" "r 4096"; do
		read -r mode size <<<"$mode"
		for program in rstream riostream; do
			# riostream has no mode r.
			[[ $program$mode != riostreamr ]] || continue
			[[ $version == IPv4 || $size == 65536 ]] || continue
			command="$program -T $mode -T v -S $size -I 2 -C 5"
			pair_of "$program over $version, mode $mode, $size bytes" "$command -b $address" "$command -s $address" "^custom"
		done
	done
done
# Its server takes no address, and listens on all of IPv4 then.
pair_of "rdma_xserver and rdma_xclient" "rdma_xserver -c r" "rdma_xclient -c r -s 10.0.0.1"
pair_of "rstream, small buffers and no inline data" "rstream -T v -B 4096 -i 0 -S 65536 -I 2 -C 20" \
	"rstream -T v -B 4096 -i 0 -S 65536 -I 2 -C 20 -s 10.0.0.1" "^custom"
# Each piece is an RDMA Write and a Send behind it, and 4 KiB are two pieces, of which each Write is two segments long. What answers
# acknowledges all of them: two and six packets, where TCP would send three and eight.
sent() { awk '/^Tcp: [0-9]/ { sum += $12 } END { print sum }' <(on_a cat /proc/net/snmp) <(on_b cat /proc/net/snmp); }
# An answer that comes later than a tick of the clock acknowledges nothing, nor do the eight behind it, and on a busy machine some do. So
# there is one long run, and the limit lies half-way between all in time and none. rstream blocks (-T b), because two that poll share one
# processor tick by tick, and each answer is a tick late. kunit/tcp_test.c has the decision itself.
answered() { # SIZE LEAST MOST: 5000 messages each way take so many packets, all in time or none
	local before packets limit=$((($2 + $3) / 2))
	before=$(sent)
	pair_of "rstream, latency of $1 bytes" "rstream -T v -T b -S $1 -I 5000 -C 1" "rstream -T v -T b -S $1 -I 5000 -C 1 -s 10.0.0.1" "^custom"
	packets=$(($(sent) - before))
	check "  10000 messages of $1 bytes in $packets packets, less than $limit" test "$packets" -ge "$2" -a "$packets" -lt "$limit"
}
answered 64 20000 30000
answered 4096 60000 80000
pair_of "rstream, keepalive" "rstream -k 1 -S 1024 -I 10 -C 1" "rstream -k 1 -S 1024 -I 10 -C 1 -s 10.0.0.1" "^custom"
# Its mode s is for sockets of the C library, which librspreload makes rsockets.
pair_of "rstream, mode s, sockets made rsockets" "$preload rstream -T s -T v -S 65536 -I 2 -C 10" \
	"$preload rstream -T s -T v -S 65536 -I 2 -C 10 -s 10.0.0.1" "^custom"

# rcopy takes a file to A; its server serves for ever, and IPv4 alone.
dd if=/dev/urandom of=/run/original bs=65536 count=64 status=none
dd if=/dev/urandom bs=1 count=7 status=none >>/run/original
session rcopy "rcopy /run/original 10.0.0.1:/run/copy" 90 && cmp /run/original /run/copy
ended_well $? "rcopy: 4 MiB and 7 bytes arrive unchanged"

not_for_iwarp "udaddy" "datagrams (UD): iWARP has connections only" udaddy -s 10.0.0.1
not_for_iwarp "mckey" "multicast: iWARP has connections only" mckey -m 230.0.0.1 -b 10.0.0.2
not_for_iwarp "udpong" "datagrams (UD): iWARP has connections only" udpong -s 10.0.0.1
not_for_iwarp "rdma_xserver -c x" "extended connections (XRC) are InfiniBand's" rdma_xclient -c x -s 10.0.0.1

works "after the programs of rdmacm-utils"
finish
