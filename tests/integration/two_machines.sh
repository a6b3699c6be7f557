#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two machines that share no kernel, with network cards that cut large packets into segments:
# rping, which checks its data, with CRC and without, in large frames and of a segment each.
# tests/integration/two_machines.sh SIDE runs on each, in scripts/lab/two-machines.

# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
side=$1
if ! join_cable "$side" || ! install_stage || ! modprobe weft crc=off ||
	! rdma link add weft0 type weft netdev eth0; then
	not_ok "$side" "weft can't be set up on eth0"
	finish
fi

# The client says by plain TCP when it is over.
if [[ $side == server ]]; then
	rping -s -P -a :: -S 65535 >/run/rping 2>&1 &
	server=$!
	timeout 500 busybox nc -l -p 7000 >/run/end
	if kill -0 $server && [[ $(</run/end) == end ]]; then
		ok "the server serves to the end"
	else
		explain "$(</run/rping)"
		not_ok "the server serves to the end" "it ended before the client"
	fi
	kill $server
	finish
fi

# setting NAME VALUE: a setting of this machine's device.
setting() { echo "$2" >"/sys/class/infiniband/weft0/weft/$1"; }
# shellcheck disable=SC2317 # called by wait_for
served() { timeout 20 rping -c -a 10.0.0.1 -C 1 -S 64 -V &>/run/rping; }

if ! wait_for 120 served; then
	explain "$(</run/rping)"
	not_ok "the machines talk" "no rping in two minutes"
	finish
fi
ok "the machines talk"
for crc in off required; do
	for fpdu in large segment; do
		setting crc $crc
		setting fpdu $fpdu
		for size in 64 1449 65535; do
			check "rping, $size bytes, crc $crc, fpdu $fpdu" timeout 60 rping -c -a 10.0.0.1 -C 30 -S $size -V
		done
	done
done
check "rping over IPv6" timeout 60 rping -c -a fd00::1 -C 30 -S 65535 -V
echo end >/dev/tcp/10.0.0.1/7000
finish
