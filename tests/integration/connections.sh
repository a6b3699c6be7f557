#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=18 debug
# lab: limit=900 where=uml order=37 transport=sctp seldom
# lab: limit=900 where=uml order=42 transport=paths seldom
# Connections in numbers (tests/connections): a thousand one after the other, 256 at once, the handshake's
# agreement on reads, with data each time; to oneself; and handshakes that are given up half-way.

source "${BASH_SOURCE[0]%/*}/lib.sh"
program=$LAB_PROJECT/build/tests/connections/connections
set_up

# storm NAME SECONDS SERVER CLIENT: arguments after the address. Both ends judge what they see.
storm() {
	session "$program server 10.0.0.1 $3" "$program client 10.0.0.1 $4" "$2" && ((SERVER_STATUS == 0))
	ended_well $? "$1 ($(tail -n 2 <<<"$CLIENT_OUTPUT" | tr '\n' ';'))"
}

# A slow kernel is given fewer, to be done in the same time.
row=$((1000 / less)) once=$((256 / less))
storm "one connection" 30 "1" "1 1"
storm "$row connections in a row" 300 "$row" "$row 1"
storm "$once connections at once" 200 "$once" "$once $once"
# IRD and ORD: server's, then client's with the number of reads each connection does.
storm "many reads, one at a time" 30 "1 1 1" "1 1 1 1 40"
storm "the server takes fewer reads than the client wants" 30 "1 2 8" "1 1 4 16 40"
storm "the client takes fewer reads than the server wants" 30 "1 16 16" "1 1 1 3 40"
storm "as many reads as the device has" 30 "1 128 128" "1 1 128 128 200"
for rtr in send write read; do
	set_a rtr $rtr
	storm "64 at once with rtr $rtr" 60 "64" "64 64"
done
set_a rtr 7
set_b mpa_revision 1
# Revision 1 leaves the depths to the programs; both ends here take and want the same.
storm "64 at once with MPA revision 1" 60 "64" "64 64"
set_b mpa_revision 2

# What rdma_set_option() says of the type of service holds for the packets of both ends that carry data.
[[ ${WEFT_TRANSPORT:-tcp} == sctp ]] && marked="sctp[12] == 0" || marked="tcp and greater 100"
marked+=" and ip[1] & 0xfc == 0x28"
for host in 10.0.0.1 10.0.0.2; do
	begin "from.$host" ip netns exec B tcpdump -i eth0 -n -q -c 5 "$marked and src $host"
	await "tcpdump listens" 20 grep -q 'listening on' "/run/from.$host"
done
storm "both ends set the type of service" 30 "10 4 4 40" "10 1 4 4 1 40"
for host in 10.0.0.1 10.0.0.2; do
	check "$host sends packets of that type of service" wait_for 10 grep -q '^5 packets captured' "/run/from.$host"
	end "from.$host"
done

# Many ports of one program cost others nothing.
ports=$((16000 / less))
check "who listens beside $ports ports waits no longer" bash -c \
	"ulimit -n 65536 && ip netns exec A timeout $((100 * patience)) $program listen 10.0.0.1 $ports"

# To oneself: both ends on host A, over its own address.
await "host A listens no more" 10 quiet_a
begin server ip netns exec A "$program" server 10.0.0.1 32
await "the server to oneself listens" 20 listening
check "32 connections at once to oneself" timeout $((60 * patience)) ip netns exec A "$program" client 10.0.0.1 32 32
status=0
await "the server to oneself ends" 20 ended "${running[server]}" || kill "${running[server]}"
wait "${running[server]}" || status=$?
check "the server of 32 connections to oneself agrees (status $status)" test $status = 0

# A peer that takes the connection and never answers: a client that gives up gets an event at once.
begin peer ip netns exec A timeout $((100 * patience)) python3 -c '
import os, socket, time
sctp = os.environ.get("WEFT_TRANSPORT") == "sctp"
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP if sctp else 0)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if sctp:
    s.setsockopt(socket.IPPROTO_SCTP, 7, bytes([1, 0, 0, 0])) # SCTP_ADAPTATION_LAYER: DDP
s.bind(("10.0.0.1", 7300))
s.listen()
held = [s.accept() for _ in range(3)]
time.sleep(1000)'
await "a peer that never answers listens" 20 listening
for how in disconnect destroy; do
	check "a handshake is given up by $how at once" timeout $((30 * patience)) ip netns exec B "$program" abandon 10.0.0.1 $how
done
begin client ip netns exec B "$program" client 10.0.0.1 1 1
pause 3
kill -KILL -- "-${running[client]}"
refused "a port that another program listens on" "in use" 20 ip netns exec A "$program" server 10.0.0.1 1
check "a program that waits for an answer can be killed" wait_for 15 ended "${running[client]}"
end peer client
await "host A listens no more after a silent peer" 10 quiet_a
works "after a thousand connections"

none_left() { ! rdma res show qp | grep -q weft && ! rdma -dd res show cm_id | grep -q drv_conn; }
check "no queue pair and no connection is left" wait_for 20 none_left
check "modprobe -r" timeout $((60 * patience)) modprobe -r weft_sctp weft_paths weft
finish
