#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=40 allow=perftest
# Several paths under one queue pair: two links, of which each may go and come back amid verified transfers,
# and how fast two are beside one. The labs named -paths show that all else is as with one.

source "${BASH_SOURCE[0]%/*}/lib.sh"

# sockets: how many TCP connections host B has.
sockets() { on_b cat /proc/net/tcp | grep -c " 01 "; }
has_sockets() { (($(sockets) == $1)); }
has_left() { (($(counter weft1 path_leaves) > $1)); }
joined() { (($(counter weft1 path_joins) >= $1)); }

set_up
second_link

# --- agreement ---
serve() { # PORT
	begin server ip netns exec A rping -s -P -S 4000 -p "$1"
	await "the server" 20 listens A "$1"
}
call() { # PORT: begins pings without an end, each of which is verified
	begin pings ip netns exec B stdbuf -oL rping -c -a 10.0.0.1 -p "$1" -C 100000000 -S 4000 -V -v
}
pings() { grep -ac '^ping data: ' /run/pings; }
some_pings() { (($(pings) >= $1)); }
# called NAME: the pings have not ended, as they would with the first wrong byte.
called() {
	check "$1: no byte is wrong, no connection has ended" kill -0 "${running[pings]}"
	end pings server
}
goes_on() { wait_for 60 some_pings $(($(pings) + 50)); }

for side in weft0 weft1; do
	spread 2 $side
	serve 7200
	call 7200
	await "pings" 20 some_pings 20
	check "with paths at one end only, there is one connection" wait_for 20 has_sockets 1
	called "with paths at one end only"
	spread 1 $side
done
check "no path has joined so far" test "$(counter weft0 path_joins) $(counter weft1 path_joins)" = "0 0"

spread 2 weft0 weft1
serve 7208
call 7208
check "of a card without a Weft device no address is told: both paths are on the other card" wait_for 20 has_sockets 2
check "nothing leads there" not grep -qE "0100010A:[0-9A-F]+ 01 " <(on_b cat /proc/net/tcp)
called "with one card that carries a Weft device"
on_a rdma link add weft2 type weft netdev eth1

serve 7201
call 7201
check "with paths at both ends there are two connections" wait_for 20 has_sockets 2
check "one on each link" test "$(on_b cat /proc/net/tcp | grep -oE '01000[01]0A:[0-9A-F]+ 01 ' | cut -c1-8 | sort -u | wc -l)" = 2

# --- a link goes down, and comes back ---
for link in eth1 eth0; do
	await "pings before $link goes" 20 goes_on
	left=$(counter weft1 path_leaves)
	joins=$(counter weft1 path_joins)
	ip -n A link set $link down
	check "it goes on without $link" goes_on
	check "that path is given up" wait_for 90 has_left "$left"
	ip -n A link set $link up
	check "when $link is back, a path joins" wait_for 60 joined $((joins + 1))
	check "it goes on with both again" goes_on
done

# --- a connection is killed ---
for peer in "B 10.1.0.1" "B 10.0.0.1" "A 10.1.0.2" "A 10.0.0.2"; do
	joins=$(counter weft1 path_joins)
	ip netns exec "${peer% *}" ss -K state established dst "${peer#* }" >/run/killed
	check "host ${peer% *} kills what leads to ${peer#* }" grep -q "${peer#* }" /run/killed
	check "it goes on" goes_on
	check "a path joins instead" wait_for 60 joined $((joins + 1))
	check "there are two again" wait_for 20 has_sockets 2
done
called "links went and came, and connections were killed"

# --- speed: what each link lets through is limited, so that the processor has time left ---
# shape LINK RATE [LOSS]: limits a link, both ways.
shape() {
	local side
	for side in A B; do
		tc -n $side qdisc replace dev "$1" root handle 1: tbf rate "$2" burst 32kb latency 20ms || return
		[[ -z ${3-} ]] || tc -n $side qdisc replace dev "$1" parent 1:1 netem loss "$3" limit 200 || return
	done
}
# writes_over PATHS: leaves in $speed how many bytes a second are written to A over so many paths. Returns
# $again if perftest died for it was not yet served, as it does on any device.
writes_over() {
	local before begin now status=0
	spread "$1" weft0 weft1
	begin bw.server ip netns exec A ib_write_bw -R -d weft0 -s 65536 -D 60
	await "ib_write_bw's server" 20 listens A 18515
	pause 1
	begin bw.client ip netns exec B ib_write_bw -R -d weft1 -s 65536 -D 60 10.0.0.1
	pause 6
	# The better of two, since the machine may have other work.
	speed=0
	for _ in 1 2; do
		before=$(counter weft0 rx_bytes) begin=${EPOCHREALTIME/./}
		pause 6
		now=$((($(counter weft0 rx_bytes) - before) * 1000000 / (${EPOCHREALTIME/./} - begin)))
		((now <= speed)) || speed=$now
	done
	kill "${running[bw.client]}" "${running[bw.server]}" 2>/dev/null
	wait "${running[bw.client]}" 2>/dev/null || status=$?
	await "perftest's server ends" 20 not listens A 18515
	((status != 139)) || return "$again"
	echo "# $1 paths: $speed bytes/s"
}
speed() { retry perftest 3 writes_over "$1"; }
# compared NAME ONE TWO PERCENT: two paths are so much as fast as one, at least.
compared() {
	check "$1: $3 bytes/s with two paths, $2 with one" test "$2" -gt 0 -a $(($3 * 100)) -ge $(($2 * $4))
}
rate=8
shape eth0 "${rate}mbit" && shape eth1 "${rate}mbit"
speed 1
one=$speed
speed 2
compared "two equal links" "$one" "$speed" 190
shape eth0 "$((rate / 2))mbit" && shape eth1 "$((rate * 3 / 2))mbit"
early=$(counter weft0 rx_early_bytes)
speed 2
compared "links of 1 and 3" "$one" "$speed" 180
check "what overtook was placed when it came" test "$(counter weft0 rx_early_bytes)" -gt "$early"
shape eth0 "$((rate / 2))mbit" 1% && shape eth1 "$((rate * 3 / 2))mbit" 1%
speed 1
slow=$speed
speed 2
compared "the same with a loss of 1 %" "$slow" "$speed" 250
finish
