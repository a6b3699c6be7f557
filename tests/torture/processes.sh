#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A process that scribbles over all that it shares with the kernel beside one that does not, the fuzzer, and
# many threads. SCRIBBLE_SECONDS, FUZZ_SECONDS, THREAD_ROUNDS, SEED, FUZZ_FIRST: how long, and from where.

source "${BASH_SOURCE[0]%/*}/lib.sh"
scribble=${SCRIBBLE_SECONDS:-900} fuzz=${FUZZ_SECONDS:-3600} seed=${SEED:-1} rounds=${THREAD_ROUNDS:-20}

set_up
((scribble == 0)) || program "" $((scribble + 900)) scribble --seconds "$scribble" --seed "$seed"

# --- a seed repeats its session ---
# replay SEED: prints its digests.
replay() { "$torture" fuzz --replay --seed "$1" | grep '^# seed'; }
if ((fuzz > 0)); then
	why='' before=''
	for ((tries = 0; tries < 4 && ${#why} == 0; tries++)); do
		first=$(replay $((seed + tries + 1)))
		second=$(replay $((seed + tries + 1)))
		echo "$first"
		[[ ${first#*:} != "$before" ]] || why="two seeds make the same session"
		[[ -n $first && $first == "$second" ]] || why="the second time it was: $second"
		before=${first#*:}
	done
	row "sessions of the fuzzer repeated" $tries "each twice: the same numbers, the same answers" "$why"
	program "" $((fuzz + 900)) fuzz --seconds "$fuzz" --seed "$seed" --first "${FUZZ_FIRST:-1}"
fi

# --- threads ---
if ((rounds > 0)); then
	bad=$failed
	for ((round = 0; round < rounds; round++)); do
		cases "" 300 "$LAB_PROJECT/build/tests/verbs/verbs" 10.0.0.1 A B "threads"
	done
	row "rounds of sixteen threads on the same objects" "$rounds" "each request once, every byte right" \
		"$( ((failed == bad)) || echo "$((failed - bad)) of them went wrong")"
fi
works "after them it works"
gone
finish
