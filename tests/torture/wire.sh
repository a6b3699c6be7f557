#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Verified transfers, WIRE_MB of each kind, over a wire that loses, delays, reorders, doubles and damages
# packets, while MTU and routes change; and through a proxy that flips WIRE_FLIPS bits behind TCP's back.
# With WEFT_TRANSPORT=sctp over SCTP; with WEFT_PATHS=2 by two links, one of which the proxy damages.

# Called by name; awk has a $ of its own.
# shellcheck disable=SC2317,SC2016
source "${BASH_SOURCE[0]%/*}/lib.sh"
megabytes=${WIRE_MB:-1024} flips=${WIRE_FLIPS:-400} seed=${SEED:-1}

set_up
links=eth0 label=''
if [[ ${WEFT_TRANSPORT:-tcp} == sctp ]]; then
	label="over SCTP"
	# Without it a packet that netem damages has no CRC32c to begin with, since veth needs none.
	for host in A B; do
		check "host $host's SCTP makes checksums" ip netns exec $host ethtool -K eth0 tx-checksum-sctp off
	done
elif ((${WEFT_PATHS:-1} > 1)); then
	links="eth0 eth1" label="$WEFT_PATHS paths"
	second_link
	on_a rdma link add weft2 type weft netdev eth1
fi
for device in weft0 weft1; do
	echo required >/sys/class/infiniband/$device/weft/crc
	# A lossy wire may need its time.
	echo off >/sys/class/infiniband/$device/weft/user_timeout
done

# at_ends COMMAND...: for both ends of each link, with host and link behind it.
at_ends() {
	local host link
	for host in A B; do
		for link in $links; do "$@" "$host" "$link" || return; done
	done
}
# netem DISCIPLINE...: on both ends of each link; nothing: none.
netem() {
	local discipline=("$@")
	at_ends set_netem
}
set_netem() {
	tc -n "$1" qdisc del dev "$2" root 2>/dev/null
	((${#discipline[@]} == 0)) || tc -n "$1" qdisc add dev "$2" root netem limit 10000 "${discipline[@]}"
}
# set_link OPTION VALUE HOST LINK
set_link() { ip -n "$3" link set "$4" "$1" "$2"; }
# segments_in_packet N: TCP hands so many at most to the wire as one. By default a train of many, which
# netem would lose or double as a whole.
segments_in_packet() { at_ends set_link gso_max_segs "$1"; }

# counted FIELD: what both hosts together have counted: TCP, SCTP (Sctp...) or the devices (rx_...).
counted() {
	local host device sum=0
	case $1 in
	rx_* | path_*) for device in weft0 weft1; do sum=$((sum + $(</sys/class/infiniband/$device/ports/1/hw_counters/"$1"))); done ;;
	Sctp*) for host in A B; do
		sum=$((sum + $(ip netns exec $host awk -v f="$1" '$1 ~ f { sum += $2 } END { print sum + 0 }' /proc/net/sctp/snmp)))
	done ;;
	*) for host in A B; do
		sum=$((sum + $(ip netns exec $host nstat -asz "$1" | awk -v f="$1" '$1 == f { print $2 }')))
	done ;;
	esac
	echo $sum
}

limit=$((1800 + megabytes * 20))
# over NAME TCP-FIELD SCTP-FIELD MEANING DISCIPLINE...: transfers over such a wire, of which the transport
# must have counted something: a wire that did nothing has shown nothing.
over() {
	local name=${label:+$label, }$1 field=$2 meaning=$4 seen crcs began
	[[ -z ${WEFT_TRANSPORT-} ]] || field=$3
	shift 4
	netem "$@" || { not_ok "$name" "tc does not take: netem $*"; return; }
	seen=$(counted "$field") crcs=$(counted rx_crc_errors) began=$EPOCHSECONDS
	program "$name" $limit bulk --megabytes "$megabytes" --seed "$seed"
	echo "# $name: $megabytes MB in $((EPOCHSECONDS - began)) s"
	seen=$(($(counted "$field") - seen)) crcs=$(($(counted rx_crc_errors) - crcs))
	# Damage that TCP's sum does not show is the stream's to find; both are counted.
	[[ $field != TcpInCsumErrors ]] || seen=$((seen + crcs)) meaning+=", and $crcs frames by CRC32C"
	row "$name: $meaning" $seen "the transfers above went on"
	netem
}
check "packets of a segment each" segments_in_packet 1
resent="Sctp(T3|Fast|Pmtud)Retransmits" early=rx_early_fpdus
over "loss" TcpRetransSegs "$resent" "segments sent again" loss 1%
over "delay with jitter" TcpExtTCPOFOQueue $early "segments out of order" delay 3ms 2ms
over "reordering" TcpExtTCPOFOQueue $early "segments out of order" delay 2ms reorder 25% 50%
over "duplicates" TcpExtTCPDSACKOldSent SctpInDataChunkDiscards "segments had before" duplicate 5%
over "corruption" TcpInCsumErrors SctpChecksumErrors "segments refused for their sum" corrupt 0.5%
over "all of them" TcpInCsumErrors SctpChecksumErrors "segments refused for their sum" \
	delay 2ms 1ms loss 0.5% reorder 10% 50% duplicate 1% corrupt 0.5%
[[ -z ${WEFT_PATHS-} ]] || row "$label: paths that joined, besides the first of each connection" \
	"$(counted path_joins)" "in all the transfers above"

# --- MTU and routes change meanwhile ---
check "packets of many segments" segments_in_packet 65535
changes=/run/changes
set_mtu() { at_ends set_link mtu "$1"; }
echo 0 >$changes
change() {
	local n=0 mtu
	while [[ -e $changes ]]; do
		for mtu in 1500 9000 1400 4000 1280 1500; do
			set_mtu $mtu
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
program "${label:+$label, }MTU and routes change" $limit bulk --megabytes "$megabytes" --least $((15 * patience)) --seed "$seed"
times=$(<$changes)
rm -f $changes
wait $changer
row "${label:+$label, }changes of MTU and route meanwhile" "$times" "the connection went on"
netem
set_mtu "$mtu"
ip -n B addr replace fd00::2/64 dev eth0 nodad
ip -n A addr replace fd00::1/64 dev eth0 nodad

# --- bits flipped where no checksum of TCP's can see it ---
if [[ -n ${WEFT_PATHS-} ]]; then
	program "$label" $((600 + flips * 40)) flip --paths --flips "$flips" --seed "$seed"
elif [[ -z ${WEFT_TRANSPORT-} ]]; then
	program "" $((600 + flips * 20)) flip --flips "$flips" --seed "$seed"
fi

works "${label:+$label, }afterwards it works"
gone
finish
