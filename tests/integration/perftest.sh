#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1200 where=uml order=2 mtu=1500 unsearched allow=perftest consumer=perftest
# lab: limit=1200 where=uml order=3 mtu=9000 seldom unsearched allow=perftest consumer=perftest
# lab: limit=1200 where=uml order=28 transport=sctp seldom unsearched allow=perftest
# lab: limit=1200 where=uml order=44 transport=paths seldom unsearched allow=perftest
# Unmodified perftest programs between the two hosts, at sizes from a byte to a megabyte. Speeds are printed and
# not judged: the machine is emulated. In User Mode Linux there are none.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up
hold_refusals
want_times

# Small messages need many to say anything; a megabyte is a thousand segments. Frames that are not
# 1500 bytes make a difference to messages of several of them alone, and another carrier to short, middle and long ones.
declare -A iterations=([1]=300 [64]=300 [4096]=200 [65536]=100 [1048576]=10)
sizes=(1 64 4096 65536 1048576)
((mtu == 1500)) || sizes=(4096 65536 1048576)
limit=45
# SCTP brings 3 MB/s through a busy emulated machine, so 200 MiB take a minute. Fewer would not do: up to 100 messages
# ib_send_bw -e asks for one completion, of the last, and waits for that before it takes the credit which it needs to send it.
carrier=${WEFT_TRANSPORT:-tcp}${WEFT_PATHS:+ on $WEFT_PATHS paths}
[[ $carrier == tcp ]] || limit=120 sizes=(64 65536 1048576)

# result NAME COMMAND SIZE ITERATIONS: runs a tool on both hosts; the client must print its
# result line, whose count is that of all queue pairs, as many bytes must arrive, and both must end well.
result() {
	local command="$2 -R -F -n $4" since
	# The size of an atomic operation is not to be chosen.
	[[ $2 == ib_atomic* ]] || command+=" -s $3"
	since=$(moved)
	perftest_session "$command" "$4" $limit
	transferred $? "$1" "$3" $((2 * $3 * $4)) "$since"
}

for tool in ib_write_bw ib_read_bw ib_send_bw ib_send_lat ib_write_lat ib_read_lat; do
	for size in "${sizes[@]}"; do
		count=${iterations[$size]} options=''
		# Latency is measured a message at a time.
		[[ $tool == *_lat ]] && count=$((count / 5 + 5))
		# A program that polls keeps one of two emulated processors from the kernel, so the
		# larger sizes wait for events where the tool can. ib_send_bw can with luck (see above).
		((size >= 4096)) && [[ $tool != ib_write_* && $tool != ib_send_bw ]] && options=' -e'
		result "mtu $mtu: $tool$options of $size bytes" "$tool$options" "$size" "$count"
	done
done

result "mtu $mtu: both ways at once, ib_write_bw -b" "ib_write_bw -b" 65536 100
result "mtu $mtu: both ways at once, ib_send_bw -b" "ib_send_bw -b" 65536 100
result "mtu $mtu: four queue pairs, ib_write_bw -q 4" "ib_write_bw -q 4" 65536 50

# Every other mode that a connection can have; the size of the segments matters little. With --use-srq and several queue
# pairs, perftest 4.5 hangs on any iWARP device: it counts a receive of the shared queue for the queue pair that posted it, and
# gives the credit to a sender that has sent less. That sender's window becomes negative, and counts as full.
if [[ $mtu == 1500 ]]; then
	# Over another carrier those of which each does something else with the stream.
	while read -r -u 3 carriers size count command; do
		[[ $carriers == all || $carrier == tcp ]] || continue
		result "mtu $mtu: $command of $size bytes" "$command" "$size" "$count"
	done 3<<-'END'
		tcp 1048576 200 ib_send_bw -e
		all 65536 1024 ib_send_bw -e
		tcp 4096 1024 ib_send_bw -e
		all 65536 50 ib_read_bw -b
		tcp 4096 50 ib_send_bw -q 8
		all 4096 200 ib_send_bw --use-srq
		tcp 64 100 ib_send_lat --use-srq -e
		tcp 64 100 ib_send_lat --use-srq
		tcp 4096 50 ib_read_bw -q 8
		all 4096 20 ib_write_bw -q 64
		tcp 64 512 ib_send_bw -l 16
		tcp 4096 512 ib_write_bw -l 16
		tcp 4096 512 ib_read_bw -l 16
		tcp 64 200 ib_send_bw -I 64
		tcp 128 200 ib_write_bw -I 128
		tcp 64 100 ib_send_lat -I 64
		tcp 64 100 ib_write_lat -I 64
		all 8 200 ib_atomic_bw -A FETCH_AND_ADD
		tcp 8 200 ib_atomic_bw -A CMP_AND_SWAP -e
		all 8 100 ib_atomic_bw -b -q 4
		tcp 8 100 ib_atomic_lat -A FETCH_AND_ADD
		tcp 8 100 ib_atomic_lat -A CMP_AND_SWAP -e
	END
	works "after all of perftest"
fi
finish
