#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=600 where=stock order=4
# Counts what sending a megabyte costs against iperf3 on the same link: calls into TCP's transmit
# function, and packets. It needs kprobes, which User Mode Linux has not.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up
hold_refusals

echo "p:weft_test/sendmsg tcp_sendmsg_locked" >>$trace/kprobe_events
echo "p:weft_test/sendpages do_tcp_sendpages" >>$trace/kprobe_events
echo 1 >$trace/events/weft_test/enable

calls() { awk '/weft_test_|sendmsg|sendpages/ { sum += $2 } END { print sum + 0 }' $trace/kprobe_profile; }
packets() { ip netns exec "$1" cat /sys/class/net/eth0/statistics/tx_packets; }

# count SESSION...: a session of that kind; sets counted to calls, packets from B to A, and packets from A to B.
count() {
	local before after
	before="$(calls) $(packets B) $(packets A)"
	"$@" 60 || return 1
	after="$(calls) $(packets B) $(packets A)"
	counted=$(awk '{ print $4 - $1, $5 - $2, $6 - $3 }' <<<"$before $after")
}

echo "# counting what 64 MB cost"
if count session "iperf3 -s -1" "iperf3 -c 10.0.0.1 -n 64M"; then
	echo "# iperf3 with its own 128 KiB writes: $counted (calls, packets, packets back)"
fi
# The measure: writes as long as the shorter messages.
sum='0 0 0'
for round in 1 2 3; do
	count session "iperf3 -s -1" "iperf3 -c 10.0.0.1 -n 64M -l 65536" || give_up "iperf3" "it failed" "$said"
	echo "# iperf3 -l 65536, round $round: $counted (calls, packets, packets back)"
	sum=$(awk '{ print $1 + $4, $2 + $5, $3 + $6 }' <<<"$sum $counted")
done
tcp=$(awk '{ print $1 / 3, $2 / 3, $3 / 3 }' <<<"$sum")

for setting in "1048576 64" "65536 1024"; do
	read -r size number <<<"$setting"
	name="64 MB of writes of $size bytes"
	arguments="-R -F -s $size -n $number"
	if ! count perftest_session "ib_write_bw $arguments" "$number"; then
		not_ok "$name" "ib_write_bw failed" "$said"
		continue
	fi
	line=$(awk '{
		printf "per MB: %.1f calls (iperf3 %.1f, ratio %.2f), %.1f packets (iperf3 %.1f, ratio %.2f), ", $1 / 64, $4 / 64, $1 / $4,
			$2 / 64, $5 / 64, $2 / $5
		printf "%.1f back (iperf3 %.1f)\n", $3 / 64, $6 / 64
		exit !($1 <= 1.3 * $4 && $2 <= 1.3 * $5) }' <<<"$counted $tcp")
	judge $? "$name, within 1.3 times iperf3 ($line)" "the limit is 1.3"
done
echo 0 >$trace/events/weft_test/enable
echo >$trace/kprobe_events
finish
