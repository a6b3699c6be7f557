#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=6 unsearched allow=perftest judge=tests/capture/judge
# lab: limit=600 where=uml order=7 transport=sctp seldom unsearched allow=perftest judge=tests/capture/judge
# lab: limit=600 where=uml order=8 transport=paths seldom unsearched allow=perftest judge=tests/capture/judge
# Records traffic for tests/capture/judge, which looks at it on the host, where tshark takes seconds. Captures
# go to $LAB_OUT/capture.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up
hold_refusals
captures=${LAB_OUT:?}/capture
mkdir -p "$captures"
transport=${WEFT_TRANSPORT:-tcp}

# record NAME COMMAND...: captures at host B the packets that COMMAND causes. Its output goes to $said.
record() {
	local pid log=/run/tcpdump.log status=0 taken=0 numbers='0 0' since
	: >$log # or the last one's word that it listens is taken for this one's
	# Ten megabytes of buffer, and no name look-ups.
	ip netns exec B tcpdump -i eth0 -n -s 0 -B 65536 -w "/run/$1.pcap" "$transport" 2>$log &
	pid=$!
	wait_for 10 grep -q 'listening on' $log || { not_ok "$1" "tcpdump did not start"; return; }
	"${@:2}" || status=$?
	# The last packets lie in a block that the kernel gives to tcpdump when it is full, or a second old.
	((status)) || wait_for 10 all_taken || taken=$?
	kill "$pid"
	wait "$pid"
	if ((status)); then
		not_ok "$1" "the program failed" "$said"
	elif ((taken)) || ! grep -q '^0 packets dropped by kernel' $log; then
		not_ok "$1" "the capture is not complete: ${numbers/ / of } packets, $(tail -n 1 $log)"
	else
		cp "/run/$1.pcap" "$captures/$1.pcap"
		ok "$1 ($(grep -E '^[0-9]+ packets captured' $log))"
	fi
	rm -f "/run/$1.pcap"
}

# all_taken: has tcpdump taken each packet that the kernel has for it? It prints that when asked by a signal. Packets that
# came before its socket had its filter are counted as received and never taken. So if the numbers differ, they are final
# once they stood for longer than the second in which a block is given up.
all_taken() {
	local taken there
	kill -USR1 "$pid"
	pause 0.2
	read -r taken there < <(sed -nE 's/.* ([0-9]+) packets? captured, ([0-9]+) packets? received by filter,.*/\1 \2/p' "$log" | tail -n 1)
	((taken > 0)) || return 1
	[[ $numbers == "$taken $there" ]] || { numbers="$taken $there" since=$SECONDS; }
	((taken == there || SECONDS - since > 2))
}

# Commands for record:
# perftest COMMAND: a tool and its options, on both hosts. pings OPTION...: verified pings.
# placement GROUPS: the groups of the placement program whose names contain that.
perftest() { perftest_session "$* -R -F" 0 40; }
pings() { session "rping -s $* -V" "rping -c $* -V" 60; }
placement() {
	local program=$LAB_PROJECT/build/tests/placement/placement
	said=$(timeout -k 5 60 "$program" --server 10.0.0.1 --server-netns A --client-netns B --only "$1" 2>&1)
}

