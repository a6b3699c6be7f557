#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=16 debug allow=perftest
# The settings of a device in sysfs: values that they take and refuse, new connections go by them, module
# parameters are their defaults. `rdma res show` has what a connection agreed on, and rping checks the data.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up

a=/sys/class/infiniband/weft0/weft b=/sys/class/infiniband/weft1/weft

value_is() { [[ $(<"$a/$1") == "$2" ]]; }

# takes SETTING VALUE SHOWN
takes() {
	set_a "$1" "$2" && value_is "$1" "$3"
	judge $? "$1 takes '$2'" "it shows '$(<"$a/$1")', not '$3'"
}
# keeps SETTING VALUE: refused with -EINVAL, and nothing changes.
keeps() {
	local before why
	before=$(<"$a/$1")
	why=$( (printf '%s' "$2" >"$a/$1") 2>&1) && why='it was taken'
	[[ $why == *"Invalid argument"* ]] && value_is "$1" "$before"
	judge $? "$1 refuses '${2:0:20}'" "${why##*: }; it shows '$(<"$a/$1")'"
}

for pair in crc=preferred mpa_revision=2 "rtr=send write read" keepalive=60 user_timeout=60 fpdu=large extensions=on markers=off transport=tcp lend=unchecked; do
	check "default ${pair}" value_is "${pair%%=*}" "${pair#*=}"
