# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Functions for tests that run in a lab on the hosts of two-hosts, as in
#     server_client "ib_write_bw -R -d weft0" "ib_write_bw -R -d weft1 10.0.0.1" 60
# $WEFT_PATIENCE multiplies every limit of time, for kernels that are slow.

# on_a COMMAND..., on_b COMMAND...: runs a command on that host, with its own /sys.
on_a() { ip netns exec A "$@"; }
on_b() { ip netns exec B "$@"; }

# second_link: joins the hosts by another pair of cards, eth1, with addresses of their own.
second_link() {
	local side
	ip link add eth1 netns A type veth peer name eth1 netns B || return
	for side in A1 B2; do
		ip -n ${side:0:1} addr add 10.1.0.${side:1}/24 dev eth1
		ip -n ${side:0:1} link set eth1 up
	done
}

# join_cable SIDE: on one of the machines of two-machines, makes eth0 this side's.
join_cable() {
	local number=1
	[[ $1 == server ]] || number=2
	modprobe virtio_net
	wait_for 60 [ -d /sys/class/net/eth0 ] || return
	ip -batch - <<-END
		link set eth0 up
		addr add 10.0.0.$number/24 dev eth0
		addr add fd00::$number/64 dev eth0 nodad
	END
}

# install_stage: lays the build's products ($WEFT_STAGE, default build/stage) over the lab's root, as make install
# would. With $WEFT_TRANSPORT, all connections are made over that; with $WEFT_PATHS, each has so many paths.
install_stage() {
	local stage=${WEFT_STAGE:-$LAB_PROJECT/build/stage} release
	release=$(uname -r)
	if [[ ! -f $stage/lib/modules/$release/updates/weft.ko ]]; then
		echo "lab: no weft.ko for Linux $release in $stage; run make stage first" >&2
		return 1
	fi
	tar -C "$stage" -c . | tar -C / -x --keep-directory-symlink --no-same-owner
	if [[ -n ${WEFT_TRANSPORT:-} ]]; then
		echo "options weft transport=$WEFT_TRANSPORT" >/etc/modprobe.d/weft-transport.conf
		[[ $WEFT_TRANSPORT == tcp ]] || modprobe "$WEFT_TRANSPORT"
	fi
	[[ -z ${WEFT_PATHS:-} ]] ||
		printf 'options weft transport=paths\noptions weft_paths paths=%s\n' "$WEFT_PATHS" >/etc/modprobe.d/weft-paths.conf
	# depmod takes a minute under emulation; the host has done it for this stage in a second.
	if [[ -n ${LAB_INDEX:-} && $LAB_INDEX_STAGE -ef $stage ]]; then
		cp "$LAB_INDEX"/modules.* "/lib/modules/$release/"
	else
		echo "lab: running depmod, about a minute under emulation" >&2
		depmod -a
	fi
}

# pause SECONDS: sleeps, by a builtin of Debian's bash-builtins where that is installed, because a program costs 0.1 s
# under emulation. Not by read -t: if the time is over before bash 5.2 begins to wait, it blocks signals that stale words
# of its stack name, and may never hear of its children's ends. That builtin knows no "infinity".
enable -f /usr/lib/bash/sleep sleep 2>/dev/null || true
pause() { sleep "$1" || true; }

# wait_for SECONDS COMMAND...: repeats COMMAND until it succeeds; fails when time is up.
wait_for() {
	local end=$((SECONDS + $1 * ${WEFT_PATIENCE:-1}))
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		pause 0.1
	done
}

