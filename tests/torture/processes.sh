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
	same=0
	for try in 1 2 3 4; do
		first=$(replay $((seed + try)))
		second=$(replay $((seed + try)))
		echo "$first"
		if [[ -z $first || $first != "$second" ]]; then
			row "sessions of the fuzzer repeated" "$try" "" "the second time it was: $second"
			break
		elif [[ ${first#*:} == "${before-}" ]]; then
			row "sessions of the fuzzer repeated" "$try" "" "two seeds make the same session"
			break
		fi
		before=${first#*:} same=$try
	done
	((same < 4)) || row "sessions of the fuzzer repeated" 4 "each twice: the same numbers, the same answers"
	program "" $((fuzz + 900)) fuzz --seconds "$fuzz" --seed "$seed" --first "${FUZZ_FIRST:-1}"
fi

# --- threads ---
if ((rounds > 0)); then
	bad=$failed
	for ((round = 0; round < rounds; round++)); do
		cases "" 300 "$LAB_PROJECT/build/tests/verbs/verbs" 10.0.0.1 A B "threads"
	done
	why=''
	((failed == bad)) || why="$((failed - bad)) of them went wrong"
	row "rounds of sixteen threads on the same objects" "$rounds" "each request once, every byte right" "$why"
fi
works "after them it works"
gone
finish
