#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1200 where=uml order=9 debug allow=perftest
# Removal of everything that can be removed, idle and under traffic, and processes that vanish: programs must
# end, nothing may leak, and all must work again afterwards.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up
hold_refusals

sent() { ip netns exec B cat /sys/class/net/eth0/statistics/tx_packets; }
flowing() { (($(sent) > start_count + 200)); }

# start_traffic: writes from B to A for a long time, by server and client.
start_traffic() {
	retry "perftest" 3 traffic_once && return
	not_ok "traffic" "ib_write_bw sends nothing" "$(</run/server)$(</run/client)"
	return 1
}
# traffic_once: a session of traffic; status $again if perftest failed through no fault of ours.
traffic_once() {
	local command="ib_write_bw -R -F -s 65536 -D 100" status=0
	: >/run/client
	wait_for 10 quiet_a || echo "# host A still listens"
	# shellcheck disable=SC2086 # several words
	begin server ip netns exec A $command -d weft0
	wait_for 20 listening || { end server; return 1; }
	start_count=$(sent)
	# shellcheck disable=SC2086
	begin client ip netns exec B $command -d weft1 10.0.0.1
	wait_for 20 flows_or_ended && flowing && return
	alive client || wait "${running[client]}" || status=$?
	stop_traffic
	! between_listeners "$status" "$(</run/client)" || return "$again"
	return 1
}
flows_or_ended() { flowing || ! alive client; }
shown() { ps -o pid,stat,wchan,args -p "${running[server]},${running[client]}" | tail -n +2 | tr '\n' ';'; }

stop_traffic() {
	kill -KILL -- "-${running[server]}" "-${running[client]}" 2>/dev/null
	wait_for 20 both_ended || not_ok "SIGKILL" "a program does not die: $(shown)"
	end server client
}

# programs_end NAME: the programs notice by themselves that their device or peer is gone.
programs_end() {
	wait_for 30 both_ended
	judge $? "$1: the programs end" "after 30 s: $(shown)" "$(</run/server)$(</run/client)"
	stop_traffic
}

# rebuild: new hosts, with devices, from nothing.
rebuild() {
	leave 2>/dev/null
	ip netns del A 2>/dev/null
	ip netns del B 2>/dev/null
	set_up
	hold_refusals
}

works "to begin with"

check "modprobe -r with everything idle" removed 30
check "modprobe -r with everything idle: no device is left" test -z "$(rdma link show)"
check "modprobe -r with everything idle: the module loads again" modprobe weft
check "modprobe -r with everything idle: devices can be added" add_both
works "after modprobe -r with everything idle"

if start_traffic; then
	check "modprobe -r under traffic" removed
	programs_end "modprobe -r under traffic"
	{ modprobe weft && add_both; } || not_ok "modprobe again" "it failed"
	works "after modprobe -r under traffic"
fi

for device in weft0 weft1; do
	if start_traffic; then
		check "rdma link del $device under traffic" timeout $((60 * patience)) rdma link del $device
		programs_end "rdma link del $device under traffic"
		if [[ $device == weft0 ]]; then add_a; else add_b; fi
		works "after rdma link del $device under traffic"
	fi
done

if start_traffic; then
	ip -n B link set eth0 down
	pause 2
	ip -n B link set eth0 up
	# Its addresses of IPv6 went with the link.
	ip -n B addr replace fd00::2/64 dev eth0 nodad
	start_count=$(sent)
	# TCP sends again after a second or more, twice as late each time.
	wait_for 30 flowing && alive client && alive server
	judge $? "netdev down and up under traffic: it goes on" "nothing is sent after 30 s" "$(</run/server)$(</run/client)"
	stop_traffic
	works "after netdev down and up under traffic"
fi

if start_traffic; then
	set_mtu 1300
	start_count=$(sent)
	wait_for 20 flowing
	judge $? "a smaller MTU under traffic: it goes on" "nothing is sent after 20 s"
	stop_traffic
	set_mtu "$mtu"
	works "after a smaller MTU under traffic"
fi

if start_traffic; then
	check "deletion of the netdev under traffic" timeout $((60 * patience)) ip -n B link del eth0
	programs_end "deletion of the netdev"
	check "deletion of the netdev: the devices are gone" wait_for 20 no_devices
	rebuild
	works "after deletion of the netdev"
fi

if start_traffic; then
	leave
	ip netns del A
	ip netns del B
	end server client
	check "deletion of both namespaces under traffic: the devices are gone" wait_for 30 no_devices
	check "deletion of both namespaces: modprobe -r" removed 30
	rebuild
	works "after deletion of both namespaces"
fi

killed=0
for round in {1..20}; do
	start_traffic || break
	victim=server
	((round % 2)) || victim=client
	kill -KILL -- "-${running[$victim]}"
	if ! wait_for 20 both_ended; then
		not_ok "kill -9 of one end, round $round" "the other still runs after 20 s" "$(shown)"
		stop_traffic
		break
	fi
	end server client
	killed=$round
done
((killed < 20)) || ok "kill -9 of the client or the server, 20 times: the other ends"
works "after the killing"

resources() { rdma res show | sed -E 's/^[0-9]+: //'; }
released() { [[ $(resources) == *" qp 0 "* && ! $(resources) =~ \ (qp|cm_id|mr)\ [1-9] ]] || [[ -z $(resources) ]]; }
wait_for 20 released
judge $? "no queue pair, region or connection is left" "$(resources | tr '\n' ';')"
wait_for 10 unused
judge $? "nobody holds the module" "its reference count is $(references)"
check "the module can be removed at last" removed 30
finish
