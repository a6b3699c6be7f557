#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
#     scripts/lab/run --uml -- scripts/lab/two-hosts -- tests/torture/grown_planted.sh
#
# Tries the soak's judge of memory: memory of programs and files is no leak; pages that nothing counts are
# one, as pipes have; growth that a control has as well is excused, up to a bound. It needs no module.

# Called by name.
# shellcheck disable=SC2317
source "${BASH_SOURCE[0]%/*}/lib.sh"
quiet_a() { true; }
quiet_sockets() { true; }

# judged PYTHON: what the judge says of the pages while a program holds what it made by that.
judged() {
	local program
	now /run/begin
	python3 -c "$1
open('/run/made', 'w').close()
import time
time.sleep(600)" &
	program=$!
	await "a program that holds memory" 60 test -e /run/made
	now /run/end
	kill "$program"
	wait "$program" 2>/dev/null
	rm /run/made
	(not_grown planted 1000) >/run/judged
	sed -nE 's/^(ok|not ok) [0-9]+ - planted: pages that no statistic counts/\1/p' /run/judged
}
# expect NAME VERDICT PYTHON
expect() {
	judged "$3" >/run/verdict
	check "$1: $(</run/verdict)" grep -qE "^$2" /run/verdict
}

expect "24 MB of a program's memory are no leak" ok "held = bytearray(b'x') * (24 << 20)"
expect "24 MB of files in memory are no leak" ok "open('/run/file', 'wb').write(bytes(24 << 20))"
expect "6 MB of pages that nothing counts are a leak" "not ok" "
import fcntl, os
held = [os.pipe() for _ in range(6)]
for _, to in held:
    fcntl.fcntl(to, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.write(to, bytes(1 << 20))"

# excused NAME VERDICT GROWTH CONTROL: objects grow by that over 360 connections, and in a control over 120.
excused() {
	echo "objects:kmalloc-16 1000" >/run/begin
	echo "objects:kmalloc-16 $((1000 + $3))" >/run/end
	control=/run/control
	echo "objects:kmalloc-16 $4 120" >$control
	(not_grown planted 360) >/run/judged
	control=''
	sed -nE 's/^(ok|not ok) [0-9]+ - planted: kinds of kernel object.*/\1/p' /run/judged >/run/verdict
	check "$1: $(</run/verdict)" grep -qx "$2" /run/verdict
}
excused "630 objects are a leak where the control has none" "not ok" 630 0
excused "630 objects are none where the control has a third in a third of the time" ok 630 210
excused "an object more for each connection is a leak all the same" "not ok" 990 210
excused "no control excuses whatever it likes" "not ok" 6000 2000

finish
