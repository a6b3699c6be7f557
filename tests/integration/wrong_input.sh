#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=23 debug
# What a user can get wrong: each mistake must get the error that rdma(8) or the verbs man
# pages promise, in bounded time, and the device must go on working for others.

source "${BASH_SOURCE[0]%/*}/lib.sh"
limits=$LAB_PROJECT/build/tests/wrong_input/limits
set_up

# --- devices ---
links() { rdma link show | wc -l; }
check "two devices to begin with" test "$(links)" = 2
# no_link NAME REGEX DEVICE NETDEV [TYPE]: such a device cannot be added on A.
no_link() { refused "$1" "$2" 20 on_a rdma link add "$3" type "${5:-weft}" netdev "$4"; }
no_link "a netdev that does not exist" "No such device" weft9 nosuch
no_link "a loopback device without a MAC address" "Cannot assign requested address|not available" weft9 lo
if modprobe tun 2>/dev/null && ip -n A tuntap add tun0 mode tun; then
	no_link "a device that is not Ethernet (tun)" "not supported" weft9 tun0
	ip -n A link del tun0
else
	skip "a device that is not Ethernet" "no tun device here"
fi
no_link "a second device on one netdev" "File exists" weft9 eth0
ip -n A link add spare type dummy
no_link "a name that iw_cm has no room for" "File name too long" n23456789012345678901234567890ab spare
no_link "a name in use" "File exists" weft0 spare
no_link "a type that does not exist" "Invalid argument" weft9 spare nosuch
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
bounded() { (ulimit -l 64 && setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "$limits" weft0 "$1"); }
[[ -x $limits ]] || give_up "limits" "$limits is missing; run make -C tests/wrong_input"
check "memory within RLIMIT_MEMLOCK" bounded 16384
refused "memory past RLIMIT_MEMLOCK" "Cannot allocate memory" 20 bounded 1048576
check "memory within RLIMIT_MEMLOCK after a refusal" bounded 16384
cases "limits" 120 "$limits" weft0

# --- peers that are not there; wrong ones are in hostile/handshake.py ---
# alone NAME REGEX ADDRESS PORT: a client there must fail.
alone() { refused "$1" "$2" 60 on_b rping -c -a "$3" -p "$4" -C 1 -v; }
alone "a host that does not exist" 'RDMA_CM_EVENT_ADDR_ERROR|RDMA_CM_EVENT_UNREACHABLE|rdma_resolve' 10.0.0.99 7174
alone "an address that nobody routes" 'RDMA_CM_EVENT_ADDR_ERROR|rdma_resolve' 192.0.2.1 7174
alone "a port that nobody listens on" RDMA_CM_EVENT_REJECTED 10.0.0.1 7999
alone "a port that nobody listens on, IPv6" RDMA_CM_EVENT_REJECTED fd00::1 7999
# Its address is known and its packets are dropped.
ip -n B neigh add 10.0.0.98 lladdr 02:00:00:00:00:01 dev eth0
alone "a host that swallows everything" RDMA_CM_EVENT_UNREACHABLE 10.0.0.98 7174
works "after all that was wrong"
finish
