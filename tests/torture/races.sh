#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the lab RACES_LAB while KCSAN watches, and says how many accesses it watched; races.py judges the
# kernel's log. RACES_SKIP: of so many accesses of a processor one is watched. RACES_ROUNDS: of threads.
# RACES_STORM: seconds of a storm.

set -uo pipefail

cd "$LAB_PROJECT" || exit
kcsan=/sys/kernel/debug/kcsan
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
watched() { sed -n 's/^setup_watchpoints: //p' $kcsan; }

case $RACES_LAB in
threads)
	export SCRIBBLE_SECONDS=0 FUZZ_SECONDS=0 THREAD_ROUNDS=$RACES_ROUNDS
	lab=(tests/torture/processes.sh)
	;;
resources)
	lab=(tests/torture/resources.sh)
	# Who shows reads seldom, so each of its accesses is watched for longer than the usual 80 µs.
	echo 2000 >/sys/module/kcsan/parameters/udelay_task
	;;
storm)
	export STORM_SECONDS=$RACES_STORM
	lab=(tests/storm/storm.py)
	;;
stream) lab=(scripts/lab/two-hosts --weft -- tests/hostile/stream.py) ;;
*) lab=("tests/integration/$RACES_LAB.sh") ;;
esac

# Weft's accesses are few among all, and are worth their time.
echo "$RACES_SKIP" >/sys/module/kcsan/parameters/skip_watch
echo on >$kcsan
before=$(watched)
"${lab[@]}"
status=$?
echo "# watched accesses: $(($(watched) - before))"
exit "$status"
