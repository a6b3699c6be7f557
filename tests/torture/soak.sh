#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rounds of mixed traffic for SOAK_SECONDS; at the end nothing has grown: no memory, no kernel object, no
# descriptor, no socket, and no counter of a fault.

# Called by name.
# shellcheck disable=SC2317
source "${BASH_SOURCE[0]%/*}/lib.sh"
seconds=${SOAK_SECONDS:-3600} seed=${SEED:-1}
connections=$LAB_PROJECT/build/tests/connections/connections

set_up
hold_refusals >/run/said

# perftest NAME COMMAND COUNT: where refusals can't be held back, perftest may crash by itself. It is
# then run again, any number of times, and not counted. Its measurements do not matter here; in User
# Mode Linux, whose processor has no known frequency, they are 0.
perftest() {
	local status=$again left=5
	while ((status == again && left-- > 0)); do
		status=0
		perftest_once "$2 -R -F -n $3" "$3" 60 >/run/perftest || status=$?
	done
	((status != 0 || SERVER_STATUS == 0)) || status=1
	tried "$1" $status "$said$CLIENT_OUTPUT"
}

# verbs: every operation between two ends, every byte verified.
verbs() {
	local status=0 output
	output=$(timeout -k 5 $((120 * patience)) "$torture" bulk --megabytes 8 --seed $((seed + had[verbs]))) || status=$?
	tried verbs $status "$output"
}

# connect COUNT AT-ONCE
connect() {
	local status=0
	session "$connections server 10.0.0.1 $1" "$connections client 10.0.0.1 $1 $2" 120 && ((SERVER_STATUS == 0)) || status=1
	tried connections $status "$said$SERVER_OUTPUT"
	connected=$((connected + $1))
}

had[verbs]=0
round() {
	verbs
	perftest "perftest: sends" "ib_send_lat -e -s 4096" 200
	perftest "perftest: writes" "ib_write_bw -s 65536" 200
	perftest "perftest: reads" "ib_read_bw -e -s 65536" 100
	perftest "perftest: small writes" "ib_write_bw -s 64 -q 4" 200
	perftest "perftest: atomics" "ib_atomic_lat -e" 50
	connect 40 1
	connect 32 32
}

soak soak "$seconds"

works "soak: afterwards it works"
gone
finish
