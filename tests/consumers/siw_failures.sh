#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1500 where=stock order=3 seldom home allow=perftest,qperf consumer='fails on siw'
#
# Cases that fail or hang on siw of Linux 6.1: each must work here. Those on lo and on namespaces in exclusive
# mode are in netdevs.sh and namespaces.sh, the shared receive queue in tests/verbs, the programs of perftest
# (a megabyte with -e, 64 queue pairs, atomics) in perftest.sh.

# shellcheck disable=SC2317 # functions are called by name, from wait_for
source "${BASH_SOURCE[0]%/*}/../integration/lib.sh"
set_up
: "${server_device:?}"

# qperf's server serves one client after another, and listens for both TCP and rdma_cm.
begin qperf ip netns exec A qperf
wait_for 20 listening || not_ok "qperf" "its server does not listen: $(</run/qperf)"
for test in rc_bi_bw rc_bw rc_lat rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw rc_rdma_write_lat \
	rc_rdma_write_poll_lat rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add; do
	said=$(on_b timeout -k 2 60 qperf -cm 1 -t 2 10.0.0.1 $test 2>&1)
	status=$?
	((status == 0)) && grep -qE '= +[0-9.]*[1-9]' <<<"$said"
	judge $? "qperf $test ($(grep -m 1 -E '= +[0-9]' <<<"$said" | sed 's/^ *//; s/  */ /g'))" "status $status" "$said"
done
end qperf

cases "" 300 ip netns exec A "${BASH_SOURCE[0]%/*}/siw_rows.py" "$server_device" 10.0.0.1

statistics=$(rdma -p statistic show link weft0/1 2>&1)
(($(grep -oE '[a-z_]+ [1-9][0-9]*' <<<"$statistics" | wc -l) >= 2))
judge $? "rdma statistic has counters that count" "they do not" "$statistics"

# A program that stays connected for a while.
await "nobody listens any more" 10 quiet_a
ping_pong -S 64
details() { on_a rdma -dd resource show qp link weft0 | grep -E 'lqpn [0-9]+ .*drv_[a-z_]+ '; }
wait_for 20 details >/dev/null
judge $? "rdma resource shows the driver's details of a queue pair" "it does not" "$(on_a rdma -dd resource show qp)"
end server client

works "after all that fails on siw"
finish
