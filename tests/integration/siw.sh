#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1500 where=uml order=1 home unsearched allow=perftest module=siw consumer='mainline siw'
# Weft on one host and mainline's siw on the other, in both roles: the peer that everybody
# with a Linux kernel has. scripts/mainline builds it from Debian's source package.

source "${BASH_SOURCE[0]%/*}/lib.sh"
siw=$(mainline siw)/siw.ko
placement=$LAB_PROJECT/build/tests/placement/placement
driver=(--install)
set_up
hold_refusals
want_times
# Refusals are held back, so siw asks a port that nobody listens on until TCP gives up: after 15 seconds, not two minutes.
on_b tee /proc/sys/net/ipv4/tcp_syn_retries <<<3 >/dev/null
{ modprobe -a weft libcrc32c && insmod "$siw"; } ||
	give_up "weft and siw in one kernel" "a module did not load; scripts/mainline builds $siw"

# pair SERVER CLIENT [PARAMETER=VALUE...]: gives A and B new devices of these types. weft.X
# and siw.X are module parameters; all others have their defaults.
pair() {
	local server=$1 client=$2 device word
	shift 2
	label="$server <- $client${*:+, $*}"
	for device in $(rdma link show | awk '{ sub("/.*", "", $2); print $2 }'); do
		rdma link delete "$device"
	done
	for word in weft.{crc=1,mpa_revision=2,rtr=7} siw.{try_gso,mpa_crc_required,mpa_crc_strict,peer_to_peer}=0 siw.mpa_version=2 "$@"; do
		device=${word%%.*} word=${word#*.}
		echo "${word#*=}" >"/sys/module/$device/parameters/${word%=*}"
	done
	server_device=${server}0 client_device=${client}1
	{ on_a rdma link add "$server_device" type "$server" netdev eth0 && on_b rdma link add "$client_device" type "$client" netdev eth0; } ||
		not_ok "$label: devices" "rdma link add failed"
}

# siw_missed: did the session end because siw, as the server, missed data that arrived while it accepted?
siw_missed() {
	((CLIENT_STATUS == 124)) && [[ $server == siw ]] &&
		sed '/^== B: ss/,$d' <<<"$said" | grep -qE '^ESTAB +[1-9]' || return
	echo "# siw had unread data, and did not know"
}

# once SERVER CLIENT SECONDS: a session. Status $again when siw missed data.
once() {
	session "$@" && return
	! siw_missed || return "$again"
	return 1
}

# verified SIZE COUNT [ADDRESS]: rping, which writes, reads and sends, and checks its data.
verified() {
	local arguments="-a ${3:-10.0.0.1} -S $1 -C $2 -V -v"
	retry "siw" 3 once "rping -s $arguments" "stdbuf -oL rping -c $arguments" 40
	all_pings $? "$label: rping of $1 bytes over ${3:-10.0.0.1}" "$2"
}

# perftest_or_siw COMMAND COUNT: perftest_once; siw may have missed something as well.
perftest_or_siw() {
	local status=0
	perftest_once "$@" 60 || status=$?
	((status != 1)) || ! siw_missed || status=$again
	return "$status"
}

# perftest COMMAND SIZE COUNT
perftest() {
	local since
	since=$(moved)
	retry "perftest with siw" 3 perftest_or_siw "$1 -R -F -s $2 -n $3" "$3"
	transferred "$CLIENT_STATUS" "$label: $1 of $2 bytes" "$2" $(($2 * $3)) "$since"
}

# placed: the placement program, whose groups count as tests.
placed() { cases "$label" 240 "$placement" --server 10.0.0.1 --server-netns A --client-netns B --siw; }

# denied WHY: the two ends cannot agree, so rping must fail, and not hang.
denied() {
	! session "rping -s -a 10.0.0.1 -C 2 -V" "rping -c -a 10.0.0.1 -C 2 -V" 40 &&
		[[ $CLIENT_STATUS != @(124|125|137) && $said =~ RDMA_CM_EVENT_(REJECTED|CONNECT_ERROR|UNREACHABLE) ]]
	ended_well $? "$label: refused ($1)"
}

# Each end's wishes against the other's. No CRC at all, and revision 1 from both, are below.
for roles in "weft siw" "siw weft"; do
	read -r server client <<<"$roles"
	for settings in "weft.crc=0 siw.mpa_crc_required=1" "weft.crc=2 siw.mpa_crc_required=1" siw.mpa_version=1 siw.peer_to_peer=1 \
		siw.try_gso=1 weft.rtr=1 weft.rtr=2 weft.rtr=4; do
		read -r -a words <<<"$settings"
		if [[ $server$settings == siwweft.rtr=1 ]]; then
			skip "siw <- weft, $settings" "siw answers with a write, which was not offered, and its kernel dies (BUG in iw_cm) when the peer then leaves"
			continue
		fi
		pair "$server" "$client" "${words[@]}"
		verified 1449 10
	done
	# By revision 1 siw tells its program of no reads (ord 0), and rping's server reads. The placement program tries it below.
	if [[ $client == siw ]]; then
		pair "$server" "$client" weft.mpa_revision=1
		denied "siw offers no revision but its own"
		pair "$server" "$client" weft.crc=2
		denied "siw does not ask for CRC, which weft requires"
	fi
	pair "$server" "$client" weft.crc=2 siw.mpa_crc_strict=1
	denied "one end must have CRC, the other must not"
done

for roles in "weft siw" "siw weft"; do
	read -r server client <<<"$roles"
	# siw sends its reply before it listens for the ready-to-receive frame of revision 2, and
	# misses one that comes at once until more arrives. rping does not mind; the placement
	# program waits for both ends to be connected, and siw's kernel dies if it gives up.
	revision=2
	pair "$server" "$client"
	verified 65535 20 fd00::1
	if [[ $server == siw ]]; then
		revision=1
		pair "$server" "$client" weft.mpa_revision=1
	fi
	placed
	for tool in ib_write_bw ib_read_bw ib_send_bw; do
		options=''
		# A program that polls keeps a processor from the kernel. But siw hangs when it receives with events.
		[[ $tool == ib_write_bw || $tool$server == ib_send_bwsiw ]] || options=' -e'
		perftest "$tool$options" 65536 200
	done
	pair "$server" "$client" weft.mpa_revision=$revision weft.crc=0
	placed
done
finish
