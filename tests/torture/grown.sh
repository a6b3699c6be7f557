# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Rows of the table of make torture, and the soak, which judges that memory, kernel objects, files, sockets
# and objects of the RDMA core do not grow. For labs that have sourced tests/integration/lib.sh.

# awk has a $ of its own; some is called by name.
# shellcheck disable=SC2016,SC2317

# row WHAT COUNT OUTCOME [FAILURE]: a row of the table, and its test. Nothing tried is a failure.
row() {
	local why=${4-}
	[[ -n $why || $2 =~ ^[1-9][0-9]*$ ]] || why="it was tried no times"
	echo "row|$1|$2|${why:+FAILED: }${why:-$3}"
	judge ${#why} "$1" "$why"
}

# uncounted: KiB that are neither free nor counted as anything: pages that were allocated as such, as the
# module's own are, whoever forgot them. What programs, files in memory and caches take is counted, and
# so are the free pages that each processor keeps for itself, which MemFree and MemAvailable leave out.
# Stacks are vmalloc's on x86.
uncounted() {
	awk '$1 == "count:" { known += 4 * $2 }
		$1 ~ /^(MemFree|Buffers|Cached|SwapCached|AnonPages|Slab|PageTables|SecPageTables|VmallocUsed|Percpu):$/ { known += $2 }
		$1 == "MemTotal:" { all = $2 }
		END { print all - known }' /proc/meminfo /proc/zoneinfo
}

# Whose devices they are: weft, or siw in a control.
: "${server_device:?}"
driven=${server_device%0}

# now FILE: memory and objects, a line each: name and number.
now() {
	local host kind processes
	wait_for 30 quiet_a || true
	# Sockets that wait for their last packets, and what RCU and worker threads have still to free.
	wait_for 90 quiet_sockets || true
	pause 3
	sync
	echo 3 >/proc/sys/vm/drop_caches
	pause 1
	{
		awk '/^(SUnreclaim|PageTables|VmallocUsed|Percpu|Mlocked|Unevictable|KernelStack):/ { print "memory:" $1, $2 }' /proc/meminfo
		echo "pages: $(uncounted)"
		awk 'NR > 2 && ($1 ~ /^(kmalloc|weft|TCP|sock|request_sock|skbuff|dma-kmalloc|filp|task_struct|vm_area|radix)/) {
			print "objects:" $1, $2 }' /proc/slabinfo
		awk '{ print "files:", $1 - $2 }' /proc/sys/fs/file-nr
		for host in A B; do
			ip netns exec "$host" awk -v h="$host" '/^TCP:/ { print "sockets:" h, $3; print "orphans:" h, $5 }' /proc/net/sockstat
		done
		for kind in qp cm_id cq mr pd ctx srq; do
			echo "rdma:$kind $(rdma res show $kind 2>/dev/null | grep -c "$driven")"
		done
		echo "module: $(awk -v driven="$driven" '$1 == driven { print $3 }' /proc/modules)"
		processes=(/proc/[0-9]*)
		echo "processes: ${#processes[@]}"
	} >"$1"
}
# Sockets of a host that stay for as long as the lab runs: what listens.
lasting=0
quiet_sockets() {
	local host
	for host in A B; do
		(($(ip netns exec "$host" awk '/^TCP:/ { print $3 + $5 }' /proc/net/sockstat) <= lasting)) || return
	done
}

# The same rounds over another transport, if there were any: lines of name, growth and connections,
# which soak has written. What grows there as well is not the module's.
control=''

# growing: what has grown most, a part for each name.
growing() {
	join <(grep -E '^(objects|memory|pages)' /run/begin | sort) <(grep -E '^(objects|memory|pages)' /run/end | sort) |
		awk '$3 - $2 > 16 { print $3 - $2, $1 }' | sort -rn | head -n 12 |
		awk '{ printf "%s%s %d", sep, $2, $1; sep = ", " } END { if (NR == 0) printf "none" }'
}

