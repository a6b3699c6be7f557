#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1500 where=uml order=4 seldom unsearched
#
# mpibench between two hosts, over TCP, over RDMA, and with its one-sided calls alone by RDMA: each
# program small, its results checked by itself, and what carried the bytes by the devices' counters. And
# what a user does wrong, a rank that is killed, and a host without a device.

source "${BASH_SOURCE[0]%/*}/../../tests/integration/lib.sh"
set_up

project=$LAB_PROJECT
launch=$project/apps/mpi/launch bench=$project/build/apps/mpi/mpibench
agent=$project/tests/consumers/mpi/agent
printf '10.0.0.1 host-A\n10.0.0.2 host-B\n' >>/etc/hosts
# A namespace's own /sys has no counters of devices.
devices=/proc/1/root/sys/class/infiniband

# launched TRANSPORT HOSTS ARGUMENT...: mpibench on both hosts; what it said is in $said.
launched() {
	local transport=$1 hosts=$2 status=0
	shift 2
	"$agent" host-A timeout -k 5 $((60 * ${WEFT_PATIENCE:-1})) "$launch" --agent "$agent" --transport "$transport" \
		"$hosts" "$@" >/run/mpi 2>&1 </dev/null || status=$?
	said=$(</run/mpi)
	return "$status"
}

# field NAME REGEX: a number of the last result that matches.
field() { grep -E -- "$2" /run/mpi | tail -n 1 | grep -oE "\"$1\": [0-9.]+" | grep -oE '[0-9.]+$'; }

# heard TRANSPORT HOSTS ARGUMENT...: the same, and tells what it said.
# shellcheck disable=SC2317 # by name, from complains
heard() {
	local status=0
	launched "$@" || status=$?
	echo "$said"
	return "$status"
}

# measured_by TRANSPORT RESULTS EXPERIMENT...: all experiments are right, and so many results are there.
measured_by() {
	launched "$1" host-A,host-B --devices "$devices" "${@:3}" && (($(grep -c '^{"experiment": "[^t]' /run/mpi) == $2))
	judge $? "$1: $3 and what follows, $2 results, each checked" "launch failed, or there are not so many, without the traffic" "$said" 40
}

# carried NAME FIELD LEAST MOST EXPERIMENT: what the counters said of an experiment of the last run.
carried() {
	local bytes
	bytes=$(field "$2" "\"of\": \"$5\"")
	[[ -n $bytes ]] && ((bytes >= $3 && bytes <= $4))
	judge $? "$1 ($bytes bytes)" "$2 of $5 is ${bytes:-not told}, and not from $3 to $4"
}
any=1000000000

measured_by hybrid 9 latency --sizes 64,65536 --rounds 4 -- onesided --sizes 8,65536 --rounds 4
carried "hybrid: messages go by sockets alone" device_bytes 0 0 latency
carried "hybrid: messages go by sockets" interface_bytes 1800000 $any latency
carried "hybrid: one-sided calls go by Weft" device_bytes 1000000 $any onesided
two_sided=$(($(field interface_bytes '"of": "onesided"') - $(field device_bytes '"of": "onesided"')))
((two_sided < 300000))
judge $? "hybrid: little else than what Weft sent was on the wire ($two_sided bytes, frames' headers included)" "it is too much"
measured_by tcp 8 latency --sizes 64 --rounds 4 -- bandwidth --sizes 4096 --rounds 8 -- logp --sizes 64 --rounds 4 -- \
	posted --lengths 0,16 --sizes 16 --rounds 4 -- unexpected --lengths 16 --sizes 16 --rounds 4 -- \
	overlap --operation send --compute sleep --sizes 65536 --rounds 4 -- onesided --operation put --sizes 8 --rounds 4
carried "tcp: nothing goes by Weft" device_bytes 0 0 onesided
measured_by rdma 4 latency --sizes 64,65536 --rounds 4 -- allreduce --sizes 8,65536 --rounds 4
carried "rdma: messages go by Weft" device_bytes 1800000 $any latency

# The two programs, on three ranks: two of them on one host.
for by in messages onesided; do
	launched hybrid host-A:2,host-B --devices "$devices" halo --by $by --grid 24 --steps 5 -- farm --by $by --tasks 6
	judge $? "hybrid: halo and farm of three ranks by $by are those of one process" "launch failed" "$said" 20
done
carried "hybrid: the farm's calls go by Weft" device_bytes 500 $any farm

# complains NAME REGEX COMMAND...: COMMAND fails and says something that matches.
complains() { refused "$1" "$2" 70 "${@:3}"; }

# libonesided.so: each call does what MPI says, and what it does not carry ends the run by name.
calls=$project/build/apps/mpi/calls calls_fortran=$project/build/apps/mpi/calls_fortran
for transport in tcp hybrid; do # by messages it must be right as well
	for language in C Fortran; do
		program=$calls
		[[ $language == C ]] || program=$calls_fortran
		launched $transport host-A,host-B "$program" && [[ $said == *"did what MPI says"* ]]
		judge $? "$transport: put, get, accumulate, fetch, locks and two windows in $language" "${program##*/} failed" "$said" 20
	done
