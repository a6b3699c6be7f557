#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tries the soak's judge of memory: what programs and files in memory take is no leak, pages that nothing
# counts are one, as the module's own would be. Pipes have such pages. It needs hosts, and no module:
#
#     scripts/lab/run --uml -- scripts/lab/two-hosts -- tests/torture/grown_planted.sh

# Called by name.
# shellcheck disable=SC2317
# shellcheck source=tests/torture/lib.sh
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
	sed -nE 's/^(ok|not ok) planted: pages that no statistic counts/\1/p' /run/judged
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

finish
