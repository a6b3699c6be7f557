#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=600 where=uml order=52 seldom unsearched
#
# The filters of apps/isosurface on two hosts, over RDMA and over TCP: the picture must be, byte for
# byte, what one process makes. And what goes wrong: a filter that is killed, no device, a volume
# that is none, a disk that is full.

# shellcheck disable=SC2317 # functions are called by name, from check and wait_for
source "${BASH_SOURCE[0]%/*}/../../tests/integration/lib.sh"
program=$LAB_PROJECT/build/apps/isosurface/isosurface
work=/run/isosurface
mkdir -p $work
cd $work || exit 1
if [[ ! -x $program ]]; then
	not_ok "isosurface is built" "run make apps"
	finish
fi
set_up

check "a volume is made" "$program" generate gyroid --points 40x36x33 --out volume.vtk
check "one process draws it" "$program" render volume.vtk --iso 0.3 --size 200x150 --out alone.png --surface alone.vtk

# filter NAME HOST WORDS...: begins a filter on a host; what it says is in NAME.log. Leaves its process in $pid.
filter() {
	local name=$1 host=$2
	shift 2
	ip netns exec "$host" "$program" filter "$@" >"$name.log" 2>&1 </dev/null &
	pid=$!
}
# filters TRANSPORT OUT [OF_READ...]: begins render on A, extract on B and read on A. Leaves $render, $extract, $read.
filters() {
	local transport=$1 out=$2 stream=(--transport "$1" --patience $((20 * patience)))
	shift 2
	filter render A render --listen 10.0.0.1:7001 --size 200x150 --out "$out" --surface "$transport.vtk" "${stream[@]}"
	render=$pid
	filter extract B extract --listen 10.0.0.2:7000 --to 10.0.0.1:7001 --iso 0.3 "${stream[@]}"
	extract=$pid
	filter read A read volume.vtk --to 10.0.0.2:7000 "${stream[@]}" "$@"
	read=$pid
}
all_ended() { ended "$read" && ended "$extract" && ended "$render"; }
# all_end: waits for the three. Leaves their statuses in $statuses.
all_end() {
	local one
	statuses=()
	if ! wait_for 40 all_ended; then
		echo "# a filter did not end by itself"
		kill -KILL "$read" "$extract" "$render" 2>/dev/null
	fi
	for one in "$read" "$extract" "$render"; do
		wait "$one"
		statuses+=($?)
	done
}
# logs: what the filters have said.
logs() { tail -n +1 read.log extract.log render.log; }
# expect_statuses NAME WANTED
expect_statuses() {
	[[ ${statuses[*]} == "$2" ]]
	judge $? "$1" "statuses of read, extract and render: ${statuses[*]}, not $2" "$(logs)" 45
}
# says NAME FILTER REGEX
says() {
	grep -qE -- "$3" "$2.log"
	judge $? "$1" "no message like '$3'" "$(logs)" 45
}
# same_size ONE OTHER: have two surfaces the same number of triangles? Their order is the blocks'.
same_size() { [[ $(stat -c %s "$1") == "$(stat -c %s "$2")" ]]; }

for transport in rdma tcp; do
	before=$(moved)
	filters $transport $transport.png --block 9
	all_end
	after=$(moved)
	expect_statuses "$transport: three filters on two hosts" "0 0 0"
	check "$transport: the picture is that of one process" cmp alone.png $transport.png
	check "$transport: the surface is as large as that of one process" same_size alone.vtk $transport.vtk
	if [[ $transport == rdma ]]; then
		check "rdma: the chunks went through Weft's devices" test $((after - before)) -gt 1000000
	else
		check "tcp: nothing went through Weft's devices" test "$after" = "$before"
	fi

	# A filter that waits for chunks, and one that sends them, see the one between them killed. The
	# read filter's small blocks are slow enough to be stopped in the middle.
	filters $transport killed.png --block 1
	wait_for 20 grep -q 'waits at' extract.log
	pause 1
	kill -KILL "$extract"
	all_end
	expect_statuses "$transport: the filter in the middle killed ends both neighbours" "1 137 1"
	says "$transport: read says who is lost" read 'the extract filter at 10.0.0.2:7000 is lost'
	says "$transport: render says who is lost" render 'the extract filter at 10.0.0.2:[0-9]+ is lost'
	check "$transport: no half picture is left" test ! -e killed.png
	check "$transport: nothing half is left at all" test -z "$(find . -name '*.partial-*')"
