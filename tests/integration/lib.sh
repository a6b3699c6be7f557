# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Functions of the labs' scripts, which print TAP and end with the plan (tests/tap.sh).

set -uo pipefail

[[ -z ${again-} ]] || return 0 # a lab may source it by two ways
if [[ -z ${LAB_PROJECT:-} ]]; then
	echo "this runs in a lab: tests/integration/run ${0##*/}" >&2
	exit 1
fi
source "$LAB_PROJECT/scripts/lab/hosts.sh"
source "$LAB_PROJECT/tests/tap.sh"

export WEFT_QUIET=1
scratch=${LAB_SCRATCH:-/run}
said='' skips='' someone_in_a='' someone_in_b='' standing=0
# By reason: how often something was begun that may be repeated, and how often it was.
declare -A begun_for=() repeated_for=() running=()
# The devices on A and B; TEST_SIW names a siw.ko to run the same tests on. A test may take $patience times
# longer than on an idle machine, and a slow kernel does $less times less of tests with many steps.
# shellcheck disable=SC2034 # for the labs
server_device=weft0 client_device=weft1 driver=(--weft) mtu=${WEFT_MTU:-1500} netdev_b=eth0 trace=/sys/kernel/tracing \
	patience=${WEFT_PATIENCE:-1} less=${WEFT_LESS:-1}
# shellcheck disable=SC2034 # for the labs
[[ -z ${TEST_SIW:-} ]] || server_device=siw0 client_device=siw1 driver=(--siw "$TEST_SIW")
type=${server_device%0}

# add_a, add_b, add_both: the devices of the hosts.
add_a() { on_a rdma link add "$server_device" type "$type" netdev eth0; }
add_b() { on_b rdma link add "$client_device" type "$type" netdev "$netdev_b"; }
add_both() { add_a && add_b; }

# set_a SETTING VALUE, set_b SETTING VALUE, each SETTING VALUE: of the device on A, of that on B, of both.
set_a() { echo "$2" >"/sys/class/infiniband/$server_device/weft/$1"; }
set_b() { echo "$2" >"/sys/class/infiniband/$client_device/weft/$1"; }
each() { set_a "$@" && set_b "$@"; }

# on_both COMMAND...: runs it on both hosts, A's first. set_mtu BYTES: of both hosts' cards.
on_both() { on_a "$@" && on_b "$@"; }
set_mtu() { ip -n A link set eth0 mtu "$1" && ip -n B link set eth0 mtu "$1"; }

# begin NAME COMMAND...: starts COMMAND in a session of its own; its output is in /run/NAME.
begin() {
	# Before the child opens the file, a reader must not take the last command's output for this one's.
	: >"/run/$1"
	setsid "${@:2}" >"/run/$1" 2>&1 </dev/null &
	running[$1]=$!
}
alive() { ! ended "${running[$1]}"; }
# both_ended: have server and client come to their ends?
both_ended() { ! alive server && ! alive client; }
# end NAME...: kills what begin started, with the children.
end() {
	local name
	for name; do
		kill -KILL -- "-${running[$name]-}"
		wait "${running[$name]-}"
	done 2>/dev/null
}

# ping_pong [OPTION...]: rping from B to A without an end, as server and client; end ends them.
ping_pong() {
	begin server ip netns exec A rping -s -a 10.0.0.1 "$@"
	await "rping listens" 20 listening || return
	begin client ip netns exec B rping -c -a 10.0.0.1 "$@"
	await "rping is connected" 20 connected
}
connected() { [[ -n $(on_a ss -tnH state established) ]]; }

# session SERVER CLIENT [SECONDS]: server_client, once the last server's listener is gone, which could be taken for the
# next one's. $standing listeners on A are not RDMA's. The output of both goes to $said.
session() {
	wait_for 10 quiet_a || echo "# host A still listens on: $(listeners "$someone_in_a" | tr '\n' ' ')"
	server_client "$@" >/run/said
	local status=$?
	said=''
	[[ ! -s /run/said ]] || said=$(</run/said)
	[[ $2 != *rping\ * ]] || rping_ended $status || return
	[[ $2 == *rping\ * ]] || return "$status"
}

# rping_client HOST SECONDS OPTION...: prints the output of rping's client; HOST is on_a, on_b or their like (env: here).
rping_client() {
	CLIENT_STATUS=0 SERVER_STATUS=0 SERVER_OUTPUT=''
	CLIENT_OUTPUT=$("$1" timeout $(($2 * patience)) rping -c "${@:3}" 2>&1 </dev/null) || CLIENT_STATUS=$?
	echo "$CLIENT_OUTPUT"
	rping_ended $CLIENT_STATUS
}

