#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a user can get wrong: each mistake must get the error that rdma(8) or the verbs man
# pages promise, in bounded time, and the device must go on working for others.

# Functions are called by name, from wait_for and check.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
limits=$LAB_PROJECT/build/tests/wrong_input/limits
peer=$LAB_PROJECT/tests/wrong_input/peer.py
set_up

# --- devices ---

links() { rdma link show | wc -l; }
check "two devices to begin with" test "$(links)" = 2
refused "a netdev that does not exist" "No such device" 10 \
	on_a rdma link add weft9 type weft netdev nosuch
refused "a loopback device without a MAC address" "Cannot assign requested address|not available" 10 \
	on_a rdma link add weft9 type weft netdev lo
if modprobe tun 2>/dev/null && ip -n A tuntap add tun0 mode tun; then
	refused "a device that is not Ethernet (tun)" "not supported" 10 \
		on_a rdma link add weft9 type weft netdev tun0
	ip -n A link del tun0
else
	skip "a device that is not Ethernet" "no tun device here"
fi
refused "a second device on one netdev" "File exists" 10 on_a rdma link add weft9 type weft netdev eth0
ip -n A link add spare type dummy
refused "a name that iw_cm has no room for" "File name too long" 10 \
	on_a rdma link add n23456789012345678901234567890ab type weft netdev spare
refused "a name in use" "File exists" 10 on_a rdma link add weft0 type weft netdev spare
refused "a type that does not exist" "Invalid argument" 20 \
	on_a rdma link add weft9 type nosuch netdev spare
refused "removal of a device that does not exist" "No such|not exist|nosuch" 10 rdma link del nosuch
check "after refusals there are still two devices" test "$(links)" = 2
check "a third device on a netdev of its own" on_a rdma link add weft2 type weft netdev spare
check "removal of a third device" rdma link del weft2
ip -n A link del spare

# --- module parameters ---

for setting in crc=3 crc=x mpa_revision=0 mpa_revision=3; do
	refused "parameter $setting" "Invalid|write error" 10 \
		bash -c "echo '${setting#*=}' >/sys/module/weft/parameters/${setting%=*}"
done

# --- without the plugin, and past the limits ---

mv /etc/libibverbs.d/weft.driver /run/weft.driver
refused "opening a device without the provider" "no userspace device-specific driver|No IB devices|not found|wasn.t found" 20 \
	ibv_devinfo -d weft0
mv /run/weft.driver /etc/libibverbs.d/weft.driver
check "opening a device with the provider again" ibv_devinfo -d weft0

# bounded BYTES: registers memory with 64 KiB of RLIMIT_MEMLOCK and no right to exceed it.
bounded() {
	(ulimit -l 64 && setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "$limits" weft0 "$1")
}
if [[ -x $limits ]]; then
	check "memory within RLIMIT_MEMLOCK" bounded 16384
	refused "memory past RLIMIT_MEMLOCK" "Cannot allocate memory" 20 bounded 1048576
	check "memory within RLIMIT_MEMLOCK after a refusal" bounded 16384
	cases "limits" 120 "$limits" weft0
else
	not_ok "limits" "$limits is missing; run make -C tests/wrong_input"
fi

# --- peers that are not there, or no peers ---

# All at once, since some take as long as the handshake's timer.
mkdir -p /run/wrong
names=() pids=() helpers=() regexes=()
readonly longest=$((60 * patience))
# Who ends the connection has refused it, who says nothing is not there, and who says anything else is no peer.
declare -A event=([silent]=UNREACHABLE [half]=UNREACHABLE [drip]=UNREACHABLE [close]=REJECTED [reset]=REJECTED
	[http]=CONNECT_ERROR [garbage]=CONNECT_ERROR [echo]=CONNECT_ERROR [revision]=CONNECT_ERROR [long]=CONNECT_ERROR)

# attempt NAME REGEX ADDRESS PORT: starts a client that must fail.
attempt() {
	names+=("$1") regexes+=("$2")
	(
		status=0
		timeout -k 2 $longest ip netns exec B rping -c -a "$3" -p "$4" -C 1 -v || status=$?
		echo "status $status after $SECONDS s"
	) >"/run/wrong/${#names[@]}" 2>&1 </dev/null &
	pids+=($!)
}

port=20000
for behaviour in silent close reset http garbage half echo revision long drip; do
	port=$((port + 1))
	ip netns exec A python3 "$peer" 10.0.0.1 $port $behaviour &
	helpers+=($!)
