#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=600 where=uml order=53 seldom unsearched
#
# Shared memory on two and four hosts, over RDMA and TCP: each kernel's result is that of one process; a
# host that is killed or stays away, a missing device and wrong arguments are said clearly by all.

# shellcheck disable=SC2317 # functions are called by name, from check
source "${BASH_SOURCE[0]%/*}/../../tests/integration/lib.sh"
source "${BASH_SOURCE[0]%/*}/hosts.sh"

if ! make_hosts 4 1; then
	not_ok "four hosts" "apps/sharedmemory/hosts.sh could not make them"
	finish
fi

# equals NAME N TRANSPORT ARGUMENTS...: a run of which host 0 says that the result is right, and each how long
# it took.
equals() {
	local name=$1 hosts=$2 said status=0
	shift
	said=$(ranks "$1" "$2" 60 "${@:3}") || status=$?
	((status == 0)) && grep -q '^host 0: the result is that of one process, bit by bit$' <<<"$said" &&
		(($(grep -c ' s: computing .* locks ' <<<"$said") == hosts))
	judge $? "$name" "status $status" "$said" 30
}
kernels=("fft --size 1024" "lu --size 64" "radix --size 4096 --bits 6" "barnes --size 128" "ocean --size 32")
for transport in rdma tcp; do
	for hosts in 2 4; do
		for kernel in "${kernels[@]}"; do
			# shellcheck disable=SC2086 # an option each
			equals "$transport: ${kernel%% *} on $hosts hosts" $hosts $transport $kernel
		done
	done
done
check "what went by RDMA went through Weft" test "$(moved)" -gt 100000
atomics=$(cat /sys/class/infiniband/weft0/ports/1/hw_counters/rx_atomic_requests)
check "barriers and locks were atomics of Weft ($atomics on host 0)" test "$atomics" -gt 100

# --- a host is killed ---
# Enough work for minutes.
long=(ocean --size 64 --steps 10000)
busy() { (($(cat /sys/class/infiniband/weft0/ports/1/hw_counters/rx_atomic_requests) > atomics + 50)); }
for transport in rdma tcp; do
	for victim in 2 0; do
		atomics=$(cat /sys/class/infiniband/weft0/ports/1/hw_counters/rx_atomic_requests)
		begin 3 $transport "${long[@]}"
		if [[ $transport == rdma ]]; then
			await "the hosts are at work" 20 busy
		else
			pause 2
		fi
		kill -KILL "${started[victim]}"
		ended_all 15
		for host in 0 1 2; do
			((host == victim)) || check "$transport: host $host hears that host $victim was killed" \
				grep -q "sharedmemory: host $victim ended" "/run/rank.$host"
		done
		check "$transport: each survivor ended with status 1" test "${statuses[*]}" = \
			"$([[ $victim == 0 ]] && echo 137 1 1 || echo 1 1 137)"
	done
done
equals "after that all is as before" 2 rdma fft --size 1024

# --- what is wrong from the beginning ---
list=$(addresses 2)
refused "a host that does not come is named" "host 1 .* did not come" 20 \
	on 0 "$program" fft --hosts "$list" --rank 0 --patience 1
refused "a host that is not there is named" "host 0 .* is not there" 20 \
	on 1 "$program" fft --hosts "$list" --rank 1 --patience 1
begin 2 rdma fft
kill -KILL "${started[1]}"
on 1 "$program" lu --hosts "$(addresses 2)" --rank 1 >/run/rank.1 2>&1
ended_all 15
check "another kernel on another host is refused there" grep -q "host 0 .* runs 'fft .*this host 'lu" /run/rank.1
check "and here" grep -q "host 1 .* runs 'lu .*this host 'fft" /run/rank.0
# limited HOST COMMAND...: as an ordinary user, who may lock 64 KiB of memory.
# shellcheck disable=SC2016 # for the shell below
limited() {
	local host=$1
	shift
	on "$host" setpriv --reuid=65534 --regid=65534 --clear-groups bash -c 'ulimit -l 64 && exec "$@"' _ "$@"
}
refused "a limit of locked memory on host 0 is said" "^sharedmemory: registering .* raise the limit of locked memory" 10 \
	limited 0 "$program" fft --hosts "$list" --rank 0
begin 2 rdma fft
kill -KILL "${started[1]}"
refused "a limit of locked memory on host 1 is not host 0's" "^sharedmemory: registering .* raise the limit of locked memory" 10 \
	limited 1 "$program" fft --hosts "$(addresses 2)" --rank 1
kill "${started[0]}"
ended_all 15
refused "a size that is none" "a power of 4, not 1000" 5 on 0 "$program" fft --alone --size 1000
refused "a kernel that is none" "there is no kernel" 5 on 0 "$program" fff --alone
refused "a full disk" "disk full" 5 on 0 bash -c "'$program' fft --alone --size 1024 >/dev/full"
on 0 rdma link del weft0
refused "a missing device is said, and what to do" "no RDMA device .*rdma link add" 10 \
	on 0 "$program" fft --hosts "$list" --rank 0

finish
