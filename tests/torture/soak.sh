#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Soak: rounds of mixed traffic for a long time; at the end nothing has grown: no memory, no kernel
# object, no descriptor, no socket, and no counter of a fault.
#
# SOAK_SECONDS: how long.

# Called by name; awk's own $.
# shellcheck disable=SC2317,SC2016
# shellcheck source=tests/torture/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
seconds=${SOAK_SECONDS:-3600} seed=${SEED:-1}
connections=$LAB_PROJECT/build/tests/connections/connections
# Of each kind of traffic: how often it was had, and how often it went wrong.
declare -A had=() wrong=()
together=0

set_up
hold_refusals >/run/said

# tried NAME STATUS: counts; what went wrong is a failure of that kind.
tried() {
	had[$1]=$((${had[$1]:-0} + 1))
	(($2 == 0)) || wrong[$1]=$((${wrong[$1]:-0} + 1))
}

# perftest NAME COMMAND COUNT: where refusals can't be held back, perftest may crash by itself, as often
# as it likes; then it is run again and not counted. What it measures does not matter here, and in User
# Mode Linux, whose processor tells no frequency, is 0.
perftest() {
	local status=$again left=5
	while ((status == again && left-- > 0)); do
		status=0
		perftest_once "$2 -R -F -n $3" "$3" 60 >/run/perftest || status=$?
	done
	((status != 0 || SERVER_STATUS == 0)) || status=1
	((status == 0)) || explain "$said$CLIENT_OUTPUT"
	tried "$1" $status
}

# verbs: every operation between two ends, every byte verified.
verbs() {
	local status=0 output
	output=$(timeout -k 5 $((120 * patience)) "$torture" bulk --megabytes 8 --seed $((seed + had[verbs]))) || status=$?
	((status == 0)) || explain "$output"
	tried verbs $status
}

# connect COUNT AT-ONCE
connect() {
	local status=0
	session "$connections server 10.0.0.1 $1" "$connections client 10.0.0.1 $1 $2" 120 && ((SERVER_STATUS == 0)) || status=1
	((status == 0)) || explain "$said$SERVER_OUTPUT"
	tried connections $status
	together=$((together + $1))
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

# faults FILE: the counters that count what must not happen here.
faults() {
	local counter device
	for device in weft0 weft1; do
		for counter in rx_crc_errors conn_timed_out conn_without_crc conn_refused_by_us; do
			echo "$device $counter $(</sys/class/infiniband/$device/ports/1/hw_counters/$counter)"
		done
	done >"$1"
}
# counters: all of them, in one line.
counters() { cat /sys/class/infiniband/weft?/ports/1/hw_counters/[rtc]* | tr '\n' ' '; }

faults /run/faults.begin
# What is made once, is made in the first rounds.
for _ in 1 2; do round; done
now /run/begin
before=$together began=$SECONDS rounds=0
while ((SECONDS - began < seconds)); do
	round
	rounds=$((rounds + 1))
	((rounds % 10)) || echo "# $rounds rounds in $((SECONDS - began)) s; $(grep SUnreclaim /proc/meminfo)"
done
now /run/end
faults /run/faults.end
made=$((together - before))

for kind in "${!had[@]}"; do
	row "soak: $kind" "${had[$kind]}" "each came to its end" \
		"${wrong[$kind]:+${wrong[$kind]} of ${had[$kind]} went wrong}"
done

not_grown soak "$made"
row "soak: counters of faults" "$(wc -l </run/faults.end)" "each as before" \
	"$(diff /run/faults.begin /run/faults.end | sed -n 's/^> //p' | tr '\n' ';')"
first=$(counters)
pause 5
row "soak: counters when all is quiet" "$(wc -w <<<"$first")" "none moves" "$([[ $(counters) == "$first" ]] || echo "some do")"

works "soak: afterwards it works"
gone
finish