# record_all PREFIX: the programs whose traffic is judged.
record_all() {
	local tool words
	for tool in "ib_write_bw -s 100003 -n 10" "ib_read_bw -s 100003 -n 10" "ib_send_bw -s 100003 -n 10" \
		"ib_write_bw -s 1 -n 50" "ib_send_bw -s 1500 -n 50"; do
		read -r -a words <<<"$tool"
		record "$1-${words[0]}-${words[2]}" perftest "$tool"
	done
	record "$1-rping" pings -a fd00::1 -C 10 -S 5001
	if [[ ${#driver[@]} == 1 ]]; then
		# The agreement of two Weft ends.
		record "$1-atomic" perftest "ib_atomic_lat -n 20"
		record "$1-immediate" placement "with immediate"
	fi
}

# offload on|off: lets hosts hand each other packets of many segments, or not.
offload() { on_both ethtool -K eth0 tso "$1" gso "$1" gro "$1" >/dev/null; }

# record_carried PREFIX: the same of other carriers than one TCP stream.
record_carried() {
	record "$1-rping" pings -a fd00::1 -C 10 -S 5001
	record "$1-large" pings -a 10.0.0.1 -C 10 -S 60000
	record "$1-atomic" placement "contended atomics"
	record "$1-immediate" placement "with immediate"
}

# broken_path: verified pings, amid which the second of two paths is killed; slow ones, since another is tried after 2 s.
broken_path() {
	tc -n B qdisc add dev eth0 root netem delay 5ms || return
	(wait_for 20 second_path && on_b ss -K "${second[@]}" >/dev/null) &
	pings -a 10.0.0.1 -C 400 -S 30000
}
second=(-Htn state established dst 10.0.0.1 dport "!=" :7174)
second_path() { [[ -n $(on_b ss "${second[@]}") ]]; }

if [[ $transport == sctp ]]; then
	# Each packet as it goes out, with its checksum.
	on_both ethtool -K eth0 tx-sctp-segmentation off tx-checksum-sctp off >/dev/null
	record_carried sctp
	finish
elif [[ -n ${WEFT_PATHS:-} ]]; then
	record_carried paths
	joins=$(counter weft0 path_joins)
	record paths-broken broken_path
	joins=$(($(counter weft0 path_joins) - joins))
	# The one of the beginning counts as well.
	check "a path joined instead of the one that was killed: $joins" test "$joins" -ge 2
	finish
fi

# As everybody takes them, to be compared with packets and segments. siw's devices have no settings.
[[ $type != weft ]] || each fpdu segment
offload off
record_all segments
# Windows that end within segments, and segments that are sent while what fills them up is laid out.
windows=$(on_a sysctl -n net.ipv4.tcp_rmem)
on_a sysctl -qw net.ipv4.tcp_rmem="4096 66001 66001"
record "segments-narrow-ib_write_bw" perftest "ib_write_bw -s 100003 -n 20"
on_a sysctl -qw net.ipv4.tcp_rmem="$windows"
offload on
record_all packets
# Segments of 1398 bytes, which is no multiple of four.
set_mtu 1450
record "packets-mtu1450-ib_write_bw" perftest "ib_write_bw -s 100003 -n 10"
set_mtu "$mtu"
# The same, all the time, while much is laid out.
on_a sysctl -qw net.ipv4.tcp_rmem="4096 20001 20001"
record "packets-narrow-ib_write_bw" perftest "ib_write_bw -s 1000003 -n 5"
on_a sysctl -qw net.ipv4.tcp_rmem="$windows"
if [[ ${#driver[@]} == 1 ]]; then
	each markers on
	for tool in "ib_write_bw -s 100003 -n 10" "ib_read_bw -s 100003 -n 10" "ib_send_bw -s 1500 -n 50" "ib_atomic_lat -n 20"; do
		record "marked-${tool%% *}" perftest "$tool"
	done
	# Segments of 508 bytes, which hold one marker each at most, and a packet for each. One message at a time:
	# packets that wait for others are merged, and then hold several FPDUs.
	offload off
	record "marked-segments-ib_write_bw" perftest "ib_write_bw -s 100003 -n 5"
	set_mtu 560
	for tool in "ib_write_lat -s 30003 -n 5" "ib_read_lat -s 10003 -n 10" "ib_send_lat -s 1500 -n 50"; do
		record "marked-small-${tool%% *}" perftest "$tool"
	done
	set_mtu "$mtu"
	offload on
	each markers off
	each fpdu large
	record "large-ib_write_bw-100003" perftest "ib_write_bw -s 100003 -n 10"
	reload crc=0 fpdu=segment || give_up "nocrc" "modprobe weft crc=0 failed"
	record "nocrc-ib_write_bw-100003" perftest "ib_write_bw -s 100003 -n 10"
	each markers on
	record "marked-nocrc-ib_write_bw" perftest "ib_write_bw -s 100003 -n 10"
	reload || not_ok "reload" "modprobe weft failed"
fi
finish
