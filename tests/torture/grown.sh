# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Rows of the table of make torture, and what must not grow however long it goes on: memory, kernel
# objects, files, sockets, and what programs hold of the RDMA core. For labs that have sourced
# tests/integration/lib.sh.

# awk has a $ of its own; some is called by name.
# shellcheck disable=SC2016,SC2317

# row WHAT COUNT OUTCOME [FAILURE]: a row of the table, and its test. Nothing tried is a failure.
row() {
	if [[ -n ${4-} ]]; then
		echo "row|$1|$2|FAILED: $4"
		not_ok "$1" "$4"
	elif [[ ! $2 =~ ^[1-9][0-9]*$ ]]; then
		echo "row|$1|$2|FAILED: it was tried no times"
		not_ok "$1" "it was tried no times"
	else
		echo "row|$1|$2|$3"
		ok "$1"
	fi
}

# now FILE: memory and objects, a line each: name and number.
now() {
	wait_for 30 quiet_a || true
	# Sockets that wait for their last packets, and what RCU and worker threads have still to free.
	wait_for 90 quiet_sockets || true
	pause 3
	sync
	echo 3 >/proc/sys/vm/drop_caches
	pause 1
	{
		awk '/^(SUnreclaim|PageTables|VmallocUsed|Percpu|Mlocked|Unevictable|KernelStack):/ { print "memory:" $1, $2 }' /proc/meminfo
		awk '/^MemAvailable:/ { print "used:", -$2 }' /proc/meminfo
		awk 'NR > 2 && ($1 ~ /^(kmalloc|weft|TCP|sock|request_sock|skbuff|dma-kmalloc|filp|task_struct|vm_area|radix)/) {
			print "objects:" $1, $2 }' /proc/slabinfo
		awk '{ print "files:", $1 - $2 }' /proc/sys/fs/file-nr
		for host in A B; do
			ip netns exec "$host" awk -v h="$host" '/^TCP:/ { print "sockets:" h, $3; print "orphans:" h, $5 }' /proc/net/sockstat
		done
		for kind in qp cm_id cq mr pd ctx srq; do
			echo "rdma:$kind $(rdma res show $kind 2>/dev/null | grep -c weft)"
		done
		echo "module: $(awk '$1 == "weft" { print $3 }' /proc/modules)"
		processes=(/proc/[0-9]*)
		echo "processes: ${#processes[@]}"
	} >"$1"
}
quiet_sockets() {
	local host
	for host in A B; do
		[[ $(ip netns exec "$host" awk '/^TCP:/ { print $3 + $5 }' /proc/net/sockstat) == 0 ]] || return
	done
}

# grown PATTERN SLACK: lines that have grown by more than that.
grown() {
	join <(grep -E "^($1)" /run/begin | sort) <(grep -E "^($1)" /run/end | sort) |
		awk -v slack="$2" '$3 - $2 > slack { printf "%s%s from %s to %s", sep, $1, $2, $3; sep = ", " }'
}
# not_grown NAME CONNECTIONS: the rows of what now has said in /run/begin and, so many connections
# later, in /run/end.
not_grown() {
	local made=$2 slack
	slack=$((made / 2 > 400 ? made / 2 : 400))
	cp /run/begin /run/end "$LAB_OUT/"
	# An object lost with each connection shows in these, whatever else comes and goes.
	row "$1: kinds of kernel object that did not grow" "$(grep -c ^objects: /run/end)" \
		"over $made connections, by no more than half as many" "$(grown objects: $slack)"
	# In KiB. What is cached comes and goes, within less than that.
	row "$1: kinds of kernel memory that did not grow" "$(grep -c ^memory: /run/end)" \
		"SUnreclaim $(awk '/SUnreclaim/ { printf "%s", $2 }' /run/begin) to $(awk '/SUnreclaim/ { printf "%s", $2 }' /run/end) KiB" \
		"$(grown memory: 2048)"
	row "$1: MemAvailable" 1 "$(awk '/^used:/ { printf "%s", -$2 }' /run/begin) to $(awk '/^used:/ { printf "%s", -$2 }' /run/end) KiB" \
		"$(grown used: 8192)"
	row "$1: files, sockets, objects of rdma's, users of the module" "$(grep -cE '^(files|sockets|orphans|rdma|module|processes)' /run/end)" \
		"each as many as before" "$(grown 'sockets|orphans|rdma|module' 0)$(grown 'files|processes' 16)"
}