done
# SETTING VALUE, and the shown value behind a colon, where it is another.
for row in "crc off" "crc required" "crc preferred" "crc 2:required" "mpa_revision 1" "mpa_revision 2" "rtr read" \
	"rtr write,send:send write" "rtr 7:send write read" "keepalive off" "keepalive 32767" "keepalive 010:10" "keepalive 60" \
	"user_timeout 0:off" "user_timeout 1" "user_timeout 60" "fpdu segment" "fpdu large" "extensions off" "extensions 1:on" \
	"markers on" "markers 0:off" "transport sctp" "transport paths" "transport tcp" "lend off" "lend 2:all" "lend unchecked"; do
	value=${row#* }
	takes "${row%% *}" "${value%%:*}" "${value#*:}"
done
takes fpdu_peers 10.0.0.2=16384 10.0.0.2/32=16384
takes fpdu_peers 10.0.0.2=01024 10.0.0.2/32=1024
takes fpdu_peers "fd00::/16=large, 10.0.0.0/8=segment 192.0.2.0/30=512" $'fd00::/16=large\n10.0.0.0/8=segment\n192.0.2.0/30=512'
many=$(printf '10.0.0.%s=16384 ' {1..17})
refused "fpdu_peers refuses a 17th entry" "No space left" 10 bash -c "echo $many >$a/fpdu_peers"
takes fpdu_peers "${many% 10.0.0.17*}" "$(printf '10.0.0.%s/32=16384\n' {1..16})"
keeps fpdu_peers "10.0.0.1=16384 10.0.0.2"
keeps fpdu_peers "10.0.0.1=16 KiB"
keeps fpdu_peers "eth0=16384"
keeps fpdu_peers "10.0.0.2=0x400"
takes fpdu_peers "" ""
long=$(printf 'send %.0s' {1..100})
for pair in crc=3 crc=on crc=-1 mpa_revision=0 mpa_revision=3 mpa_revision=two rtr=0 rtr=8 \
	rtr=none "rtr= " "rtr=send,nosuch" "rtr=$long" keepalive=32768 keepalive=-1 keepalive=0x10 keepalive=never \
	user_timeout=32768 user_timeout=1s user_timeout=99999999999 fpdu=2 fpdu=huge extensions=2 extensions=yes markers=2 markers=maybe \
	transport=2 transport=udp transport=tcp,sctp transport=nothing-of-so-long-a-name lend=3 lend=crc; do
	keeps "${pair%%=*}" "${pair#*=}"
done
# The parameters of the modules that other transports are.
module_shows() { echo "$2" >"$1" && [[ $(<"$1") == "$3" ]]; }
module_takes() { # MODULE PARAMETER VALUE SHOWN
	check "$1: $2 takes '$3'" module_shows "/sys/module/$1/parameters/$2" "$3" "$4"
}
while read -r -a row; do module_takes "${row[@]}"; done <<-'END'
	weft_sctp ports 7174-7180 7174-7180
	weft_sctp ports 20049 20049-20049
	weft_sctp ports none none
	weft_sctp multihoming on Y
	weft_sctp multihoming 0 N
	weft_paths paths 8 8
	weft_paths paths 2 2
	weft_sctp out_of_order off N
	weft_sctp out_of_order 1 Y
	weft_paths out_of_order off N
	weft_paths out_of_order 1 Y
END
for pair in sctp/ports=0 sctp/ports=2-1 sctp/ports=0-5 sctp/ports=1-65536 sctp/ports=1-2-3 sctp/ports=some sctp/multihoming=2 \
	sctp/multihoming=maybe paths/paths=0 paths/paths=9 paths/paths=two paths/out_of_order=2 sctp/out_of_order=sometimes; do
	file=/sys/module/weft_${pair%%/*}/parameters/${pair#*/}
	refused "weft_${pair%%/*} refuses ${pair#*/}" "Invalid argument" 10 bash -c "echo ${pair#*=} >${file%%=*}"
done
check "a device's settings are its own" test "$(<"$b/crc") $(<"$b/mpa_revision")" = "preferred 2"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
check "who is not root may read a setting" "${nobody[@]}" cat "$a/crc"
refused "only root may change a setting" "Permission denied" 10 "${nobody[@]}" bash -c "echo off >$a/crc"
on_a_sees() { [[ $(on_a cat "$a/crc") == required ]]; }
check "they are there in a network namespace" on_a_sees

# exchange NAME: data goes both ways over a new connection.
exchange() {
	session "rping -s -a 10.0.0.1 -C 5 -S 5000 -V" "rping -c -a 10.0.0.1 -C 5 -S 5000 -V" 30
	ended_well $? "$1"
}
# no_connection NAME REGEX: rping fails, and says something like REGEX.
no_connection() {
	refused "$1" "$2" 30 server_client "rping -s -a 10.0.0.1 -C 1" "rping -c -a 10.0.0.1 -C 1" 20
	await "nobody listens any more" 10 quiet_a
}

# Each ready-to-receive frame with each end as the initiator's.
for rtr in send write read; do
	set_a rtr $rtr
	exchange "rtr $rtr at the responder"
	set_a rtr "send write read"
	set_b rtr $rtr
	exchange "rtr $rtr at the initiator"
	set_b rtr "send write read"
done
set_a rtr send
set_b rtr read
no_connection "no ready-to-receive frame in common" "RDMA_CM_EVENT|failed|error"
each rtr 7
for revision in 1 2; do
	set_a mpa_revision $revision
	set_b mpa_revision $((3 - revision))
	exchange "MPA revision $revision at the responder, $((3 - revision)) at the initiator"
done
each mpa_revision 2

set_a crc off
for crc in off required; do
	set_b crc $crc
	exchange "crc off at the responder, $crc at the initiator"
done
# An end that requires CRCs refuses one that does not ask for them, and says so.
set_a crc required
set_b crc off
before=$(counter weft0 conn_without_crc)
refusals() { dmesg | grep -cE "weft0: peer 10\.0\.0\.2:[0-9]+ refused: it does not ask for CRCs"; }
logged=$(refusals)
no_connection "crc required at the responder, off at the initiator" "RDMA_CM_EVENT_REJECTED"
check "conn_without_crc counts it" test "$(counter weft0 conn_without_crc)" = $((before + 1))
check "the kernel log says which peer, and why" test "$(refusals)" = $((logged + 1))
set_b crc preferred
exchange "crc required at the responder, preferred at the initiator"
set_b crc required
exchange "crc required at both"
each crc preferred

# --- extensions: without them two Weft ends are plain iWARP ---
# frame_size: average length of the frames that B sends in a session of SENDs of 48 KiB.
frame_size() {
	local bytes fpdus
	bytes=$(counter weft1 tx_bytes) fpdus=$(counter weft1 tx_fpdus)
	perftest_session "ib_send_bw -R -F -s 49152 -n 32" 32 60 >/run/said || return
	pause 2
	bytes=$(($(counter weft1 tx_bytes) - bytes)) fpdus=$(($(counter weft1 tx_fpdus) - fpdus))
	((fpdus > 0)) && echo $((bytes / fpdus))
}
# does_atomics: can programs use atomics over a new connection?
does_atomics() { perftest_session "ib_atomic_bw -R -F -n 16" 16 60; }
for ends in "on on" "off on" "on off" "off off"; do
	set_a extensions "${ends% *}"
	set_b extensions "${ends#* }"
	name="extensions ${ends% *} at the responder, ${ends#* } at the initiator" why=''
	size=$(frame_size) || size=0
	if [[ $ends == "on on" ]]; then
		check "$name: large frames ($size bytes)" test "$size" -gt $((mtu + 100))
		check "$name: atomics" does_atomics
		continue
	fi
	check "$name: frames of a segment ($size bytes)" test "$size" -gt 500 -a "$size" -lt "$mtu"
	! does_atomics && ((CLIENT_STATUS < 124)) && why=$(grep -m 1 -E "ERRNO|[Ff]ail|Couldn|Unable" <<<"$CLIENT_OUTPUT")
	judge $? "$name: no atomics ($why)" "client status $CLIENT_STATUS, which is no refusal" "$said"
	await "nobody listens any more" 10 quiet_a
	exchange "$name: rping"
done
each extensions on

# --- markers: each end asks for those that it receives ---
for ends in "on off" "off on" "on on"; do
	for crc in off preferred; do
		set_a markers "${ends% *}"
		set_b markers "${ends#* }"
		each crc $crc
		frames=$(counter weft0 rx_fpdus) split=$(counter weft0 rx_split_fpdus)
		exchange "markers ${ends% *} at the responder, ${ends#* } at the initiator, crc $crc: rping"
		check "  and SENDs" perftest_session "ib_send_bw -R -F -s 5000 -n 64" 64 60
		check "  and reads" perftest_session "ib_read_bw -R -F -s 70000 -n 16" 16 60
		frames=$(($(counter weft0 rx_fpdus) - frames)) split=$(($(counter weft0 rx_split_fpdus) - split))
		if [[ ${ends% *} == on ]]; then
			check "  each of $frames frames had its markers taken out" test "$frames" -gt 64 -a "$split" = "$frames"
		fi
	done
done
each markers off
each crc preferred

# The sockets' timers are the settings': ss shows the keepalive timer that runs.
set_a keepalive 7
set_b keepalive off
if ping_pong -S 64; then
	kill -STOP "${running[client]}" "${running[server]}"
	pause 1
	check "keepalive 7 at A: its timer runs" grep -qE 'timer:\(keepalive,([0-6](sec|\.[0-9]+ms)|[0-9]+ms)' <(ip netns exec A ss -tnoH state established)
	check "keepalive off at B: no timer" bash -c "! ip netns exec B ss -tnoH state established | grep -q keepalive"
	end server client
fi

# A sender notices after the user timeout that its peer is gone, an end that waits after the keepalive.
each keepalive 2
each user_timeout 2
if ping_pong -S 64; then
	ip -n B link set eth0 down
	check "both at 2: both ends notice that the wire is cut" wait_for 30 both_ended
	end server client
	ip -n B link set eth0 up
	ip -n B addr replace fd00::2/64 dev eth0 nodad
fi
each keepalive 60
each user_timeout 60

# --- defaults ---
reload crc=required mpa_revision=1 rtr=write extensions=off markers=on || give_up "modprobe weft crc=required mpa_revision=1 rtr=write" "it failed"
check "module parameters are the defaults of new devices" \
	test "$(cat $a/crc $a/mpa_revision $a/rtr $a/extensions $a/markers | tr '\n' ' ')" = "required 1 write off on "
echo off >/sys/module/weft/parameters/crc
check "module parameters show what was written" test "$(</sys/module/weft/parameters/crc)" = off
check "module parameters change no device that is there" value_is crc required
without=/sys/module/weft/parameters/without
all=$(modinfo -F parm weft | sed -n 's/^without:.*some of \([a-z,-]*\) .*/\1/p')
echo "$all" >$without
check "each rule can be done without" test "$all" != "" -a "$(<$without)" = "$all"
exchange "without any rule"
refused "what is no rule is refused" "Invalid argument" 10 bash -c "echo gather,haste >$without"
refused "so is a line behind another" "Invalid argument" 10 bash -c "env printf 'gather\\nstreak\\n' >$without"
check "and changes none" test "$(<$without)" = "$all"
echo >$without
check "all rules hold again" test "$(<$without)" = ""
exchange "connections go by the defaults"
each markers off

# --- counters ---
check "rdma statistic show has the counters" grep -qE '^link weft0/1 tx_fpdus [0-9]+ .*conn_broken [0-9]+' <(rdma statistic show | tr -s ' \n' ' ')
opened=$(counter weft1 conn_opened) accepted=$(counter weft0 conn_accepted)
sent=$(counter weft1 tx_fpdus) got=$(counter weft0 rx_fpdus)
exchange "a session to count"
check "conn_opened counts it at the initiator" test "$(counter weft1 conn_opened)" = $((opened + 1))
check "conn_accepted counts it at the responder" test "$(counter weft0 conn_accepted)" = $((accepted + 1))
sent=$(($(counter weft1 tx_fpdus) - sent)) got=$(($(counter weft0 rx_fpdus) - got))
# Five rounds of two SENDs and the answer to a read, which may be several FPDUs.
check "what one end sent the other received: $sent FPDUs" test $sent = $got -a $sent -ge 15
check "sysfs has the same counters" test "$(</sys/class/infiniband/weft0/ports/1/hw_counters/conn_accepted)" = $((accepted + 1))

# --- lending ---
# It takes large frames.
each extensions on
# Between these hosts the kernel copies lent pages, so each connection lends once and no more.
lending=$LAB_PROJECT/build/tests/lending/lending
# sends CRC LEND MESSAGES: has a connection with these settings lent so many?
sends() {
	local lent copied
	each crc "$1"
	set_b lend "$2"
	lent=$(counter weft1 tx_lent) copied=$(counter weft1 tx_lent_copied)
	session "$lending server 10.0.0.1" "$lending client 10.0.0.1 60" 60 || ended_well 1 "large messages, crc $1, lend $2"
	check "large messages, crc $1, lend $2: $3 lent, and then copied on the way" \
		test $(($(counter weft1 tx_lent) - lent)) = "$3" -a $(($(counter weft1 tx_lent_copied) - copied)) = "$3"
}
sends off unchecked 1
sends off unchecked 1
sends off off 0
sends required unchecked 0
sends required all 1
finish
