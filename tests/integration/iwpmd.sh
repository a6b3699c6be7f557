#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=600 where=uml order=50
# iwpmd, the port mapper of iWARP cards, which claims ports for them. Weft's are TCP's own, and iwpmd is told so.
# Connections come about with it, without it, after it was killed, and where it reaches nobody.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up

# What iwpmd says to syslog, which there is none of here.
log=/run/iwpmd.log
: >$log
begin syslog python3 -c '
import os, socket, sys
with open(sys.argv[1], "ab", buffering=0) as log, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
    if os.path.lexists("/dev/log"):
        os.unlink("/dev/log")
    heard.bind("/dev/log")
    while True:
        log.write(heard.recv(65536) + b"\n")' $log
wait_for 20 test -S /dev/log || not_ok "a syslog" "nobody listens at /dev/log"

ip -n A link set lo address 02:00:00:00:00:aa
on_a rdma link add weftlo type weft netdev lo || not_ok "a device on lo" "rdma link add failed"

mapped() { grep -q "$1" "$log"; }

# among HOST ADDRESS NAME: rping from that host to A. Leaves the mapper's mappings meanwhile, if it runs, in $log.
among() {
	local host=$1 name="$3: rping" options=(-a "$2" -p 7199 -C 5 -S 5000 -V)
	rping_listens "$name" "${options[@]}"
	: >$log
	if [[ -n ${mapper:-} ]]; then
		kill -USR1 "$mapper"
		wait_for 10 mapped "Mapped address" || true
	fi
	check "$3: the port is TCP's" grep -q ':1C1F 00000000:0000 0A ' <(on_a cat /proc/net/tcp)
	rping_answers "$name" "$host" "${options[@]}"
}

among A 127.0.0.1 "without iwpmd, to itself"
among B 10.0.0.1 "without iwpmd, between the hosts"

/usr/sbin/iwpmd -s &
mapper=$!
check "iwpmd begins" wait_for 30 grep -q ':0F5F ' /proc/net/udp
pause 1
# The daemon is in the first namespace, where its 127.0.0.1 answers for everybody's.
among A 127.0.0.1 "with iwpmd, to itself"
check "with iwpmd, to itself: it was asked, and gave the same port" mapped 'Mapped address.*127\.0\.0\.1:7199'
# It does not reach these addresses from there, and says no.
among B 10.0.0.1 "with an iwpmd that does not reach the peer"
check "with an iwpmd that does not reach the peer: it was asked, and gave the same port" mapped 'Mapped address.*10\.0\.0\.1:7199'

kill -KILL "$mapper"
wait "$mapper" 2>/dev/null
mapper=''
among A 127.0.0.1 "after iwpmd was killed, to itself"
among B 10.0.0.1 "after iwpmd was killed, between the hosts"

end syslog
finish