done
complains "libonesided: a request in Fortran is refused" "onesided: rank 0: MPI_Rput: this call is not carried by RDMA" \
	heard hybrid host-A,host-B "$calls_fortran" request
while read -r case sentence; do
	complains "libonesided: $case is refused" "onesided: rank 0: $sentence" heard hybrid host-A,host-B "$calls" "$case"
done <<'END'
origin MPI_Put: .*a derived datatype
target MPI_Put: .*a derived datatype
length MPI_Get: the two ends .* differ in length
past MPI_Put: .*past the end of a window of 512 bytes
before MPI_Get: .*offset outside of its window
far MPI_Put: .*outside of its window
request MPI_Rput: this call is not carried by RDMA
post MPI_Win_post: this call is not carried by RDMA
operation MPI_Accumulate: the operation is none for this type
END

# Weft over SCTP: the same calls, over associations.
sctp_packets() { on_a sed -n 's/^SctpOutSCTPPacks[[:space:]]*//p' /proc/net/sctp/snmp; }
modprobe -q sctp
before=$(sctp_packets)
each transport sctp && launched hybrid host-A,host-B onesided --sizes 8,16384 --rounds 2 && (($(sctp_packets) - before >= 40))
judge $? "hybrid: one-sided calls go by SCTP where Weft does" "launch failed, or it were $(($(sctp_packets) - before)) packets" "$said" 20
each transport tcp

complains "a wrong size" "takes whole numbers from 0 to" "$bench" latency --sizes 1k
complains "no experiment" "an experiment is missing" "$bench"
complains "a transport that there is not" "no transport 'udp': tcp, rdma, hybrid" "$launch" --transport udp host-A,host-B latency
for hosts in host-A:0,host-B host-A,,host-B "host-A,host-B," ,host-A host-A,:2 host-A,-b ''; do
	complains "hosts that are none: '$hosts'" "launch: .* is no HOST or HOST:RANKS" "$launch" "$hosts" latency
done
complains "a host that nobody knows is named" "launch: this machine does not know 'host-X': is the name right" \
	heard tcp host-A,host-X latency
complains "an interface that there is not is named" "launch: there is no network interface 'eth7' here" \
	heard tcp --interface eth7 host-A,host-B latency
# shellcheck disable=SC2317 # by name, from complains
low_limit() { ulimit -l 8192 && heard rdma host-A,host-B /bin/false; }
complains "a limit of locked memory is named when a run has failed" "launch: .* may lock 8192 KiB here.*: ulimit -l unlimited" low_limit
complains "one rank" "it takes two" heard tcp host-A latency
complains "a full disk: where the results are is said" "cannot write to /dev/full.*standard output" \
	heard tcp host-A,host-B --json /dev/full latency --sizes 1 --rounds 2

# endless [WORD...]: begins a run without an end, by WORDs before its command; sets $launcher.
endless() {
	# Only with words: without the option, a timeout ends the whole group.
	: >/run/killed
	"$@" "$agent" host-A timeout ${1:+--foreground} -k 5 $((60 * ${WEFT_PATIENCE:-1})) "$launch" --agent "$agent" --transport hybrid \
		host-A,host-B onesided --sizes 8 --rounds 1000000 -- latency --rounds 1000000 >/run/killed 2>&1 </dev/null &
	launcher=$!
	wait_for 40 grep -qs "^mpibench: onesided" /run/killed
}
# shellcheck disable=SC2317 # by name, from wait_for
gone() { ! pgrep -x mpibench >/dev/null; }

# A rank that is killed, of this lab's, the only ones: mpirun ends the others, and says which.
endless && kill -KILL "$(pgrep -nx mpibench)" && wait_for 30 ended $launcher
in_time=$? status=0
wait $launcher || status=$?
((in_time == 0 && status)) && grep -qE 'signal 9|peer ended the connection' /run/killed && wait_for 10 gone
judge $? "a rank that is killed: the others end, and it is said why" "status $status, begun and ended in time: $in_time" "$(</run/killed)"

# Ctrl-C, for which a process in the background is deaf unless it is told otherwise.
status=0
endless setsid env --default-signal=INT && kill -INT -- "-$launcher"
wait $launcher || status=$?
((status == 130)) && grep -q '^launch: interrupted' /run/killed && wait_for 10 gone
judge $? "Ctrl-C ends all ranks, and it is said" "status $status" "$(</run/killed)"

# Without a device: a sentence that says what to do.
rdma link del weft1
complains "hybrid without a device: the next step is said" "rdma link add weft0 type weft netdev" \
	heard hybrid host-A,host-B latency --sizes 1 --rounds 2
complains "rdma without a device: the next step is said" "does each host have an RDMA device" \
	heard rdma host-A,host-B latency --sizes 1 --rounds 2
on_b rdma link add weft1 type weft netdev eth0
works "after MPI"
finish