# rping_ended STATUS: that of a session of rping, but for what is rping's own doing (channel_closed).
rping_ended() {
	begun_for["rping's channel"]=$((${begun_for["rping's channel"]:-0} + 1))
	(($1 == 0)) || channel_closed || return "$1"
}

# channel_closed: did the ends of rping that failed do so because their own main threads closed the channel from which
# another thread reads events? Such an end has printed data, perhaps the other's end, and nothing else. rdma-core's later
# releases wake the reader before they close. finish() prints how often that was.
channel_closed() {
	((CLIENT_STATUS || SERVER_STATUS)) || return
	closed_its_channel "$CLIENT_STATUS" "$CLIENT_OUTPUT" $'client DISCONNECT EVENT...\n' || return
	closed_its_channel "$SERVER_STATUS" "${SERVER_OUTPUT-}" $'server DISCONNECT EVENT...\nwait for RDMA_READ_ADV state 10\n' || return
	repeated_for["rping's channel"]=$((${repeated_for["rping's channel"]:-0} + 1))
	echo "# rping read from a channel that it had closed"
}
closed_its_channel() { # STATUS OUTPUT TOLD: an end prints TOLD if it reads of the other's end before it closes the channel
	local printed
	printed=$(grep -avE '^(server )?ping data: ' <<<"$2")
	(($1 == 0)) || { (($1 == 255)) && [[ ${printed#"$3"} == "rdma_get_cm_event: Bad file descriptor" ]]; }
}

# rping_listens NAME OPTION...: begins rping's server on A, for one client, and waits until it listens.
# rping_answers NAME HOST OPTION...: the case NAME: a client on HOST, and that server, end well.
rping_listens() {
	await "nobody listens any more" 10 quiet_a
	ip netns exec A timeout $((60 * patience)) rping -s "${@:2}" >/run/server 2>&1 </dev/null &
	pinged=$!
	await "$1: rping listens" 40 listening
}
rping_answers() {
	CLIENT_STATUS=0 SERVER_STATUS=0
	CLIENT_OUTPUT=$(ip netns exec "$2" timeout $((50 * patience)) rping -c "${@:3}" 2>&1 </dev/null) || CLIENT_STATUS=$?
	wait "$pinged" || SERVER_STATUS=$?
	SERVER_OUTPUT=$(</run/server)
	rping_ended $((CLIENT_STATUS | SERVER_STATUS))
	judge $? "$1" "client status $CLIENT_STATUS, server status $SERVER_STATUS" "$SERVER_OUTPUT"$'\n'"$CLIENT_OUTPUT"
}
quiet_a() {
	local found
	find_listeners "$someone_in_a"
	((${#found[@]} <= standing))
}
listening() { ! quiet_a; }

# retry REASON N COMMAND...: runs COMMAND, and again while its status is $again, N times in all: REASON made it fail, which is
# no fault of the module. finish() prints how often that was, and fails if it was too often for chance.
readonly again=75
retry() {
	local reason=$1 left=$2 status
	shift 2
	begun_for[$reason]=$((${begun_for[$reason]:-0} + 1))
	while :; do
		status=0
		"$@" || status=$?
		((status == again && --left > 0)) || return $status
		repeated_for[$reason]=$((${repeated_for[$reason]:-0} + 1))
	done
}

# between_listeners STATUS OUTPUT: did perftest's client end like that because it was refused
# between two listeners all the same (see hold_refusals in scripts/lab/hosts.sh)?
between_listeners() {
	(($1 == 139)) && grep -qE 'RDMA_CM_EVENT_REJECTED; error: -111|ERRNO: Connection refused' <<<"$2" &&
		echo "# perftest's client came between two listeners of its server, and crashed"
}

# out_of_credits COMMAND ITERATIONS: did ib_send_bw -e stop as version 4.5 does by itself? It waits for a completion before
# it looks for credits again, and so for ever if a credit comes after the last completion. The server has then seen as
# many messages as the credits allowed, and not all of them. Three or fewer of a hundred counts fit that by chance.
out_of_credits() {
	local seen depth=$(($2 < 512 ? $2 : 512))
	[[ $1 == *ib_send_bw*' -e'* ]] && ((CLIENT_STATUS == 124 && depth >= 100)) || return
	seen=$(sed -n 's/^ *rcnt=//p' <<<"$SERVER_OUTPUT")
	[[ $seen =~ ^[0-9]+$ ]] && ((seen < $2 && seen + 1 >= depth && (seen + 1 - depth) % depth % (depth / 3) == 0)) &&
		echo "# perftest's client waited for a completion when it had no work under way"
}

# line_like REGEX TEXT: prints the first line of TEXT that matches, and starts no program for that.
line_like() {
	local line
	while IFS= read -r line; do
		[[ ! $line =~ $1 ]] || { echo "$line" && return; }
	done <<<"$2"
	return 1
}

# clock_stood OUTPUT: did perftest's client end well with a bandwidth and a rate of 0.00, or with infinite times? It
# computes them from the processor's cycles, which jump in an emulated machine; where it notices that before it begins,
# it says so and divides by 0. If nothing was really moved, the repeat gives 0.00 again.
clock_stood() {
	line_like 'Correlation coefficient r\^2: [0-9.]+ < 0\.9' "$1" >/dev/null &&
		echo "# perftest's client could not tell how fast the processor is" && return
	line_like '^ *[0-9]+[[:space:]]+[0-9]+[[:space:]]+0\.00[[:space:]]+0\.00[[:space:]]+0\.0+ *$' "$1" >/dev/null &&
		echo "# perftest's client told a bandwidth of 0.00"
}

# want_times: from here on a session of perftest that tells no time or bandwidth is begun again. Where the
# kernel does not say how fast the processor is, as in User Mode Linux, perftest never tells one.
want_times() { measures=$(grep -m 1 '^cpu MHz' /proc/cpuinfo); }

# perftest_once COMMAND ITERATIONS SECONDS: a session of a perftest program on both devices. Status
# $again if perftest failed as it would on any device, or, after want_times, printed no time.
perftest_once() {
	if session "$1 -d $server_device" "$1 -d $client_device 10.0.0.1" "$3"; then
		[[ -z ${measures:-} ]] || ! clock_stood "$CLIENT_OUTPUT" || return "$again"
	elif between_listeners "$CLIENT_STATUS" "$CLIENT_OUTPUT" || out_of_credits "$1" "$2"; then
		return "$again"
	else
		return 1
	fi
}
perftest_session() { retry "perftest" 3 perftest_once "$@"; }

# measured SIZE OUTPUT: did perftest's client measure something? Leaves its line in $fields, of which
# the fourth is the average bandwidth or the latency, or the reason why not in $why. A bandwidth of
# small messages may be rounded to 0.00; then the rate of messages behind it tells.
measured() {
	why="no result line"
	read -r -a fields < <(line_like "^ *$1[[:space:]]+[0-9]+([[:space:]]+[0-9.]+){3}" "$2") || return
	# shellcheck disable=SC2034 # for the caller
	why="it measured ${fields[3]}: nothing has moved"
	[[ ! (${fields[3]} =~ ^[0.]+$ && ${fields[4]-} =~ ^[0.]*$) ]]
}

# told SIZE OUTPUT: has perftest's client told what it did? Where it can measure, it must have measured
# something; elsewhere moved() tells whether anything was done.
told() { measured "$@" || [[ -z $measures && -n $(line_like "^ *$1[[:space:]]+[0-9]+[[:space:]]" "$2") ]]; }

# transferred STATUS NAME SIZE BYTES SINCE: the case NAME of a session of perftest that ended so: both ends ended well, the
# client has told of messages of SIZE, and Weft's devices have sent and received so many BYTES since moved was SINCE.
transferred() {
	local bytes=$(($(moved) - $5))
	if (($1 || SERVER_STATUS)); then
		ended_well 1 "$2" 25
	elif ! told "$3" "$CLIENT_OUTPUT"; then
		not_ok "$2" "$why" "$CLIENT_OUTPUT" 25
	else
		((bytes >= $4))
		judge $? "$2 ($bytes bytes: ${fields[*]:1})" "they are to be $4 at least"
	fi
}

# counter DEVICE NAME: one of its hw_counters.
counter() {
	local value
	read -r value <"/sys/class/infiniband/$1/ports/1/hw_counters/$2" && echo "$value"
}

# moved: how many bytes Weft's devices have sent and received so far.
moved() {
	local file sum=0
	for file in /sys/class/infiniband/weft*/ports/1/hw_counters/[rt]x_bytes; do
		sum=$((sum + $(<"$file")))
	done
	echo "$sum"
}

# listens NAMESPACE PORT: does a TCP socket listen there?
listens() {
	ip netns exec "$1" cat /proc/net/tcp /proc/net/tcp6 |
		awk -v port="$(printf ':%04X' "$2")" '$4 == "0A" && $2 ~ port "$" { found = 1 } END { exit !found }'
}
# not COMMAND...: for check and wait_for.
not() { ! "$@"; }

# check NAME COMMAND...: a test that passes when COMMAND does.
check() {
	"${@:2}" >"$scratch/checked" 2>&1
	judge $? "$1" "status $? from ${*:2:5}" "$(<"$scratch/checked")"
}

# refused NAME REGEX SECONDS COMMAND...: passes when COMMAND fails by itself within that time and prints a line like REGEX.
refused() {
	local said status=0 begin=$SECONDS pid why
	"${@:4}" >/run/refused 2>&1 </dev/null &
	pid=$!
	if wait_for "$3" ended $pid; then
		wait $pid || status=$?
	else
		kill $pid
		status=124
	fi
	said=$(</run/refused)
	if ((status == 0)); then
		why="it succeeded"
	elif ((status == 124)); then
		why="still not refused after $3 s"
	elif ((status > 128 && status < 160)); then
		why="killed by signal $((status - 128))"
	elif ! grep -qE -- "$2" <<<"$said"; then
		why="status $status, and no message like '$2'"
	else
		ok "$1 ($((SECONDS - begin)) s: $(grep -m 1 -E -- "$2" <<<"$said" | cut -c1-100))"
		return
	fi
	not_ok "$1" "$why" "$said"
}

# says NAME REGEX COMMAND...: the command succeeds and a line of it matches.
says() {
	local output status=0
	output=$("${@:3}" 2>&1) || status=$?
	((status == 0)) && grep -qE -- "$2" <<<"$output"
	judge $? "$1" "status $status, no line like '$2'" "$output" 40
}

# rping_of NAME ADDRESS SIZE COUNT [OPTIONS]: rping, which checks its data, is a test of that name. OPTIONS are its client's.
rping_of() {
	local arguments="-a $2 -S $3 -C $4 -V -v"
	session "rping -s $arguments" "stdbuf -oL rping -c $arguments ${5-}" 45
	all_pings $? "$1" "$4"
}

# all_pings STATUS NAME COUNT: the case NAME of a session of rping that ended so and is to have printed so many lines of data.
all_pings() {
	local line lines=0
	while IFS= read -r line; do
		[[ $line != 'ping data: '* ]] || lines=$((lines + 1))
	done <<<"$CLIENT_OUTPUT"
	if (($1)); then
		ended_well "$1" "$2"
	else
		((lines == $3))
		judge $? "$2" "$lines lines of data came back, not $3" "$CLIENT_OUTPUT"
	fi
}

# ended_well STATUS NAME [LINES]: the case NAME of a session that ended with this status.
ended_well() {
	judge "$1" "$2" "client status $CLIENT_STATUS, server status $SERVER_STATUS" "${said:-$SERVER_OUTPUT}" "${3-}"
}

# works CONTEXT: the two hosts can talk RDMA, after or during CONTEXT.
works() { rping_of "rping works $1" 10.0.0.1 5000 5; }

# await NAME SECONDS COMMAND...: waits until COMMAND succeeds; otherwise a test has failed: the next ones mean nothing.
await() {
	wait_for "${@:2}" && return
	not_ok "waiting: $1" "it did not come within $2 s"
	return 1
}

# cases LABEL SECONDS COMMAND...: runs a program of ours, each of whose cases is a test here; of those that it skips, $skips
# has the lines. Its plan must be there, be of the cases that it told of, at least one, and its exit status must be theirs.
cases() {
	local label=${1:+$1: } what=${1:-${3##*/}} limit=$2 line planned='' status='' bad=$failed begun=$((passed + failed + skipped)) count
	shift 2
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			[[ $line != *' # SKIP '* ]] || skips+=$line$'\n'
			retell "$label" "$line"
			;;
		'status of this program: '*) status=${line##* } ;;
		1..*) planned=${line#1..} ;;
		'row|'*) echo "row|$label${line#row|}" ;;
		'') ;;
		*) echo "# ${line#\# }" ;;
		esac
	done < <(
		timeout -k 5 $((limit * patience)) "$@" 2>&1
		printf '\nstatus of this program: %s\n' $?
	)
	count=$((passed + failed + skipped - begun))
	if [[ $status == 124 || $status == 137 ]]; then
		not_ok "$what comes to its end" "it still ran after $((limit * patience)) s"
	elif [[ -z $planned ]]; then
		not_ok "$what comes to its end" "it stopped with status ${status:-unknown}"
	elif [[ $planned != "$count" ]]; then
		not_ok "$what prints what it counts" "its plan is of $planned cases, and it told of $count"
	elif ((count == 0)); then
		not_ok "$what has cases" "none of them has run"
	elif ((status != 0 && failed == bad || status == 0 && failed > bad)); then
		not_ok "$what ends with the status of its cases" "status $status, and $((failed - bad)) of $count failed"
	fi
}

# pyverbs SECONDS [PATTERN | --but PATTERN]: the tests of rdma-core's own suite whose names are like that, or are not, on this
# lab's device of host A; see tests/consumers/pyverbs/run.py.
pyverbs() {
	local suite=/usr/share/doc/rdma-core/tests
	[[ -d $suite ]] ||
		give_up "pyverbs" "$suite is not here: apt-get install python3-pyverbs, without a dpkg rule that drops documentation"
	mkdir -p /run/suite
	cp -r "$suite" /run/suite/
	gunzip /run/suite/tests/*.gz
	cases "" "$1" ip netns exec A "$LAB_PROJECT/tests/consumers/pyverbs/run.py" /run/suite "$server_device" 10.0.0.1 "${@:2}"
}

# reload PARAMETER=VALUE...: loads weft anew and adds both devices again.
reload() { modprobe -r weft_sctp weft_paths weft && modprobe weft "$@" && add_both; }

# no_devices: is no RDMA device left? unused: does nobody hold the module? removed: is the module removed in time?
no_devices() { [[ -z $(rdma dev show) ]]; }
references() { awk '$1 == "weft" { print $3 }' /proc/modules; }
unused() { [[ $(references) == 0 ]]; }
removed() { timeout $((${1:-60} * patience)) modprobe -r weft; } # [SECONDS]

# mainline NAME: prints the folder in which scripts/mainline has built NAME for the kernel that runs.
mainline() {
	local release
	release=$(uname -r)
	[[ $release == *-weft-uml-* ]] && release=-${release#*-weft-} || release=''
	echo "$LAB_PROJECT/build/$1$release"
}

# set_up: makes the hosts; a lab without them can test nothing.
set_up() {
	local output
	output=$(bash "$LAB_PROJECT/scripts/lab/two-hosts" "${driver[@]}" 2>&1) ||
		give_up "two hosts" "scripts/lab/two-hosts failed" "$output"
	ip netns exec A sleep infinity &
	someone_in_a=$!
	ip netns exec B sleep infinity &
	someone_in_b=$!
}

# spread NUMBER DEVICE...: new connections have so many paths; 1: they are plain TCP.
spread() {
	local device word=tcp
	if (($1 > 1)); then
		modprobe weft_paths && echo "$1" >/sys/module/weft_paths/parameters/paths || return
		word=paths
	fi
	for device in "${@:2}"; do echo $word >"/sys/class/infiniband/$device/weft/transport" || return; done
}

# give_up NAME WHY [OUTPUT]: a case has failed without which there is nothing to test.
give_up() {
	not_ok "$@"
	finish
}

# leave: ends the processes that keep the hosts.
leave() {
	# shellcheck disable=SC2086 # two numbers, or none
	[[ -z $someone_in_a ]] || kill $someone_in_a $someone_in_b
	someone_in_a='' someone_in_b=''
}

# finish: prints the repeats and counts, and ends the script. Of one REASON one in twenty may be repeated, or one in all;
# of perftest one in ten, and one more, because its client comes between two listeners more often on a busy machine.
finish() {
	local reason allowed
	leave
	for reason in "${!begun_for[@]}"; do
		echo "retried: $reason ${repeated_for[$reason]:-0} of ${begun_for[$reason]}"
		allowed=$((begun_for[$reason] / 20))
		[[ $reason != perftest* ]] || allowed=$((1 + begun_for[$reason] / 10))
		((${repeated_for[$reason]:-0} < 2 || repeated_for[$reason] <= allowed)) ||
			not_ok "few retries of $reason" "${repeated_for[$reason]} of ${begun_for[$reason]} had to be repeated"
	done
	((passed + failed > 0)) || not_ok "${0##*/}" "none of its tests has run"
	plan
	exit
}
