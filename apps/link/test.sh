#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=600 where=uml order=51 unsearched
#
# Links between two hosts, over RDMA and over TCP: apps/link/selftest_main.cc has the cases; what ends
# a process or takes a device away is here.

# shellcheck disable=SC2317 # functions are called by name, from wait_for
source "${BASH_SOURCE[0]%/*}/../../tests/integration/lib.sh"
selftest=$LAB_PROJECT/build/apps/link/selftest
set_up

port=4000
# serve TRANSPORT [HOST] [COMMAND...]: starts a server on A, by COMMAND if there is one; sets $server.
serve() {
	((++port))
	rm -f /run/server.log
	ip netns exec A "${@:3}" "$selftest" --transport "$1" --listen "10.0.0.1:$port" ${2:+"$2"} >/run/server.log 2>&1 &
	server=$!
	await "the server listens" 10 grep -qs '^listening' /run/server.log
}
stop() { # [-KILL]
	kill "$@" "$server"
	wait "$server" 2>/dev/null
}

# work TRANSPORT PORT: starts a client on B that works until its server is gone; sets $client.
work() {
	rm -f /run/client.log
	ip netns exec B "$selftest" --transport "$1" --lose "10.0.0.1:$2" >/run/client.log 2>&1 &
	client=$!
	await "the client is at work" 10 grep -qs '^at work' /run/client.log
}

# hears NAME: the client at work ends, and says why.
hears() {
	local status=0
	wait_for 10 ended "$client" || kill "$client"
	wait "$client" || status=$?
	((status == 1)) && grep -qE 'the peer ended the connection|the connection broke' /run/client.log
	judge $? "$1" "status $status (143: it still waited after 10 s)" "$(</run/client.log)"
}

for transport in rdma tcp; do
	serve $transport
	cases $transport 60 ip netns exec B "$selftest" --transport $transport "10.0.0.1:$port"
	refused "$transport: a port that is in use" "in use; take another port" 10 \
		on_a "$selftest" --transport $transport --listen "10.0.0.1:$port"
	work $transport $port
	kill -KILL "$client"
	wait "$client" 2>/dev/null
	check "$transport: the server hears of a client that was killed" \
		wait_for 10 grep -q 'link has ended: .*\(ended the connection\|broke\)' /run/server.log
	# And serves the next, which loses it.
	work $transport $port
	stop -KILL
	hears "$transport: the client hears of a server that was killed"
	refused "$transport: nobody listens" "is the server running there" 10 \
		on_b "$selftest" --transport $transport --lose "10.0.0.1:$port"

	serve $transport 10.0.0.77
	refused "$transport: a host that is not admitted" "refused the connection" 10 \
		on_b "$selftest" --transport $transport --lose "10.0.0.1:$port"
	stop
done

ordinary=(setpriv --reuid=65534 --regid=65534 --clear-groups) # a user
# limited HOST COMMAND...: as an ordinary user, who may lock 64 KiB of memory.
# shellcheck disable=SC2016 # for the shell below
limited() { ip netns exec "$1" "${ordinary[@]}" bash -c 'ulimit -l 64 && exec "$@"' - "${@:2}"; }
refused "a limit of locked memory where the server is" "registering .* raise the limit of locked memory" 10 \
	limited A "$selftest" --transport rdma --listen "10.0.0.1:$((++port))"
serve rdma
refused "a limit of locked memory where the client is" "registering .* raise the limit of locked memory" 10 \
	limited B "$selftest" --transport rdma --lose "10.0.0.1:$port"
stop

# A server whose limit is reached when it has been listening for a while.
serve rdma '' "${ordinary[@]}"
prlimit --pid "$server" --memlock=65536:65536
refused "a limit that is reached later: the peer is refused" "10.0.0.1:$port refused" 10 \
	on_b "$selftest" --transport rdma --lose "10.0.0.1:$port"
check "and the server says why" grep -q "one more peer was refused: registering .* raise the limit of locked memory" /run/server.log
stop

rdma link del weft1
refused "no device where the client is" "no RDMA device reaches 10.0.0.1:5000: rdma link add weft0 type weft netdev eth0" 10 \
	on_b "$selftest" --transport rdma --lose 10.0.0.1:5000
rdma link del weft0
refused "no device where the server is" "no RDMA device reaches 10.0.0.1:5000: rdma link add weft0 type weft netdev eth0" 10 \
	on_a "$selftest" --transport rdma --listen 10.0.0.1:5000

finish