done
# Loading Python ten times over takes its time.
listening_ports() { (($(listeners "$someone_in_a" | wc -l) >= 10)); }
await "the wrong peers listen" 60 listening_ports
SECONDS=0
port=20000
for behaviour in silent close reset http garbage half echo revision long drip; do
	port=$((port + 1))
	attempt "a peer of the wrong kind: $behaviour" "RDMA_CM_EVENT_${event[$behaviour]}" 10.0.0.1 $port
done
attempt "a host that does not exist" 'RDMA_CM_EVENT_ADDR_ERROR|RDMA_CM_EVENT_UNREACHABLE|rdma_resolve' 10.0.0.99 7174
attempt "an address that nobody routes" 'RDMA_CM_EVENT_ADDR_ERROR|rdma_resolve' 192.0.2.1 7174
attempt "a port that nobody listens on" RDMA_CM_EVENT_REJECTED 10.0.0.1 7999
attempt "a port that nobody listens on, IPv6" RDMA_CM_EVENT_REJECTED fd00::1 7999
# Its address is known and its packets are dropped.
ip -n B neigh add 10.0.0.98 lladdr 02:00:00:00:00:01 dev eth0
attempt "a host that swallows everything" RDMA_CM_EVENT_UNREACHABLE 10.0.0.98 7174

standing=10
works "while clients wait for wrong peers"
for at in "${!pids[@]}"; do
	wait "${pids[$at]}"
	said=$(</run/wrong/$((at + 1)))
	status=$(sed -nE 's/^status ([0-9]+) after .*/\1/p' <<<"$said")
	took=$(sed -nE 's/^status [0-9]+ after (.*)/\1/p' <<<"$said")
	if ((status == 124 || status == 137)); then
		explain "$said"
		not_ok "${names[$at]}" "the client still waited after $longest s"
	elif ((status == 0 || status > 128 && status != 255)); then
		explain "$said"
		not_ok "${names[$at]}" "the client's status is $status"
	elif ! grep -qE "${regexes[$at]}" <<<"$said"; then
		explain "$said"
		not_ok "${names[$at]}" "status $status and no message like ${regexes[$at]}"
	else
		ok "${names[$at]} ($took: $(grep -m 1 -oE "${regexes[$at]}" <<<"$said"))"
	fi
done
kill "${helpers[@]}" 2>/dev/null
wait "${helpers[@]}" 2>/dev/null
standing=0

# --- clients of the wrong kind at a server that serves others ---

setsid ip netns exec A rping -s -P -a 10.0.0.1 -p 7175 -S 3000 >/run/wrong/server 2>&1 </dev/null &
server=$!
serving() { [[ -n $(listeners "$someone_in_a") ]]; }
await "rping -s -P listens" 20 serving
ip netns exec B python3 - <<'END' &
import socket, time
kept = []
for message in (b"", b"GET / HTTP/1.0\r\n\r\n", b"MPA ID Req Frame", b"\xff" * 512):
    for closing in (True, False):
        connection = socket.create_connection(("10.0.0.1", 7175), 10)
        connection.sendall(message)
        if closing:
            connection.close()
        else:
            kept.append(connection)
time.sleep(8)
END
helper=$!
pause 1
check "a server goes on while strangers connect to it" \
	rping_client on_b 30 -a 10.0.0.1 -p 7175 -C 5 -S 3000 -V
wait $helper
check "a server goes on after strangers have gone" rping_client on_b 30 -a 10.0.0.1 -p 7175 -C 5 -S 3000 -V
kill -- "-$server" 2>/dev/null
wait "$server" 2>/dev/null

# --- a device removed while it is used ---

setsid ip netns exec A rping -s -a 10.0.0.1 -S 5000 >/run/wrong/server 2>&1 </dev/null &
server=$!
await "rping listens" 20 serving
setsid ip netns exec B rping -c -a 10.0.0.1 -S 5000 -v -V >/run/wrong/client 2>&1 </dev/null &
client=$!
await "rping sends on a device to be removed" 60 grep -q "ping data" /run/wrong/client
check "removal of a device in use" timeout $((30 * patience)) rdma link del weft1
check "the user of a device that was removed ends" wait_for 20 ended $client
check "the peer of a device that was removed ends" wait_for 20 ended $server
kill -KILL -- "-$client" "-$server" 2>/dev/null
wait $client $server 2>/dev/null
check "a removed device added again" on_b rdma link add weft1 type weft netdev eth0
works "after all that was wrong"

finish
