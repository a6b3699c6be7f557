#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1200 where=counted order=1 debug module=udmabuf:stock
# lab: limit=1200 where=smp name=verbs-smp twin
# lab: limit=1200 where=uml order=29 transport=sctp seldom module=udmabuf:stock
# lab: limit=1200 where=uml order=43 transport=paths seldom module=udmabuf:stock
# The program of tests/verbs: shared receive queues, the extended interfaces, memory windows, objects that
# change under traffic. Its groups count as tests.

source "${BASH_SOURCE[0]%/*}/lib.sh"
program=$LAB_PROJECT/build/tests/verbs/verbs
set_up
[[ -e /dev/udmabuf ]] || insmod "$LAB_PROJECT/build/udmabuf/udmabuf.ko" || echo "# no udmabuf: scripts/mainline udmabuf builds it"

# For the large regions, before memory is in pieces.
[[ ! -e /proc/sys/vm/nr_hugepages ]] || echo 40 >/proc/sys/vm/nr_hugepages

[[ -x $program ]] || give_up "verbs" "$program is missing; run make -C tests/verbs"
# As many queues as the device has, each mapped.
echo 262144 >/proc/sys/vm/max_map_count
echo 1 >$trace/events/weft/weft_limit/enable
# In User Mode Linux, over SCTP and with several paths without the 65536 objects of each kind: they are made on no
# connection, take three quarters of the time, and User Mode Linux maps each at the host, which allows no more.
groups=("") everything=yes objects="max_qp max_cq max_mw max_pd max_srq"
some=("shared receive" ibv_ "thread domain" resized anew capacities lists filled "window" rights
	races doorbells answers keys fork events cgroup "DMA buffers" "threads on")
[[ $(uname -r) != *-uml-* ]] || everything=no groups=("${some[@]}")
[[ -z ${WEFT_TRANSPORT:-}${WEFT_PATHS:-} ]] || objects='' groups=("${some[@]}" "large regions")
if [[ $everything == yes ]]; then
	# Of the lab pyverbs, which runs there.
	if [[ -d /sys/kernel/mm/hugepages/hugepages-2048kB ]]; then
		pyverbs 200 '*_huge_page_traffic'
	else
		skip "pyverbs with huge pages" "this processor has none of 2 MiB"
	fi
fi
# Two kinds of queues more take an emulated machine two minutes and a half: they are left to runs of this lab by name and on other
# kernels. Queue pairs, whose numbers are given out in the same way, stay.
without=()
if [[ $everything == yes && -n $objects && -z ${WEFT_CHOSEN:-} ]]; then
	without=("limits: numbers of other queues") objects="max_qp max_mw max_pd"
fi
for group in "${groups[@]}"; do
	cases "$group" 700 "$program" 10.0.0.1 A B "$group" ${without[@]+"${without[@]}"}
done
# Whose monotonic clocks are ahead of the kernel's.
if [[ -e /proc/self/ns/time ]]; then
	cases "in a time namespace" 60 unshare --time --monotonic 1000000 --fork "$program" 10.0.0.1 A B ibv_start_poll
else
	skip "in a time namespace" "this kernel has none"
fi

# --- the rdma control group of a program bounds its objects ---
group=/run/cgroup/few
# few OBJECTS: a program that makes a region, queues and a queue pair, in a group that has so many, comes to its wait for a peer.
few() {
	local status=0
	echo "weft1 hca_handle=max hca_object=$1" >"$group/rdma.max" || return
	begin few ip netns exec B bash -c "echo \$\$ >$group/cgroup.procs && exec timeout 60 stdbuf -oL ibv_rc_pingpong -d weft1"
	wait_for 5 grep -q 'local address' /run/few || status=$?
	cp "$group/rdma.current" /run/counted
	end few
	((status == 0)) || cat /run/few
	return "$status"
}
if [[ $everything == yes ]] && mkdir -p /run/cgroup && mount -t cgroup2 none /run/cgroup &&
	echo +rdma >/run/cgroup/cgroup.subtree_control && mkdir $group; then
	check "objects within the limit of the rdma control group" few max
	check "  which counts them" grep -qE "^weft1 hca_handle=1 hca_object=[1-9]" /run/counted
	refused "objects past it" "Couldn't (allocate|create|register)" 30 few 2
	umount -l /run/cgroup
elif [[ $everything == yes ]]; then
	skip "the rdma control group" "this kernel has none"
fi

# --- each refusal past a limit has traced the name of the limit ---
grep -o 'weft_limit: .*' $trace/trace | sed 's/ asked=.*//' | sort | uniq -c >/run/refused
devinfo=$(ibv_devinfo -v -d weft1 | tr -d ' \t')
limits="max_qp_wr max_sge max_cqe max_srq_wr max_inline_data"
if [[ $everything == yes && -n $objects && ${skips:-} == *"limits: number"* ]]; then
	skip "past $objects: the trace says so" "none of them was reached"
elif [[ $everything == yes ]]; then
	limits+=" $objects"
fi
for limit in $limits; do
	# weft(7) names the one that verbs have no attribute for.
	value=$(sed -n "s/^$limit://p" <<<"$devinfo")
	check "past $limit: the trace says so" grep -qE "weft_limit: dev=weft[01] $limit=${value:-288}\$" /run/refused
done
finish
