#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=20 unpack=prometheus-node-exporter
# What an operator sees of a running system: every command of docs/observing.md, as it
# stands there, while traffic flows; and that what it prints is true.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up

doc=$LAB_PROJECT/docs/observing.md

# start_traffic: a ping-pong between the hosts; the programs that observe it go before it.
start_traffic() { ping_pong -S 4000 && renice -n 19 -g "${running[server]}" "${running[client]}" >/dev/null; }

in_one_line() { "$@" | tr -s '\n\t ' ' '; }

start_traffic || not_ok "traffic" "rping does not connect"

# --- the commands of the document, in its order: lines indented by four ---
number=0
while IFS= read -r command; do
	number=$((number + 1))
	said=$(timeout $((60 * patience)) bash -c "$command" 2>&1) && status=0 || status=$?
	((status == 0))
	judge $? "observing.md: $command" "status $status" "$said"
done < <(sed -n 's/^    //p' "$doc")
((number >= 10))
judge $? "observing.md has $number commands" "there are ten or more"

# --- the limits of the man page are the device's ---
page=$LAB_PROJECT/docs/weft.7
devinfo=$(ibv_devinfo -v -d weft0 | tr -s ' \t' ' ')
limits=$(sed -n 's/^\.It Va \(max_[a-z_]*\) Ta \([0-9a-fx]*\)$/\1: \2/p' "$page")
number=$(wc -l <<<"$limits")
while IFS= read -r limit; do
	says "weft(7): $limit" "^ *$limit\$" echo "$devinfo"
