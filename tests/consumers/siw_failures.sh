#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What fails or hangs on siw of Linux 6.1, row by row: each must work here. The rows on lo and
# on namespaces in exclusive mode want hosts of their own: netdevs.sh and namespaces.sh. The
# shared receive queue is a case of tests/verbs.

# Functions are called by name, from wait_for.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/../integration/lib.sh"
set_up
: "${server_device:?}"

# perftest COMMAND SIZE COUNT: both ends with status 0, and the client says what it measured.
perftest() {
	local name="$1 -n $3"
	if ! perftest_session "$name -R -F" "$3" 90; then
		explain "$said" 25
		not_ok "$name" "client status $CLIENT_STATUS, server status $SERVER_STATUS"
	elif ((SERVER_STATUS != 0)); then
		explain "$SERVER_OUTPUT"
		not_ok "$name" "the server ended with status $SERVER_STATUS"
	elif ! grep -qE "^ *$2[[:space:]]+[0-9]+([[:space:]]+[0-9.]+){3}" <<<"$CLIENT_OUTPUT"; then
		explain "$CLIENT_OUTPUT"
		not_ok "$name" "no result line"
	else
		ok "$name"
	fi
}
perftest "ib_send_bw -s 1048576 -e" 1048576 200
perftest "ib_write_bw -q 64 -s 4096" 4096 20
for kind in FETCH_AND_ADD CMP_AND_SWAP; do
	perftest "ib_atomic_bw -A $kind" 8 200
	perftest "ib_atomic_lat -A $kind" 8 100
done

# qperf's server serves one client after another, and listens for both TCP and rdma_cm.
ip netns exec A qperf >/run/qperf 2>&1 &
qperf_server=$!
listening() { [[ -n $(listeners "$qperf_server") ]]; }
wait_for 20 listening || not_ok "qperf" "its server does not listen: $(</run/qperf)"
for test in rc_bi_bw rc_bw rc_lat rc_rdma_read_bw rc_rdma_read_lat rc_rdma_write_bw rc_rdma_write_lat \
	rc_rdma_write_poll_lat rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap ver_rc_fetch_add; do
	said=$(on_b timeout -k 2 60 qperf -cm 1 -t 2 10.0.0.1 $test 2>&1)
	status=$?
	if ((status == 0)) && grep -qE '= +[0-9]' <<<"$said"; then
		ok "qperf $test ($(grep -m 1 -E '= +[0-9]' <<<"$said" | sed 's/^ *//; s/  */ /g'))"
	else
		explain "$said"
		not_ok "qperf $test" "status $status: $(tail -n 1 <<<"$said")"
	fi
done
kill $qperf_server
wait $qperf_server 2>/dev/null

while read -r line; do
	case $line in
	'ok '*) ok "${line#ok }" ;;
	'not ok '*) line=${line#not ok } && not_ok "${line%%: *}" "${line#*: }" ;;
	*) echo "# $line" ;;
	esac
done < <(on_a "${BASH_SOURCE[0]%/*}/siw_rows.py" "$server_device" 10.0.0.1 2>&1)

statistics=$(rdma -p statistic show link weft0/1 2>&1)
if (($(grep -oE '[a-z_]+ [1-9][0-9]*' <<<"$statistics" | wc -l) >= 2)); then
	ok "rdma statistic has counters that count"
else
	explain "$statistics"
	not_ok "rdma statistic has counters that count" "they do not"
fi

# A program that stays connected for a while.
wait_for 10 quiet_a
ip netns exec A rping -s -a 10.0.0.1 -C 100000 >/run/rping-a 2>&1 &
rping_a=$!
await_listener $rping_a ''
ip netns exec B rping -c -a 10.0.0.1 -C 100000 >/run/rping-b 2>&1 &
rping_b=$!
details() { on_a rdma -dd resource show qp link weft0 | grep -E 'lqpn [0-9]+ .*drv_[a-z_]+ '; }
if wait_for 20 details >/dev/null; then
	ok "rdma resource shows the driver's details of a queue pair"
else
	explain "$(on_a rdma -dd resource show qp)"
	not_ok "rdma resource shows the driver's details of a queue pair" "it does not"
fi
kill $rping_b $rping_a 2>/dev/null
wait $rping_b $rping_a 2>/dev/null

works "afterwards the devices work"
finish
