#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Links between two hosts, over RDMA and over TCP: apps/link/selftest_main.cc has the cases; what ends
# a process or takes a device away is here.

# Functions are called by name, from wait_for.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/../../tests/integration/lib.sh"
selftest=$LAB_PROJECT/build/apps/link/selftest
set_up

# serve TRANSPORT PORT [HOST]: starts a server on A; sets $server.
serve() {
	on_a "$selftest" --transport "$1" --listen "10.0.0.1:$2" ${3:+"$3"} >/run/server.log 2>&1 &
	server=$!
	await "the server listens" 10 grep -q '^listening' /run/server.log
}

# lost NAME TRANSPORT PORT SIGNAL REGEX: a client at work, whose server gets the signal.
lost() {
	local client status=0
	serve "$2" "$3"
	on_b "$selftest" --transport "$2" --lose "10.0.0.1:$3" >/run/client.log 2>&1 &
	client=$!
	await "the client is at work" 10 grep -q '^at work' /run/client.log
	pause 0.2
	kill "-$4" "$server"
	if ! wait_for 10 ended "$client"; then
		kill "$client"
		not_ok "$1" "the client still waits after 10 s"
		return
	fi
	wait "$client" || status=$?
	if ((status != 1)) || ! grep -qE "$5" /run/client.log; then
		explain "$(</run/client.log)"
		not_ok "$1" "status $status"
	else
		ok "$1"
	fi
}

port=4000
for transport in rdma tcp; do
	serve $transport $((++port))
	cases $transport 60 ip netns exec B "$selftest" --transport $transport "10.0.0.1:$port"
	kill "$server"
	wait "$server" 2>/dev/null

	lost "$transport: the server is killed" $transport $((++port)) KILL 'the peer ended the connection|the connection broke'

	serve $transport $((++port)) 10.0.0.77
	refused "$transport: a host that is not admitted" "refused the connection" 10 \
		on_b "$selftest" --transport $transport --lose "10.0.0.1:$port"
	refused "$transport: a port that is in use" "in use" 10 \
		on_a "$selftest" --transport $transport --listen "10.0.0.1:$port"
	# A client that is killed costs the server nothing.
	kill "$server"
	wait "$server" 2>/dev/null
	serve $transport $((++port))
	on_b "$selftest" --transport $transport --lose "10.0.0.1:$port" >/run/client.log 2>&1 &
	client=$!
	await "the client is at work" 10 grep -q '^at work' /run/client.log
	kill -KILL $client
	await "$transport: the server hears of a client that was killed" 10 grep -q "link has ended" /run/server.log &&
		ok "$transport: the server hears of a client that was killed"
	cases "$transport, after that" 60 ip netns exec B "$selftest" --transport $transport "10.0.0.1:$port"
	kill "$server"
	wait "$server" 2>/dev/null

	refused "$transport: nobody listens" "is the server running there" 10 \
		on_b "$selftest" --transport $transport --lose "10.0.0.1:$((++port))"
done

rdma link del weft1
refused "no device where the client is" "no RDMA device reaches 10.0.0.1:5000: rdma link add weft0 type weft netdev eth0" 10 \
	on_b "$selftest" --transport rdma --lose 10.0.0.1:5000
rdma link del weft0
refused "no device where the server is" "no RDMA device reaches 10.0.0.1:5000: rdma link add weft0 type weft netdev eth0" 10 \
	on_a "$selftest" --transport rdma --listen 10.0.0.1:5000

finish