done

# watched: has the server a viewer? One that is killed before it has connected is nobody's loss.
watched() { [[ -n $(ip netns exec A ss -Htn state established "sport = :7002") ]]; }

# The viewer: its window must end as that part of the volume.
for transport in rdma tcp; do
	for update in partial complete; do
		ip netns exec A "$program" serve volume.vtk --listen 10.0.0.1:7002 --block 8 --transport $transport >serve.log 2>&1 </dev/null &
		server=$!
		check "$transport: $update updates" on_b timeout $((30 * patience)) "$program" view 10.0.0.1:7002 --window 24 \
			--step 5 --moves 8 --update $update --iso 0.3 --size 100x100 --out window.png --transport $transport
		# Steps of 5 in 40 points: 5 10 15, and back 10 5 0 and 5 10.
		check "$transport: $update: the window as one process draws it" \
			bash -c "'$program' render volume.vtk --window 10,0,0,24 --iso 0.3 --size 100x100 --out expected.png && cmp expected.png window.png"
		check "$transport: $update: the server goes on" kill -0 $server
		ip netns exec B "$program" view 10.0.0.1:7002 --window 24 --moves 1000000 --update $update --transport $transport \
			>/dev/null 2>&1 </dev/null &
		viewer=$!
		wait_for 20 watched
		pause 1
		kill -KILL $viewer
		wait $viewer 2>/dev/null
		check "$transport: $update: the server hears of a viewer that was killed" wait_for 20 grep -q 'the viewer at .* is lost' serve.log
		check "$transport: $update: and serves the next one" on_b timeout $((30 * patience)) "$program" view 10.0.0.1:7002 \
			--window 24 --moves 2 --transport $transport
		kill $server
		wait $server 2>/dev/null
	done
done

# --- what goes wrong ---

refused "no RDMA device has the address" "RDMA device|device" 10 \
	ip netns exec A "$program" filter render --listen 127.0.0.1:7003 --out x.png
refused "nobody listens" "refused|nobody|listens" 30 \
	on_b "$program" filter read volume.vtk --to 10.0.0.1:7009
head -c 50000 volume.vtk >short.vtk
refused "a volume that is cut off" "short.vtk: ends after [0-9]+ of 47520 samples; the file is cut off" 10 \
	on_b "$program" filter read short.vtk --to 10.0.0.1:7009
refused "a file that is no volume" "is no VTK file" 10 "$program" render alone.png --out x.png
refused "an option that there is not" "not expected: --colour" 5 "$program" render volume.vtk --out x.png --colour=red
refused "a size of one number" "--size" 5 "$program" render volume.vtk --out x.png --size 64
refused "a size out of range" "--size" 5 "$program" render volume.vtk --out x.png --size 64x0
refused "a value that is no number" "--iso" 5 "$program" render volume.vtk --out x.png --iso 1x
refused "a picture without a name" "--out is required" 5 "$program" render volume.vtk
refused "one word too many" "not expected: b" 5 "$program" render volume.vtk b --out x.png

for file in none/x.png .; do
	refused "a picture that can't be made ($file) is said before anything is waited for" "$file (can't be made|is there)" 5 \
		on_a "$program" filter render --listen 10.0.0.1:7008 --out $file
done
mkdir small
mount -t tmpfs -o size=16k small small
refused "a full disk" "small/x.png.* No space left on device; nothing of it is left" 10 \
	"$program" render volume.vtk --iso 0.3 --size 200x150 --out small/x.png
filters rdma small/x.png
all_end
expect_statuses "a full disk ends all filters" "1 1 1"
says "a full disk is known to the first filter" read 'gave up: .*No space left on device'
check "a full disk keeps nothing" test -z "$(ls small)"
umount small

finish
