#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What `rdma res show` reads while others write it: shows every kind of object, with the driver's
# details, again and again beside groups of the placement program, whose transfers are verified.

source "${BASH_SOURCE[0]%/*}/../integration/lib.sh"
program=$LAB_PROJECT/build/tests/placement/placement
set_up

# Fifty times each kind by one process, since starting one takes longer than the kernel's answer.
for kind in cm_id cq ctx mr pd qp; do
	for _ in {1..50}; do
		echo "resource show $kind"
	done
done >/run/questions

# show: until /run/over is there, and once at least. Leaves how often in /run/rounds, and in /run/shown
# how many lines told of a queue pair that had flowed.
show() {
	local rounds=0
	while :; do
		rdma -dd -b /run/questions >/run/answers || return
		grep -c drv_tx_bytes /run/answers >>/run/shown
		echo $((++rounds)) >/run/rounds
		[[ ! -e /run/over ]] || return 0
	done
}

: >/run/shown
show 2>/run/complaint &
showing=$!
# Those that have the most under way, of each kind.
for group in "outstanding reads" "both directions" "random chains" "with immediate" "contended atomics"; do
	cases "" 600 "$program" --server 10.0.0.1 --server-netns A --client-netns B --only "$group"
done
: >/run/over
name="rdma res show beside them"
if wait $showing && flowed=$(awk '{ sum += $1 } END { print sum + 0 }' /run/shown) && ((flowed > 0)); then
	ok "$name, $(($(</run/rounds) * 50)) times, with $flowed queue pairs whose data flowed"
else
	not_ok "$name" "it failed, or none had data that flowed, in $(cat /run/rounds) rounds" "$(</run/complaint)"
fi

finish
