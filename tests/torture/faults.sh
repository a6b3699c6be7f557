#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each allocation and copy of each scenario fails once, or one of FAULT_STEP; then they fail at random for
# FAULT_SECONDS, of the kernel's own threads, of the programs, and in interrupts.

source "${BASH_SOURCE[0]%/*}/lib.sh"
step=${FAULT_STEP:-1} seconds=${FAULT_SECONDS:-300}
debugfs=/sys/kernel/debug kinds=(failslab fail_page_alloc fail_usercopy)

set_up
if [[ ! -e /proc/self/fail-nth || ! -d $debugfs/failslab ]]; then
	not_ok "fault injection" "this kernel has none; scripts/kernels/build uml-debug builds one that has"
	finish
fi
# of_each SETTING VALUE: of every kind of failure. verbose: of each that was ordered the kernel's log tells nothing (0), or
# who asked (2).
of_each() {
	local kind
	for kind in "${kinds[@]}"; do echo "$2" >"$debugfs/$kind/$1"; done
}
of_each verbose 0
of_each times -1
# Allocations that may wait fail as well, of any size.
echo N >$debugfs/failslab/ignore-gfp-wait
echo N >$debugfs/fail_page_alloc/ignore-gfp-wait
echo N >$debugfs/fail_page_alloc/ignore-gfp-highmem
echo 0 >$debugfs/fail_page_alloc/min-order
ip -n B link add dummy7 address 02:00:00:00:00:07 type dummy
ip -n B link set dummy7 up

# Those that have the kernel allocate are in a memory cgroup, which pays for it.
cgroup=/sys/fs/cgroup/torture
mkdir -p /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir $cgroup || not_ok "a memory cgroup" "there is none"
# in_cgroup COMMAND...: runs it there.
# shellcheck disable=SC2016,SC2317 # the inner shell's; called by program
in_cgroup() { bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cgroup" "$@"; }

# Once without a failure, so that what is kept for ever is there already.
torture_by=in_cgroup
program "before" 600 errors --seconds 1
if [[ -d $debugfs/slab ]]; then
	holding /run/at_first
	grep -q ' from weft_' /run/at_first || not_ok "who allocated what" "the kernel does not say; it needs slub_debug=U"
	sed 's/^/# at first: /' /run/at_first
elif [[ ! -w $debugfs/kmemleak ]]; then
	not_ok "leaks" "this kernel has nothing that finds them"
fi

# no_leaks WHEN
no_leaks() {
	[[ ! -f /run/at_first ]] || nothing_leaks "nothing leaks: $1" /run/at_first
	[[ ! -w $debugfs/kmemleak ]] || check "nothing leaks: $1" test -z "$(leaks)"
}

# One failure for each process: what had it wait, if it does, is told.
of_each verbose 2
program "" 36000 faults --step "$step" ${FAULT_ONLY:+--only "$FAULT_ONLY"}
of_each verbose 0
no_leaks "one failure each"

# mark 1|0: whether allocations of the kernel's own threads can fail; those to come have it from the
# one that starts them.
mark() {
	local process name
	marked=0
	for process in /proc/[0-9]*; do
		name=$(<"$process/comm") 2>/dev/null || continue
		case $name in
		kworker/* | ksoftirqd/* | kthreadd) echo "$1" >"$process/make-it-fail" && marked=$((marked + 1)) ;;
		esac
	done 2>/dev/null
}

# at_random NAME TASK-FILTER "KIND=PROBABILITY..." OPTIONS...: some of them fail while programs run.
at_random() {
	local name=$1 setting
	of_each task-filter "$2"
	while read -r -d ' ' setting; do
		echo "${setting#*=}" >"$debugfs/${setting%=*}/probability"
	done <<<"$3 "
	program "$name" $((seconds + 300 * patience)) errors --seconds "$seconds" "${@:4}"
	of_each probability 0
	works "$name: afterwards it works"
	no_leaks "$name"
}
if ((seconds > 0)); then
	mark 1
	((marked > 2)) || not_ok "threads that fail" "only $marked of the kernel's threads are marked"
	# Once connected: rdma_cm of 6.1 waits for itself when it runs out of memory for an incoming request
	# (ucma_connect_event_handler() destroys the identifier whose handler it is), whatever the device.
	for scenario in "every operation" disconnect; do
		at_random "the kernel's threads, $scenario" Y "fail_usercopy=0" --only "$scenario" --probability 5
	done
	mark 0
	at_random "the programs" Y "failslab=1 fail_page_alloc=1 fail_usercopy=1" --marked
	# Those that can't wait, wherever they are.
	echo Y >$debugfs/failslab/ignore-gfp-wait
	at_random "interrupts" N "failslab=5"
fi

ip -n B link del dummy7
gone
finish