# find_listeners PID: leaves in the array found the listening sockets of TCP and SCTP (those of the kernel included) in
# the network namespace of a process: address:port in hexadecimal, or sctp:port:addresses.
find_listeners() {
	local table
	found=()
	for table in tcp tcp6 sctp/eps; do
		[[ ! -r /proc/$1/net/$table ]] || read_listeners <"/proc/$1/net/$table"
	done 2>/dev/null
}
# read_listeners: adds those of tables on standard input to found.
read_listeners() {
	local own state port addresses
	while read -r _ own _ state _ port _ _ addresses; do
		case $state in
		0A) found+=("$own") ;;
		10) found+=("sctp:$port:$addresses") ;;
		esac
	done
}
# listeners PID: prints them, one per line.
listeners() {
	local found
	find_listeners "$1"
	((${#found[@]} == 0)) || printf '%s\n' "${found[@]}"
}

# way_into HOST PID: leaves in the array way the words that run a command on that host, with its own /sys. "ip netns exec"
# mounts that each time; PID, if it is a sleep that was started so, has it already, which costs a third less. The
# command has to be a path, since busybox has its own for many names.
way_into() {
	local name=''
	way=(ip netns exec "$1")
	[[ -n $2 && /proc/$2/ns/net -ef /run/netns/$1 ]] && read -r name 2>/dev/null <"/proc/$2/comm"
	[[ $name != sleep ]] || way=(busybox nsenter -t "$2" -n -m)
}

# await_listener PID KNOWN: waits until the namespace of server PID, which is host A, has a listener that is not a line of
# KNOWN. A server that listens in no table we can see (UDP, a device with a transport of its own) gets a while. Fails
# when PID ends before that, or has not even got into the namespace within a minute.
await_listener() {
	local pid=$1 known=$2 end=$((SECONDS + 60 * ${WEFT_PATIENCE:-1})) settled=0 listener found
	while ((SECONDS < end)); do
		! ended "$pid" || return 1
		if [[ /proc/$pid/ns/net -ef /run/netns/A ]]; then
			((settled)) || settled=$((SECONDS + 15))
			find_listeners "$pid"
			for listener in "${found[@]}"; do
				[[ $known == *$'\n'$listener$'\n'* ]] || return 0
			done
			((SECONDS < settled)) || return 0
		fi
		pause 0.1
	done
	return 1
}

# await_port PID PORT [ADDRESS]: waits until A listens at this TCP port (of this IPv4 address, or of any IPv6 address if
# ADDRESS is one; without ADDRESS, of any IPv4 address). Fails when PID, the server's, ends before that, or after a
# minute, of the host's where the guest's clock runs by instructions.
await_port() {
	local wanted byte table=/proc/net/tcp end=$((SECONDS + 60 * ${WEFT_PATIENCE:-1}))
	printf -v wanted ':%04X' "$2"
	if [[ ${3-} == *:* ]]; then
		table=/proc/net/tcp6
	else
		for byte in ${3:+${3//./ }}; do printf -v wanted '%02X%s' "$byte" "$wanted"; done
	fi
	until on_a grep -qE ": [0-9A-F]*$wanted [0-9A-F:]+ 0A " $table; do
		! ended "$1" && ((SECONDS < end)) || return 1
		pause 0.1
	done
}

# hold_refusals: keeps A's TCP from refusing connections, so that the client tries again within a second. perftest 4.5's
# server closes its first listener before it opens the next one; a client that comes between the two is refused, and
# crashes. Only TCP's own reset of the first packet is held back (sequence number 0), not those of the module.
hold_refusals() {
	local reset=(u32 match ip protocol 6 0xff match u8 0x04 0x04 at 33 match u32 0 0xffffffff at 24)
	if ! tc -n A qdisc add dev eth0 clsact 2>/dev/null ||
		! tc -n A filter add dev eth0 egress protocol ip "${reset[@]}" action drop 2>/dev/null; then
		echo "# this kernel can't hold refusals back: perftest may crash between two listeners"
	fi
}

# server_client SERVER CLIENT [SECONDS]: runs the shell command SERVER on A and, as soon as it listens, CLIENT on B, each
# for at most SECONDS (default 60). Prints the output of both, with WEFT_QUIET=1 only if CLIENT fails, and returns its
# status (124: it ran out of time, and the state of connections and queues just before is printed as well; 125: the
# server ended before it listened, or never did). Leaves SERVER_OUTPUT, CLIENT_OUTPUT, SERVER_STATUS (143 or 137 when it
# had to be stopped) and CLIENT_STATUS. It starts as few programs as it can, since labs call it a thousand times.
server_client() {
	local server=$1 client=$2 limit=$((${3:-60} * ${WEFT_PATIENCE:-1})) known=$'\n' log=/run/server-client.$BASHPID pid client_pid end
	local found=() way
	if [[ -n ${someone_in_a-} ]]; then
		find_listeners "$someone_in_a"
	else
		read_listeners < <(on_a cat /proc/net/tcp /proc/net/tcp6 /proc/net/sctp/eps 2>/dev/null)
	fi
	((${#found[@]} == 0)) || printf -v known '\n%s' "${found[@]}" ''
	way_into A "${someone_in_a-}"
	setsid "${way[@]}" /usr/bin/timeout -k 2 $((limit + 20)) sh -c "$server" \
		</dev/null >"$log.server" 2>&1 &
	pid=$!
	CLIENT_STATUS=125
	: >"$log.client"
	if await_listener "$pid" "$known"; then
		CLIENT_STATUS=0
		# rdma_listen() goes from device to device: the socket may be the first one's only.
		pause 0.3
		way_into B "${someone_in_b-}"
		"${way[@]}" /usr/bin/timeout -k 2 "$limit" sh -c "$client" </dev/null >"$log.client" 2>&1 &
		client_pid=$!
		end=$((SECONDS + limit - (limit < 30 ? limit / 3 : 10)))
		until ended "$client_pid" || ((SECONDS >= end)); do
			pause 0.1
		done
		ended "$client_pid" || snapshot >"$log.state" 2>&1 || true
		wait "$client_pid" || CLIENT_STATUS=$?
	fi
	# A server ends after its client; without a client it may not end.
	wait_for $((CLIENT_STATUS == 0 ? 5 : 1)) ended "$pid" || kill -- "-$pid" 2>/dev/null
	wait_for 3 ended "$pid" || kill -KILL -- "-$pid" 2>/dev/null
	SERVER_STATUS=0
	wait "$pid" || SERVER_STATUS=$?
	SERVER_OUTPUT='' CLIENT_OUTPUT=''
	[[ ! -s $log.server ]] || SERVER_OUTPUT=$(<"$log.server")
	[[ ! -s $log.client ]] || CLIENT_OUTPUT=$(<"$log.client")
	if ((CLIENT_STATUS != 0)) || [[ -z ${WEFT_QUIET:-} ]]; then
		printf '== A: %s (status %s)\n%s\n' "$server" "$SERVER_STATUS" "$SERVER_OUTPUT"
		printf '== B: %s (status %s)\n%s\n' "$client" "$CLIENT_STATUS" "$CLIENT_OUTPUT"
	fi
	((CLIENT_STATUS != 124)) || cat "$log.state"
	return "$CLIENT_STATUS"
}

# snapshot: prints the TCP connections of both hosts and the RDMA objects.
snapshot() {
	local host
	for host in A B; do
		echo "== $host: ss -tnimO"
		ip netns exec "$host" ss -tnimO | tr -s ' '
	done
	echo "== rdma resource and statistic"
	rdma -d resource show qp
	rdma -d resource show cm_id
	rdma -d resource show cq
	rdma statistic show
}

# ended PID: has a process come to its end? A zombie has, unless threads of it still run.
ended() {
	local line
	kill -0 "$1" 2>/dev/null && read -r line 2>/dev/null <"/proc/$1/stat" || return 0
	# Behind the name the first word is the state, the eighteenth the number of threads.
	read -ra line <<<"${line##*) }"
	[[ ${line[0]} == Z && ${line[17]} == 1 ]]
}