done <<<"$limits"
((number >= 10)) || not_ok "weft(7) has limits" "only $number were found"
check "weft(7) names every counter" bash -c "for c in /sys/class/infiniband/weft0/ports/1/hw_counters/*_*; do
	grep -qw \${c##*/} '$page' || { echo \${c##*/}; exit 1; }; done"

# --- objects ---
qp=$(in_one_line rdma -dd res show qp link weft0/1)
for fact in "drv_conn streaming" "drv_role responder" "drv_local 10.0.0.1:7174" "drv_remote 10.0.0.2:[0-9]+" \
	"drv_transport tcp" "drv_mpa_revision 2" "drv_crc 1" "drv_extended 1" "drv_tx_markers 0" "drv_rx_markers 0" \
	"drv_ird [0-9]+" "drv_ord [0-9]+" "drv_tx_segment 14[0-9][0-9]" "drv_tx_longest 4294967295" "drv_rx_stalled [01]"; do
	says "queue pair: $fact" "$fact( |$)" echo "$qp"
done
says "queue pair: the other role" "drv_role initiator" in_one_line rdma -dd res show qp link weft1/1
says "completion queue: size, produced, consumed" "drv_size [1-9][0-9]* drv_produced [1-9][0-9]* drv_consumed [1-9][0-9]* drv_lost 0" \
	in_one_line rdma -dd res show cq dev weft0
says "memory region: where, length, pages" "drv_iova 0x[0-9a-f]+ drv_length [1-9][0-9]* drv_access [0-9]+ drv_pages [1-9]" \
	in_one_line rdma -dd res show mr dev weft0
# Of another user's memory neither keys nor addresses are anybody's business.
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
regions=$(in_one_line as_nobody rdma -dd res show mr dev weft0)
check "memory region: another user is shown its length, and not where it lies" \
	test -z "${regions##*drv_length*}" -a -n "${regions##*drv_iova*}"
says "cm_id: the connection's" "drv_conn streaming drv_role responder drv_transport tcp drv_local 10.0.0.1:7174" in_one_line rdma -dd res show cm_id dev weft0
says "cm_id: the listener's" "drv_half_open [0-9]" in_one_line rdma -dd res show cm_id dev weft0

# --- weft(8), on both sides of a network namespace, while traffic flows ---
weft=$LAB_PROJECT/tools/weft
says "weft status: the device" "^weft0 on .*: active, .* Gb/sec.* module [0-9.]+" "$weft" status weft0
says "weft status: its connection" "^  [0-9]+ +rping/[0-9]+ +streaming +10\.0\.0\.2:[0-9]+ +Weft +on +large +tcp" "$weft" status weft0
says "weft status: its listener" "^  listens on .*:7174" "$weft" status weft0
says "weft status: the card, where it is" "^weft1 on eth0: active, .*, MTU $mtu" on_b "$weft" status weft1
# /sys has the counters in the first namespace alone.
check "there are no counters in this namespace's /sys" on_b test ! -e /sys/class/infiniband/weft1/ports/1/hw_counters
says "weft status: what was sent and received, in that namespace" "^  sent [1-9][0-9]* bytes, received [1-9][0-9]*, since" on_b "$weft" status weft1
says "weft status --json: TCP's numbers" '"path_mtu": 1500' on_a "$weft" status weft0 --json
says "weft show: a value" "^preferred$" "$weft" show weft0 crc
says "weft set: a value" "^weft0: crc is 'off' for new connections" "$weft" set weft0 crc off
says "weft set: the file has it" "^off$" cat /sys/class/infiniband/weft0/weft/crc
says "weft status: what is not at its default" "^  crc is 'off' \(default 'preferred'\)" "$weft" status weft0
says "weft set: the default" "crc is 'preferred'" "$weft" set weft0 crc default
refused "weft set: no such value" "crc can't be 'sometimes'; it takes off, preferred or required" 30 "$weft" set weft0 crc sometimes
refused "weft set: no such setting" "no setting 'speed'; there are: crc," 30 "$weft" set weft0 speed high
refused "weft set: no such device" "no Weft device 'weft9'; there are: weft0, weft1" 30 "$weft" set weft9 crc on
refused "weft set: not root" "only root may change it" 30 setpriv --reuid=65534 --clear-groups "$weft" set weft0 crc off
says "weft set: in a network namespace" "^weft1: crc is 'preferred'" on_b "$weft" set weft1 crc preferred
says "weft doctor: no fault" " 0 faults$" on_a "$weft" doctor
says "weft doctor --json: the module" '"what": "version [0-9.]+ is loaded"' "$weft" doctor --json
check "what weft(8) reads is recorded, for tests/tool" on_a "$LAB_PROJECT/tests/tool/recorded.py" "$LAB_OUT/machine.json"

end server client
# counters_of JSON: those that `weft status` told, as `NAME VALUE`.
counters_of() {
	python3 -c 'import json, sys
for row in json.load(open(sys.argv[1]))["devices"][0]["counters"].items(): print(*row)' "$1"
}
counters_in_sys() { (cd /sys/class/infiniband/weft1/ports/1/hw_counters && grep . -- *_* | tr : ' '); }
same_counters() {
	on_b "$weft" status weft1 --json >/run/status.json && diff <(counters_of /run/status.json | sort) <(counters_in_sys | sort)
}
# The connection that was killed may still be counted.
check "weft status --json: every counter, with the value that the first namespace's /sys has" wait_for 10 same_counters

# A process has the name that its user gives it: a name with a terminal's commands hides nothing, and commands nothing.
named=$'/run/a\e[31m\xc2\x9b1m"'
ln -s "$(command -v rping)" "$named"
begin server ip netns exec A "$named" -s -a 10.0.0.1 -S 4000
await "a server with an odd name listens" 20 listening
begin client ip netns exec B "$named" -c -a 10.0.0.1 -S 4000
await "a client with an odd name is connected" 20 connected
says "weft status: a process whose name has control characters" "^  [0-9]+ +a\?\[31m\?1m\"/[0-9]+ +streaming" "$weft" status weft0
LC_ALL=C.UTF-8 "$weft" status >/run/status
LC_ALL=C.UTF-8 "$weft" status --json >>/run/status
check "weft status: no control character reaches the terminal" bash -c "! LC_ALL=C.UTF-8 grep -nP '[^\PC]' /run/status"
end server client

spread 2 weft0 weft1
start_traffic
paths_joined() { in_one_line rdma -dd res show qp link weft1/1 | grep -q drv_path1_joins; }
await "both paths are there" 20 paths_joined
for number in 0 1; do
	says "queue pair: its path $number" "drv_path$number 10.0.0.1:[0-9]+ drv_path${number}_tx_bytes [1-9][0-9]* drv_path${number}_rx_bytes [1-9][0-9]* drv_path${number}_replayed 0 drv_path${number}_joins 1 drv_path${number}_leaves 0" \
		in_one_line rdma -dd res show qp link weft1/1
done
end server client
spread 1 weft0 weft1

# --- tracepoints: a whole connection, from the first frame to the last ---
echo >$trace/trace
echo 1 >$trace/events/weft/enable
works "with every tracepoint on"
# steps REGEX: the connections for which a step like REGEX is traced, and their queue pairs.
steps() { sed -nE "s/.* weft_conn_state: (conn=.* qp=[1-9][0-9]*) [a-z]+ $1 on .*/\1/p" $trace/trace | sort -u; }
began=$(steps '[a-z]+ -> streaming')
both_closed() { [[ -z $(comm -23 <(echo "$began") <(steps '[a-z]+ -> closed')) ]]; }
await "both connections are traced to the end" 20 both_closed
echo 0 >$trace/events/weft/enable
cp $trace/trace /run/trace
for regex in "weft_conn_state: .*initiator connecting -> requested on changed" \
	"weft_conn_state: .*responder pending -> streaming on accept" "weft_conn_state: .*-> closed on" \
	"weft_mpa_frame: .* sent request revision=2 crc=1 .*p2p=1" "weft_mpa_frame: .* received reply revision=2" \
	"weft_tx_fpdu: qp=[0-9]+ send(-se)? queue=0x0 msn=[0-9]+ offset=0x0 len=[0-9]+ last" "weft_rx_fpdu: qp=[0-9]+ read-request queue=0x1 msn=1 " \
	"weft_tx_fpdu: qp=[0-9]+ write stag=0x[0-9a-f]+ msn=0 offset=0x[0-9a-f]+ len=[1-9][0-9]{3}" \
	"weft_rx_fpdu: qp=[0-9]+ read-response stag=" "weft_completion: cq=[0-9]+ qp=[0-9]+ wr_id=0x[0-9a-f]+ opcode=64 status=0 len=16"; do
	says "trace: ${regex//\\/}" "$regex" cat /run/trace
done
# The steps that end a connection are traced when its queue pair has been let go of.
check "trace: both queue pairs that streamed (${began//$'\n'/, }) are named to the end" \
	test "$(wc -l <<<"$began")" = 2 -a -z "$(comm -23 <(echo "$began") <(steps 'streaming -> [a-z]+'))" \
	-a -z "$(comm -23 <(echo "$began") <(steps '[a-z]+ -> closed'))"
sent=$(grep -c weft_tx_fpdu: /run/trace) got=$(grep -c weft_rx_fpdu: /run/trace)
check "trace: every FPDU that was sent has come ($sent)" test "$sent" -gt 20 -a "$sent" = "$got"
echo >$trace/trace
works "with every tracepoint off"
check "with every tracepoint off nothing is traced" test "$(grep -c weft_ $trace/trace)" = 0

# --- and counters count what they say ---
before=$(counter weft1 conn_refused_by_peer)
on_b rping -c -a 10.0.0.1 -C 1 >/dev/null 2>&1
check "conn_refused_by_peer counts a port that nobody listens on" test "$(counter weft1 conn_refused_by_peer)" = $((before + 1))
before=$(counter weft0 conn_refused_by_us)
set_a rtr read
set_b rtr send
! session "rping -s -a 10.0.0.1 -C 1" "rping -c -a 10.0.0.1 -C 1" 20 || not_ok "no ready-to-receive frame in common" "rping connects"
check "conn_refused_by_us counts a Request that will not do" test "$(counter weft0 conn_refused_by_us)" = $((before + 1))
each rtr 7

reads=$(counter weft1 rx_read_requests)
writes=$(counter weft1 rx_write_requests)
flushed=$(counter weft0 resp_cqe_flush_error)
works "for the counters of requests"
check "rx_read_requests counts rping's reads" test "$(counter weft1 rx_read_requests)" = $((reads + 5))
check "rx_write_requests counts rping's writes" test "$(counter weft1 rx_write_requests)" = $((writes + 5))
check "resp_cqe_flush_error counts receives that nothing came for" test "$(counter weft0 resp_cqe_flush_error)" -gt "$flushed"
before=$(counter weft0 rx_atomic_requests)
hold_refusals
session "ib_atomic_lat -R -d weft0 -n 10" "ib_atomic_lat -R -d weft1 -n 10 10.0.0.1" 60 || explain "$said"
tc -n A qdisc delete dev eth0 clsact
check "rx_atomic_requests counts atomics" test "$(counter weft0 rx_atomic_requests)" -ge $((before + 10))

# --- counters of queue pairs: each counts while it is bound, and the port's stay what they are ---
# of_pairs NAME: what the one counter of weft0's queue pairs shows under that name.
of_pairs() { rdma statistic qp show link weft0/1 | grep -oE "\b$1 [0-9]+" | cut -d' ' -f2; }
pairs() { rdma res show qp link weft0/1 | grep -oE 'lqpn [0-9]+' | cut -d' ' -f2; }
# The same bytes, counted another way, to which no counter of a queue pair is added. While nothing flows.
port_is_whole() { test $(($(counter weft0 tx_bytes) / 4)) = "$(</sys/class/infiniband/weft0/ports/1/counters/port_xmit_data)"; }
more_of_pairs() { (($(of_pairs rx_bytes) > earlier)); }

start_traffic
qpn=$(pairs)
says "a queue pair is bound to a counter" "" rdma statistic qp bind link weft0/1 lqpn "$qpn"
says "its counter has its numbers" "^link weft0/1 cntn [1-9][0-9]* tx_fpdus [0-9]+ tx_bytes [0-9]+ rx_fpdus [0-9]+ rx_bytes [0-9]+ LQPN: <$qpn>" \
	in_one_line rdma statistic qp show link weft0/1
earlier=$(of_pairs rx_bytes)
await "they grow" 20 more_of_pairs
check "a queue pair is bound to one counter" bash -c "! rdma statistic qp bind link weft0/1 lqpn $qpn"
check "with one bound there is no mode for all" bash -c "! rdma statistic qp set link weft0/1 auto type on"
cntn=$(of_pairs cntn)
says "a queue pair is unbound" "" rdma statistic qp unbind link weft0/1 cntn "$cntn" lqpn "$qpn"
check "its counter is gone" test -z "$(rdma statistic qp show link weft0/1)"
check "it is unbound once" bash -c "! rdma statistic qp unbind link weft0/1 cntn $cntn lqpn $qpn"
says "a queue pair is bound again" "" rdma statistic qp bind link weft0/1 lqpn "$qpn"
sleep 1
end server client
check "a counter goes with its queue pair" test -z "$(rdma statistic qp show link weft0/1)"
check "what bound queue pairs sent is the port's, once" port_is_whole

says "every queue pair gets a counter" "" rdma statistic qp set link weft0/1 auto type on
says "and the mode says so" "^link weft0/1 mode qp auto type on" rdma statistic qp mode link weft0/1
before=$(counter weft0 tx_bytes)
start_traffic
earlier=0
await "they count from the start" 20 more_of_pairs
kill -STOP -- "-${running[server]}" "-${running[client]}"
sleep 2
check "what is counted so is all that is sent ($(of_pairs tx_bytes) bytes)" \
	test "$(counter weft0 tx_bytes)" = $((before + $(of_pairs tx_bytes)))
check "and the port has it once" port_is_whole
end server client
check "also when the counter is gone" port_is_whole
says "a counter for each process" "" rdma statistic qp set link weft0/1 auto pid on
says "and the mode says so" "^link weft0/1 mode qp auto pid on" rdma statistic qp mode link weft0/1
says "no queue pair gets a counter" "" rdma statistic qp set link weft0/1 auto off

# Bound, unbound, shown and destroyed at the same time.
: >/run/binding
while [[ -e /run/binding ]]; do
	for qpn in $(pairs); do
		rdma statistic qp bind link weft0/1 lqpn "$qpn" && echo "$qpn" >>/run/bound
		cntn=$(of_pairs cntn | tail -n 1)
		rdma statistic qp unbind link weft0/1 cntn "${cntn:-1}" lqpn "$qpn"
	done
done 2>/dev/null &
binder=$!
while [[ -e /run/binding ]]; do
	rdma statistic qp show
	rdma statistic show link weft0/1
	sleep 0.2
done >/dev/null &
shower=$!
for number in 1 2 3; do
	: >/run/bound
	start_traffic
	await "connection $number is bound" 60 test -s /run/bound
	end server client
done
rm /run/binding
wait $binder $shower
check "queue pairs are bound and unbound while they come and go" test -s /run/bound
check "and the port has all of them once" port_is_whole

# --- Prometheus' exporter sees the same, and nobody takes the device for InfiniBand ---
ip link set lo up
cases "" 120 "$LAB_PROJECT/tests/integration/exporter.py" weft0 weft1
check "ib_umad loads" modprobe ib_umad
no_umad() { ! compgen -G '/sys/class/infiniband_mad/[ui][ms]*' && ! compgen -G '/dev/infiniband/*mad*'; }
check "ib_umad lets the devices be" no_umad

# --- events: one for each change of the port's state, and none for other changes of the card ---
begin events stdbuf -oL ibv_asyncwatch -d weft0
downs=$(counter weft0 port_downs)
await "ibv_asyncwatch watches" 20 grep -q "async event FD" /run/events
for change in "promisc on" "allmulticast on" "promisc off" down up "allmulticast off"; do
	# shellcheck disable=SC2086 # two words
	on_a ip link set eth0 $change
done
seen() { sed -nE 's/.*event_type (.*) \([0-9]+\).*/\1/p' /run/events | paste -sd,; }
saw_active() { [[ $(seen) == *ACTIVE* ]]; }
await "the port is told to be active again" 20 saw_active
sleep 0.5
check "six changes of the card, two events of the port ($(seen))" test "$(seen)" = IBV_EVENT_PORT_ERR,IBV_EVENT_PORT_ACTIVE
check "port_downs counts one of them" test "$(counter weft0 port_downs)" = $((downs + 1))
end events
finish
