#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=600 where=stock order=5
# Work follows its consumer from processor to processor: receive flow steering (RFS) brings packets to where a
# program posts, and completion vectors call the kernel's consumers where they asked to be called.

source "${BASH_SOURCE[0]%/*}/storage.sh"
source "${BASH_SOURCE[0]%/*}/nvme_disk.sh"
together
storage_set_up nvmet-rdma nvme-rdma
hold_refusals
check "two processors" test "$(nproc)" == 2

# --- packets come where the program is ---
rounds=400

# sent_over: how many packets each of the two processors was handed by the other one (RPS, RFS).
sent_over() {
	local line fields
	while read -r line; do
		read -r -a fields <<<"$line"
		echo $((16#${fields[9]}))
	done </proc/net/softnet_stat
}

# bounced SERVER CLIENT: messages of 64 B go to and fro between two programs that stay on these processors.
# Leaves in $over how many packets each processor was handed.
bounced() {
	local before after
	mapfile -t before < <(sent_over)
	session "taskset -c $1 ib_send_lat -e -R -F -n $rounds -d $server_device" \
		"taskset -c $2 ib_send_lat -e -R -F -n $rounds -d $client_device 10.0.0.1" 60 || return
	mapfile -t after < <(sent_over)
	over=($((after[0] - before[0])) $((after[1] - before[1])))
}

# What calls a consumer on another processor (kernel/queue/cq_consumer.c).
caller=vector_called
check "the kernel tells of each call on another processor" \
	eval "echo $caller >$trace/set_ftrace_filter && echo function >$trace/current_tracer"

# Unless somebody records where a program runs, a packet goes where the hash of its connection leads. That is the right
# processor in one of four sessions, since each direction has a hash of its own.
for queue in /sys/class/net/eth[01]/queues/rx-0; do
	echo 3 >"$queue/rps_cpus"
	echo 256 >"$queue/rps_flow_cnt"
done
echo 256 >/proc/sys/net/core/rps_sock_flow_entries
for programs in "0 1" "1 0" "0 1" "1 0"; do
	name="RFS: packets follow the programs, server and client on processors $programs"
	# shellcheck disable=SC2086 # two numbers
	bounced $programs || { ended_well 1 "$name" && continue; }
	((over[0] >= rounds / 2 && over[1] >= rounds / 2))
	judge $? "$name: ${over[*]} handed over" "fewer than half of $rounds rounds"
done

# A program's thread is woken by whoever writes its completion, whatever vector its queue has.
calls=$(grep -c " $caller " $trace/trace)
check "no program's queue has its consumer called on another processor: $calls times" test "$calls" = 0
echo nop >$trace/current_tracer

# --- vectors are processors, where packets are steered ---
for event in cq_alloc cq_schedule; do echo 1 >$trace/events/rdma_core/$event/enable; done

# called: prints, for each of the two processors, how often a consumer was called on it whose queue has its vector,
# and how often one whose queue has another. Queues whose consumer polls anywhere (UNBOUND_WORKQUEUE) do not count.
called() {
	awk '
	function field(name,  text) {
		if (!match($0, name "=[^ ]*")) return ""
		text = substr($0, RSTART, RLENGTH)
		return substr(text, index(text, "=") + 1)
	}
	/ cq_alloc:/ {
		bound[field("cq.id")] = /UNBOUND/ ? 0 : 1
		vector[field("cq.id")] = field("comp_vector") + 0
	}
	/ cq_schedule:/ && bound[field("cq.id")] {
		cpu = $0
		sub(/^[^[]*\[/, "", cpu)
		cpu += 0
		vector[field("cq.id")] == cpu ? right[cpu]++ : wrong[cpu]++
	}
	END { for (cpu = 0; cpu < 2; cpu++) print right[cpu] + 0, wrong[cpu] + 0 }' $trace/trace
}

check "nvme: the target exports the disk" export_disk
attach 10.0.0.1 10.0.0.2 || give_up "nvme: the host connects" "no disk of the target's appeared"
check "nvme: two programs, each on a processor of its own" timeout $((120 * patience)) fio --name=flows \
	--filename="$device" --direct=1 --ioengine=libaio --rw=randrw --bs=4k --size=4M --iodepth=4 \
	--numjobs=2 --cpus_allowed=0,1 --cpus_allowed_policy=split --output-format=terse
check "nvme: the host disconnects" detach
mapfile -t calls < <(called)
name="vectors: both ends are called on the processor of their queue's vector"
[[ ${calls[0]} =~ ^[1-9][0-9]{2,}\ 0$ && ${calls[1]} =~ ^[1-9][0-9]{2,}\ 0$ ]]
judge $? "$name (${calls[0]% 0} and ${calls[1]% 0} times)" "others, behind these numbers, were called on the other processor"

# A processor that is off is not waited for, also where it is its turn. Packets are handed to processor 0 alone: Linux
# forgets the backlog of a processor that goes between a packet's handing over and the interrupt that tells of it
# (net/core/dev.c, dev_cpu_dead), and later packets of that processor stay there for good.
power=/sys/devices/system/cpu/cpu1/online
processor() { echo "$1" >"$power"; }
read_some() { timeout $((60 * patience)) dd if="$device" of=/dev/null bs=4k count=64 iflag=direct status=none; }
echo 0 >$trace/events/rdma_core/enable
[[ -e $power ]] || give_up "a processor goes" "this machine can't do without one"
attach 10.0.0.1 10.0.0.2 || give_up "a processor goes while both ends work" "no disk of the target's appeared"
for queue in /sys/class/net/eth[01]/queues/rx-0; do
	echo 1 >"$queue/rps_cpus"
	echo 0 >"$queue/rps_flow_cnt"
done
busy "$device"
for round in 1 2 3 4 5; do
	check "a processor goes while both ends work, round $round" processor 0
	check "  the disk is read without it" read_some
	check "  the processor comes back" processor 1
	check "  and the disk is read again" read_some
done
enough "  a processor goes and comes"
idle "  what was in flight ends" 30
same_bytes "  and after it" "$device"
check "  the host disconnects" detach
finish
