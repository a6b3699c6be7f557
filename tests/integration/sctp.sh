#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=32
#
# What only SCTP has below a queue pair: the ports that have it beside TCP, and paths of which one
# dies. The scripts of the labs named -sctp show that all else is as over TCP; a kernel without
# SCTP is lifecycle.sh's.

# shellcheck disable=SC2317 # functions are called by name, from wait_for and check
source "${BASH_SOURCE[0]%/*}/lib.sh"

each() { # SETTING VALUE: of both devices
	echo "$2" >/sys/class/infiniband/weft0/weft/"$1" && echo "$2" >/sys/class/infiniband/weft1/weft/"$1"
}

set_up

# --- ports ---
# over HOST TABLE PORT: has the host a socket of that protocol at this port?
over() { on_"$1" cat "/proc/net/$2" | grep -qE "$3"; }
serve() { # PORT
	ip netns exec A rping -s -P -p "$1" >/run/served 2>&1 &
	served=$!
	await "rping listens" 20 serves "$1"
}
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
	kill $served
	wait $served 2>/dev/null
done
# A host that asks over TCP for what is served over SCTP.
serve 7185
echo none >$sctp/ports
refused "a client over TCP of a server over SCTP" "rdma_connect|REJECTED|error" 20 call 7185
kill $served
wait $served 2>/dev/null

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
	for chunk; do
		lose "$chunk" || return
	done
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
kill $served
wait $served 2>/dev/null
tc -n A qdisc del dev eth0 clsact

# --- segments that overtake each other ---
# shuffled DISORDER: verified pings over a wire with it. /run/placed says how many bytes, and how many
# segments, were placed early at both ends.
shuffled() {
	local bytes fpdus status=0
	bytes=$(($(counter weft0 rx_early_bytes) + $(counter weft1 rx_early_bytes)))
	fpdus=$(($(counter weft0 rx_early_fpdus) + $(counter weft1 rx_early_fpdus)))
	for host in A B; do
		# shellcheck disable=SC2086
		tc -n $host qdisc add dev eth0 root netem $1
	done
	ip netns exec A rping -s -P -S 60000 -p 7300 >/run/served 2>&1 &
	served=$!
	await "rping listens" 20 serves 7300
	rping_client on_b 60 -a 10.0.0.1 -p 7300 -C 40 -S 60000 -V || status=$?
	kill "$served"
	wait "$served" 2>/dev/null
	for host in A B; do tc -n "$host" qdisc del dev eth0 root; done
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
ip netns exec A rping -s -P -S 4000 -p 7200 >/run/served 2>&1 &
served=$!
await "rping listens" 20 serves 7200
rounds=$((6000 / less))
: >/run/pings
ip netns exec B stdbuf -oL rping -c -a 10.0.0.1 -p 7200 -C $rounds -S 4000 -V -v >/run/pings 2>&1 &
client=$!
pings() { grep -ac '^ping data: ' /run/pings; }
some_pings() { (($(pings) >= $1)); }
await "the first pings" 30 some_pings 50
check "the association has two addresses at each end" grep -qE '10\.[01]\.0\.2 .*10\.[01]\.0\.2.*<->.*10\.[01]\.0\.1.*10\.[01]\.0\.1' <(on_b cat /proc/net/sctp/assocs)
tc -n A qdisc add dev eth0 root netem loss 100%
tc -n B qdisc add dev eth0 root netem loss 100%
before=$(pings)
check "it goes on when the first path is dead" wait_for 60 some_pings $((before + 100))
tc -n A qdisc del dev eth0 root
tc -n B qdisc del dev eth0 root
await "all pings" 240 ended $client
status=0
wait $client || status=$?
check "every byte came, and no connection ended (status $status, $(pings) of $rounds)" test "$status $(pings)" = "0 $rounds"
kill $served
wait $served 2>/dev/null

# --- the module goes ---
# What used it ends with it, as an unplugged device; a device of TCP alone does not.
ip -n A link add spare type dummy
on_a rdma link add weft2 type weft netdev spare
setsid ip netns exec A rping -s -a 10.0.0.1 -p 7400 -S 1000 >/run/server 2>&1 </dev/null &
server=$!
await "rping listens" 20 serves 7400
: >/run/client
setsid ip netns exec B rping -c -a 10.0.0.1 -p 7400 -S 1000 -v >/run/client 2>&1 </dev/null &
client=$!
await "pings" 60 grep -q "ping data" /run/client
# modprobe -r would take weft as well, which nothing else uses.
check "rmmod weft_sctp under traffic" timeout $((60 * patience)) rmmod weft_sctp
check "  the programs end" wait_for 30 both_ended
kill -KILL -- "-$server" "-$client" 2>/dev/null
wait "$server" "$client" 2>/dev/null
check "  the devices that used it are gone" test -z "$(rdma link show | grep -E 'weft[01]/')"
check "  and one that did not is there" rdma link show weft2/1
check "  which the base module serves alone" test -z "$(grep '^weft_sctp ' /proc/modules)"
on_a rdma link add weft0 type weft netdev eth0
on_b rdma link add weft1 type weft netdev eth0
works "over TCP afterwards"
each transport sctp
works "over SCTP, whose module is loaded again"

finish
