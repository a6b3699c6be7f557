#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=32
# What only SCTP has below a queue pair: the ports that have it beside TCP, and paths of which one dies. The
# labs named -sctp show that all else is as over TCP.

source "${BASH_SOURCE[0]%/*}/lib.sh"

set_up

# --- ports ---
serve() { # PORT [OPTION...]
	begin server ip netns exec A rping -s -P -p "$@"
	await "rping listens" 20 serves "$1"
}
# traffic NETEM...: the cards of both hosts treat packets so. calm: as ever.
traffic() { tc -n A qdisc add dev eth0 root netem "$@" && tc -n B qdisc add dev eth0 root netem "$@"; }
calm() { tc -n A qdisc del dev eth0 root && tc -n B qdisc del dev eth0 root; }
serves() { [[ $(listeners "$someone_in_a") == *sctp:$1:* || $(listeners "$someone_in_a") == *$(printf ':%04X' "$1")* ]]; }
call() { rping_client on_b 30 -a 10.0.0.1 -p "$1" -C 3 -V; }
over_sctp() { [[ $(listeners "$someone_in_a") == *sctp:$1:* ]]; }
over_tcp() { ! over_sctp "$1"; }

modprobe weft_sctp
sctp=/sys/module/weft_sctp/parameters
echo 7180-7189 >$sctp/ports
for port in 7179 7180 7189 7190; do
	serve $port
	check "port $port is one of $([[ $port == 718? ]] && echo SCTP || echo TCP)" over_"$([[ $port == 718? ]] && echo sctp || echo tcp)" $port
	check "port $port is served" call $port
	end server
done
# A host that asks over TCP for what is served over SCTP.
serve 7185
echo none >$sctp/ports
refused "a client over TCP of a server over SCTP" "rdma_connect|REJECTED|error" 20 call 7185
end server

# --- lost handshakes ---
# lose CHUNK: what comes to A that begins with a chunk of this type is lost. lose_one: until one was.
lose() {
	tc -n A filter add dev eth0 ingress protocol ip pref "$1" u32 \
		match ip protocol 132 0xff match u8 "$1" 0xff at 32 action drop
}
lose_one() { wait_for 30 lost "$1" && tc -n A filter del dev eth0 ingress pref "$1"; }
lost() { [[ $(tc -n A -s filter show dev eth0 ingress pref "$1") =~ 'dropped '[1-9] ]]; }
# after_losses CHUNK...: a client comes through although the first packet of each type is lost.
after_losses() {
	local chunk loser losers=() status=0
	for chunk; do lose "$chunk" || return; done
	for chunk; do
		lose_one "$chunk" &
		losers+=($!)
	done
	call 7300 || status=$?
	for loser in "${losers[@]}"; do
		wait "$loser" || { echo "nothing was lost" && status=1; }
	done
	return "$status"
}
each transport sctp
tc -n A qdisc add dev eth0 clsact
serve 7300
# INIT and COOKIE ECHO: the first of them is sent again after 1 s, the second after another.
check "a connection whose first two packets are lost" after_losses 1 10
end server
tc -n A qdisc del dev eth0 clsact

# --- segments that overtake each other ---
# shuffled DISORDER: verified pings over such a wire. /run/placed: bytes and segments placed early at both ends.
shuffled() {
	local bytes fpdus status=0
	bytes=$(($(counter weft0 rx_early_bytes) + $(counter weft1 rx_early_bytes)))
	fpdus=$(($(counter weft0 rx_early_fpdus) + $(counter weft1 rx_early_fpdus)))
	# shellcheck disable=SC2086 # several words
	traffic $1
	serve 7300 -S 60000
	rping_client on_b 60 -a 10.0.0.1 -p 7300 -C 40 -S 60000 -V || status=$?
	end server
	calm
	bytes=$(($(counter weft0 rx_early_bytes) + $(counter weft1 rx_early_bytes) - bytes))
	fpdus=$(($(counter weft0 rx_early_fpdus) + $(counter weft1 rx_early_fpdus) - fpdus))
	echo "$bytes $fpdus" >/run/placed
	return "$status"
}
# How many overtake others depends on how fast the machine is: of 40 pings it was 28 to 320 segments.
placed_some() {
	local bytes fpdus
	read -r bytes fpdus </run/placed
	((fpdus > 10 && bytes > 1000 * fpdus && bytes < 65536 * fpdus))
}
for disorder in "delay 1ms loss 3%" "delay 2ms 1ms" "delay 2ms reorder 25% 50%"; do
	echo on >$sctp/out_of_order
	check "verified pings with $disorder" shuffled "$disorder"
	check "segments were placed before their turn (bytes, segments: $(</run/placed))" placed_some
	echo off >$sctp/out_of_order
	check "verified pings with $disorder, each in its turn" shuffled "$disorder"
	check "nothing was placed before its turn ($(</run/placed))" test "$(</run/placed)" = "0 0"
done
echo on >$sctp/out_of_order
each transport tcp

# --- two paths, one of which dies ---
second_link
each transport sctp
echo on >$sctp/multihoming
serve 7200 -S 4000
rounds=$((6000 / less))
begin pings ip netns exec B stdbuf -oL rping -c -a 10.0.0.1 -p 7200 -C $rounds -S 4000 -V -v
pings() { grep -ac '^ping data: ' /run/pings; }
some_pings() { (($(pings) >= $1)); }
await "the first pings" 30 some_pings 50
check "the association has two addresses at each end" grep -qE '10\.[01]\.0\.2 .*10\.[01]\.0\.2.*<->.*10\.[01]\.0\.1.*10\.[01]\.0\.1' <(on_b cat /proc/net/sctp/assocs)
traffic loss 100%
before=$(pings)
check "it goes on when the first path is dead" wait_for 60 some_pings $((before + 100))
calm
await "all pings" 240 ended "${running[pings]}"
status=0
wait "${running[pings]}" || status=$?
check "every byte came, and no connection ended (status $status, $(pings) of $rounds)" test "$status $(pings)" = "0 $rounds"
end server

# --- the module goes ---
# What used it ends with it, as an unplugged device; a device of TCP alone does not.
ip -n A link add spare type dummy
on_a rdma link add weft2 type weft netdev spare
begin server ip netns exec A rping -s -a 10.0.0.1 -p 7400 -S 1000
await "rping listens" 20 serves 7400
begin client ip netns exec B rping -c -a 10.0.0.1 -p 7400 -S 1000 -v
await "pings" 60 grep -q "ping data" /run/client
# modprobe -r would take weft as well, which nothing else uses.
check "rmmod weft_sctp under traffic" timeout $((60 * patience)) rmmod weft_sctp
check "  the programs end" wait_for 30 both_ended
end server client
check "  the devices that used it are gone" test -z "$(rdma link show | grep -E 'weft[01]/')"
check "  and one that did not is there" rdma link show weft2/1
check "  which the base module serves alone" test -z "$(grep '^weft_sctp ' /proc/modules)"
add_both
works "over TCP afterwards"
each transport sctp
works "over SCTP, whose module is loaded again"
finish