# grown PATTERN SLACK [CONNECTIONS]: lines that have grown by more than that. With a control, by more than
# one and a quarter times what they have grown there over as many connections, if that is more; but no
# control excuses more than 4 objects or 16 KiB a connection.
grown() {
	join <(grep -E "^($1)" /run/begin | sort) <(grep -E "^($1)" /run/end | sort) |
		awk -v slack="$2" -v made="${3:-0}" -v control="$control" '
			BEGIN { while (control && (getline line <control) > 0) { split(line, of); other[of[1]] = of[2] / of[3] } }
			{
				most = $1 ~ /^objects:/ ? 4 : 16
				each = 1.25 * other[$1]
				each = each < 0 ? 0 : each > most ? most : each
				excused = int(each * made)
				if ($3 - $2 > (excused > slack ? excused : slack)) {
					printf "%s%s from %s to %s", sep, $1, $2, $3
					if (control) printf ", where the control excuses %d", excused
					sep = "; "
				}
			}'
}
# not_grown NAME CONNECTIONS: the rows of what now has said in /run/begin and, so many connections
# later, in /run/end.
not_grown() {
	local made=$2 slack
	slack=$((made / 2 > 400 ? made / 2 : 400))
	cp /run/begin /run/end "$LAB_OUT/"
	# An object lost with each connection shows in these, whatever else comes and goes. Without
	# slub_debug a slab that a processor has for itself counts as full, which is more than the slack.
	row "$1: kinds of kernel object that did not grow" "$(grep -c ^objects: /run/end)" \
		"over $made connections, by no more than half as many" "$(grown objects: $slack "$made")"
	# In KiB. Caches grow and shrink by less than this.
	row "$1: kinds of kernel memory that did not grow" "$(grep -c ^memory: /run/end)" \
		"SUnreclaim $(awk '/SUnreclaim/ { printf "%s", $2 }' /run/begin) to $(awk '/SUnreclaim/ { printf "%s", $2 }' /run/end) KiB" \
		"$(grown memory: 2048 "$made")"
	row "$1: pages that no statistic counts" 1 "$(sed -n 's/^pages: //p' /run/begin) to $(sed -n 's/^pages: //p' /run/end) KiB" \
		"$(grown pages: 4096)"
	# Each processor counts up to 32 files before it tells the others.
	row "$1: files, sockets, objects of rdma's, users of the module" "$(grep -cE '^(files|sockets|orphans|rdma|module|processes)' /run/end)" \
		"each as many as before" "$(grown 'sockets|orphans|rdma|module' 0)$(grown processes 16)$(grown files $((16 + 32 * $(nproc))))"
}

# --- the soak ---
# Of each kind of traffic: how often it was had, and how often it went wrong; connections made so far.
declare -A had=() wrong=()
connected=0

# tried NAME STATUS [OUTPUT]: counts; what went wrong is a failure of that kind, and OUTPUT says more.
tried() {
	had[$1]=$((${had[$1]:-0} + 1))
	(($2 == 0)) || { wrong[$1]=$((${wrong[$1]:-0} + 1)) && explain "${3-}"; }
}

# faults FILE: the counters that count what must not happen in a soak.
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

# soak NAME SECONDS: calls the script's function round for so long, which calls tried and adds to
# $connected; then the rows of what it tried, and of what has grown meanwhile; in a control, what has
# grown is kept in $LAB_OUT/growth and not judged.
soak() {
	local name=$1 seconds=$2 before began rounds=0 made kind first
	[[ $driven != weft ]] || faults /run/faults.begin
	# Objects that are made only once are made in the first rounds.
	for _ in 1 2; do round; done
	now /run/begin
	[[ $driven != weft ]] || holding /run/at_first
	before=$connected began=$SECONDS
	while ((SECONDS - began < seconds)); do
		round
		rounds=$((rounds + 1))
		((rounds % 10)) || echo "# $rounds rounds in $((SECONDS - began)) s; $(grep SUnreclaim /proc/meminfo)"
	done
	now /run/end
	[[ $driven != weft ]] || faults /run/faults.end
	made=$((connected - before))

	for kind in "${!had[@]}"; do
		row "$name: $kind" "${had[$kind]}" "each came to its end" \
			"${wrong[$kind]:+${wrong[$kind]} of ${had[$kind]} went wrong}"
	done
	echo "# $name: growth over $made connections: $(growing)"
	if [[ $driven != weft ]]; then
		join <(sort /run/begin) <(sort /run/end) | awk -v made="$made" '{ print $1, $3 - $2, made }' >"$LAB_OUT/growth"
		return
	fi
	not_grown "$name" "$made"
	nothing_leaks "$name: what the module has allocated, by place" /run/at_first
	row "$name: counters of faults" "$(wc -l </run/faults.end)" "each as before" \
		"$(diff /run/faults.begin /run/faults.end | sed -n 's/^> //p' | tr '\n' ';')"
	first=$(counters)
	pause 5
	row "$name: counters when all is quiet" "$(wc -w <<<"$first")" "none moves" "$([[ $(counters) == "$first" ]] || echo "some do")"
}
