#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Wire: verified transfers over a wire that loses, delays, reorders, doubles and damages packets in
# both directions, while MTU and routes change, and through a proxy that flips bits behind TCP's back.
#
# WIRE_MB: megabytes of each kind. WIRE_FLIPS: bits.

# shellcheck disable=SC2317 # called by name
# shellcheck source=tests/torture/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
megabytes=${WIRE_MB:-1024} flips=${WIRE_FLIPS:-400} seed=${SEED:-1}

set_up
for device in weft0 weft1; do
	echo required >/sys/class/infiniband/$device/weft/crc
	# A lossy wire may need its time.
	echo off >/sys/class/infiniband/$device/weft/user_timeout
done

# netem DISCIPLINE...: on both ends; nothing: none.
netem() {
	local host
	for host in A B; do
		ip netns exec $host tc qdisc del dev eth0 root 2>/dev/null
		(($# == 0)) || ip netns exec $host tc qdisc add dev eth0 root netem limit 10000 "$@" || return
	done
}
# segments_in_packet N: TCP hands so many at most to the wire as one. By default a train of many, which
# netem would lose or double as a whole.
segments_in_packet() {
	ip -n A link set eth0 gso_max_segs "$1" && ip -n B link set eth0 gso_max_segs "$1"
}

# tcp FIELD: what TCP has counted on both hosts together.
tcp() {
	local host sum=0
	for host in A B; do
		sum=$((sum + $(ip netns exec $host nstat -asz "$1" | awk -v f="$1" '$1 == f { print $2 }')))
	done
	echo $sum
}

# crc_refusals: FPDUs that both devices have refused for their CRC.
crc_refusals() {
	local device sum=0
	for device in weft0 weft1; do
		sum=$((sum + $(</sys/class/infiniband/$device/ports/1/hw_counters/rx_crc_errors)))
	done
	echo $sum
}

limit=$((1800 + megabytes * 20))
# over NAME FIELD MEANING DISCIPLINE...: transfers over such a wire, of which TCP must have counted
# something: a wire that did nothing has shown nothing.
over() {
	local name=$1 field=$2 meaning=$3 seen crcs began
	shift 3
	netem "$@" || { not_ok "$name" "tc does not take: netem $*"; return; }
	seen=$(tcp "$field") crcs=$(crc_refusals) began=$EPOCHSECONDS
	program "$name" $limit bulk --megabytes "$megabytes" --seed "$seed"
	echo "# $name: $megabytes MB in $((EPOCHSECONDS - began)) s"
	seen=$(($(tcp "$field") - seen)) crcs=$(($(crc_refusals) - crcs))
	# Damage that TCP's sum does not show is the stream's to find; both are counted.
	[[ $field != TcpInCsumErrors ]] || seen=$((seen + crcs)) meaning+=", and $crcs frames by CRC32C"
	row "$name: $meaning" $seen "the transfers above went on"
	netem
}
check "packets of a segment each" segments_in_packet 1
over "loss" TcpRetransSegs "segments sent again" loss 1%
over "delay with jitter" TcpExtTCPOFOQueue "segments out of order" delay 3ms 2ms
over "reordering" TcpExtTCPOFOQueue "segments out of order" delay 2ms reorder 25% 50%
over "duplicates" TcpExtTCPDSACKOldSent "segments had before" duplicate 5%
over "corruption" TcpInCsumErrors "segments refused for their sum" corrupt 0.5%
over "all of them" TcpInCsumErrors "segments refused for their sum" \
	delay 2ms 1ms loss 0.5% reorder 10% 50% duplicate 1% corrupt 0.5%

# --- MTU and routes change meanwhile ---
check "packets of many segments" segments_in_packet 65535
changes=/run/changes
echo 0 >$changes
change() {
	local n=0 mtu
	while [[ -e $changes ]]; do
		for mtu in 1500 9000 1400 4000 1280 1500; do
			ip -n A link set eth0 mtu $mtu
			ip -n B link set eth0 mtu $mtu
			ip -n B route replace 10.0.0.1 dev eth0 mtu $((mtu - 100)) advmss $((mtu - 140))
			pause 0.3
			ip -n B route del 10.0.0.1 dev eth0
			n=$((n + 1))
			[[ -e $changes ]] && echo $n >$changes
		done
	done
}
netem delay 2ms 1ms loss 0.3%
change &
changer=$!
program "MTU and routes change" $limit bulk --megabytes "$megabytes" --least $((15 * patience)) --seed "$seed"
times=$(<$changes)
rm -f $changes
wait $changer
row "changes of MTU and route meanwhile" "$times" "the connection went on"
netem
for host in A B; do ip -n $host link set eth0 mtu "$mtu"; done
ip -n B addr replace fd00::2/64 dev eth0 nodad
ip -n A addr replace fd00::1/64 dev eth0 nodad

# --- bits flipped where no checksum of TCP's can see it ---
program "" $((600 + flips * 20)) flip --flips "$flips" --seed "$seed"

works "afterwards it works"
gone
finish
