# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What the scripts of this directory share. They run in a lab (see scripts/lab/README.md),
# print a line for each test (ok NAME, not ok NAME: WHY, skip NAME: WHY) and end with the counts.

set -uo pipefail

if [[ -z ${LAB_PROJECT:-} ]]; then
	echo "this runs in a lab: tests/integration/run ${0##*/}" >&2
	exit 1
fi
# shellcheck source=scripts/lab/hosts.sh
source "$LAB_PROJECT/scripts/lab/hosts.sh"

export WEFT_QUIET=1
passed=0 failed=0 skipped=0 said='' someone_in_a='' standing=0
# The devices on A and B, for the scripts; TEST_SIW names a siw.ko to run the same tests on.
# shellcheck disable=SC2034
server_device=weft0 client_device=weft1 driver=(--weft) mtu=${WEFT_MTU:-1500}
# How many times slower than usual the kernel is.
# shellcheck disable=SC2034
patience=${WEFT_PATIENCE:-1}
if [[ -n ${TEST_SIW:-} ]]; then
	# shellcheck disable=SC2034
	server_device=siw0 client_device=siw1 driver=(--siw "$TEST_SIW")
fi

ok() {
	passed=$((passed + 1))
	echo "ok $1"
}

not_ok() { # NAME WHY
	failed=$((failed + 1))
	echo "not ok $1: $2"
}

skip() { # NAME WHY
	skipped=$((skipped + 1))
	echo "skip $1: $2"
}

# session SERVER CLIENT [SECONDS]: server_client, once the last server's listener is gone;
# it could not tell the next one's from it. $standing listeners on A are not RDMA's. What
# both said goes to $said.
session() {
	wait_for 10 quiet_a || echo "# host A still listens on: $(listeners "$someone_in_a" | tr '\n' ' ')"
	server_client "$@" >/run/said
	local status=$?
	said=$(</run/said)
	return $status
}
quiet_a() { (($(listeners "$someone_in_a" | wc -l) <= standing)); }

# between_listeners STATUS OUTPUT: did perftest's client, version 4.5, end like that because it came
# between two listeners? Its server closes the listener of the connection for its own words before
# it opens the one for the test's. The client is refused, means to try again, and crashes.
between_listeners() {
	(($1 == 139)) && grep -qE 'RDMA_CM_EVENT_REJECTED; error: -111|ERRNO: Connection refused' <<<"$2" &&
		echo "# perftest's client came between two listeners of its server, and crashed"
}

# own_fault COMMAND ITERATIONS: did the session of a perftest program end as version 4.5 ends
# by itself, on any device?
own_fault() {
	between_listeners "$CLIENT_STATUS" "$CLIENT_OUTPUT" && return
	# On iWARP, ib_send_bw has credits from the server's program, each for the depth of its
	# receive queue, and with -e it waits for a completion before it looks at them again: when
	# the credit was late, all were there. The server, when the client is gone, has seen all
	# that a credit allowed, and not all that there were.
	local seen depth=$(($2 < 512 ? $2 : 512))
	if [[ $1 == *ib_send_bw*' -e'* ]] && ((CLIENT_STATUS == 124)) && seen=$(sed -n 's/^ *rcnt=//p' <<<"$SERVER_OUTPUT") &&
		[[ $seen =~ ^[0-9]+$ ]] && ((seen < $2 && seen + 1 >= depth && (seen + 1 - depth) % depth % (depth / 3) == 0)); then
		echo "# perftest's client waited for a completion when it had no work under way"
		return
	fi
	return 1
}

# perftest_session COMMAND ITERATIONS SECONDS: session of a perftest program on both devices,
# again where version 4.5 failed by itself; once in thirty is usual on a busy machine.
perftest_session() {
	local attempt
	for attempt in 1 2 3 4 5; do
		session "$1 -d $server_device" "$1 -d $client_device 10.0.0.1" "$3" && return
		own_fault "$1" "$2" || break
	done
	return 1
}

# explain TEXT: prints the end of what a failed command said, as comments.
explain() {
	[[ -z $1 ]] || tail -n "${2:-15}" <<<"$1" | cut -c1-300 | sed 's/^/#   /'
}

# check NAME COMMAND...: a test that passes when COMMAND does.
check() {
	local name=$1 said status=0
	shift
	said=$("$@" 2>&1) || status=$?
	if ((status == 0)); then
		ok "$name"
	else
		explain "$said"
		not_ok "$name" "status $status from ${*:0:6}"
	fi
}

# refused NAME REGEX SECONDS COMMAND...: a test that passes when COMMAND fails by itself
# within that time and says something that matches REGEX.
refused() {
	local name=$1 regex=$2 limit=$3 said status=0 begin=$SECONDS pid
	shift 3
	"$@" >/run/refused 2>&1 </dev/null &
	pid=$!
	if wait_for "$limit" ended $pid; then
		wait $pid || status=$?
	else
		kill $pid
		status=124
	fi
	said=$(</run/refused)
	if ((status == 0)); then
		explain "$said"
		not_ok "$name" "it succeeded"
	elif ((status == 124)); then
		explain "$said"
		not_ok "$name" "still not refused after $limit s"
	elif ((status > 128 && status < 160)); then
		explain "$said"
		not_ok "$name" "killed by signal $((status - 128))"
	elif ! grep -qE -- "$regex" <<<"$said"; then
		explain "$said"
		not_ok "$name" "status $status, and no message like '$regex'"
	else
		ok "$name ($((SECONDS - begin)) s: $(grep -m 1 -E -- "$regex" <<<"$said" | cut -c1-100))"
	fi
}

# works NAME: the two hosts can talk RDMA.
works() {
	if session "rping -s -a 10.0.0.1 -C 5 -S 5000 -V" "rping -c -a 10.0.0.1 -C 5 -S 5000 -V" 45; then
		ok "$1"
	else
		explain "$said"
		not_ok "$1" "rping between the hosts failed"
	fi
}

# reload PARAMETER=VALUE...: loads weft anew and adds both devices again.
reload() {
	modprobe -r weft && modprobe weft "$@" || return
	on_a rdma link add weft0 type weft netdev eth0 && on_b rdma link add weft1 type weft netdev eth0
}

# set_up: makes the hosts; a lab without them can test nothing.
set_up() {
	local output
	if ! output=$(bash "$LAB_PROJECT/scripts/lab/two-hosts" "${driver[@]}" 2>&1); then
		explain "$output"
		not_ok "two hosts" "scripts/lab/two-hosts failed"
		finish
	fi
	ip netns exec A sleep infinity &
	someone_in_a=$!
}

# finish: prints the counts and ends the script.
finish() {
	[[ -z $someone_in_a ]] || kill "$someone_in_a"
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0 && passed > 0))
	exit
}
