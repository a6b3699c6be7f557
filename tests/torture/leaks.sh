# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What the module holds, for parts that look for leaks. Needs a kernel that was started with
# slub_debug=U: it then knows who asked for each object. It does not know of single pages.

# What the kernel allocates on the way, by functions in the trace, and keeps for itself: what memory cgroups know of a new
# slab, and the last references that were dropped on a namespace. So does it with inner nodes of the trees that a device
# is entered in: the numbers of files in sysfs go round, and uverbs leaves some of a tree that it could not make whole.
readonly theirs='memcg_alloc_slab_cgroups|alloc_slab_obj_exts|ref_tracker_alloc'

# held: the objects and mapped pages that the module has allocated, a line for each place: where, and
# how many. `rdma res` counts those that the RDMA core allocates for it.
held() {
	local cache
	# KASAN keeps freed objects for a while, to see who still uses them; SLUB takes them for allocated.
	for cache in /sys/kernel/slab/*/shrink; do
		[[ -L ${cache%/*} ]] || echo 1 >"$cache"
	done
	for cache in /sys/kernel/debug/slab/*/alloc_traces; do
		# The kernel keeps some of these once they are free: heads of packets for the next ones, whose
		# data is counted all the same, and mappings until many are to be undone at once.
		[[ $cache != */skbuff_head_cache/* && $cache != */vmap_area/* ]] || continue
		awk -v cache="$(basename "${cache%/*}")" -v theirs="$theirs" '
			/^ *[0-9]+ / { count = $1; said = 0 }
			$0 ~ theirs || cache == "radix_tree_node" && /ib_register_device/ { count = 0 }
			/\[weft\]/ && !said && count {
				sub(/^ */, ""); sub(/^[0-9]+ /, ""); sub(/ .*/, "")
				held[cache " from " $1] += count
				said = 1
			}
			END { for (place in held) print place, held[place] }' "$cache" 2>/dev/null
	done
	awk '/\[weft\]/ { held["vmalloc from " $3]++ }
		END { for (place in held) print place, held[place] }' /proc/vmallocinfo
	echo "references to the module $(</sys/module/weft/refcnt)"
}

# sockets: how many TCP sockets the two hosts have, those included that nobody has a descriptor of.
# shellcheck disable=SC2016 # awk's
sockets() {
	local host
	for host in A B; do
		ip netns exec "$host" awk -v host="$host" '$1 == "TCP:" { print "sockets on " host, $3 }' /proc/net/sockstat
	done
}

# charged DIRECTORY: sockets and mapped memory that still count against that memory cgroup.
charged() { awk '$1 == "sock" || $1 == "vmalloc" { print "cgroup: " $1, $2 }' "$1/memory.stat"; }

# holding FILE: what all of these say, to FILE.
holding() {
	{
		held
		sockets
		[[ ! -d ${cgroup-} ]] || charged "$cgroup"
	} | sort >"$1"
}

# more_than FILE FILE: the lines of the second that are not in the first, or with a smaller count.
more_than() {
	awk 'NR == FNR { n = $NF; $NF = ""; was[$0] = n; next }
		{ n = $NF; $NF = ""; if (n > was[$0] + 0) print $0 n ", before " was[$0] + 0 }' "$1" "$2"
}

# allocated_by LINES: how the first of these places came to allocate, by the kernel's own traces.
allocated_by() {
	local cache=${1%% *} place=${1#* from }
	place=${place%% *}
	awk -v place="$place" -v theirs="$theirs" \
		'BEGIN { RS = ""; shown = 0 } index($0, place) && $0 !~ theirs && shown++ < 2' \
		"/sys/kernel/debug/slab/$cache/alloc_traces" 2>/dev/null
}

# nothing_leaks NAME FILE: a test that the module holds no more than when holding wrote FILE. Objects
# that wait for others (RCU, the end of a connection) have a minute.
nothing_leaks() {
	local more begin=$SECONDS
	while
		holding /run/holding
		more=$(more_than "$2" /run/holding)
		[[ -n $more ]] && ((SECONDS - begin <= 60))
	do
		pause 2
	done
	explain "$more" 40
	[[ -z $more ]] || explain "$(allocated_by "$more")" 40
	judge ${#more} "$1" "more is held than before: $(head -n 1 <<<"$more")"
}
