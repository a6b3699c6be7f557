#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1200 where=uml order=5 seldom unsearched
#
# rdistcc on B has rdistccd on A compile, over RDMA and over TCP: objects are those of a local compiler,
# and whatever happens to the daemon, the device or the disk, a build ends as it would without it.
# Objects have no columns in their lines, since the preprocessor moves what stands behind a macro.

# shellcheck disable=SC2317 # functions are called by name, from check and wait_for
source "${BASH_SOURCE[0]%/*}/../../tests/integration/lib.sh"
built=$LAB_PROJECT/build/apps/rdistcc
# Both hosts have one file system; the daemon's directory and the client's are two in memory.
work=/run/rdistcc
mkdir -p $work/daemon $work/client
mount -t tmpfs none $work/daemon
mount -t tmpfs none $work/client
cd $work/client || exit 1
export RDISTCC_STATS=$work/stats XDG_RUNTIME_DIR=$work
set_up

port=3640 daemon=''
# [jobs=DIRECTORY] serve TRANSPORT ARGUMENT...: starts a daemon on A in place of the last; sets $daemon.
serve() {
	stop
	((++port))
	rm -f $work/daemon.log
	ip netns exec A "$built/rdistccd" --transport "$1" --listen "10.0.0.1:$port" --dir "${jobs-$work/daemon/jobs}" \
		--jobs 4 "${@:2}" 2>$work/daemon.log &
	daemon=$!
	await "the daemon listens" 20 grep -qs 'listening' $work/daemon.log
	export RDISTCC_TRANSPORT=$1 RDISTCC_HOSTS=10.0.0.1:$port/4
	rm -rf $work/rdistcc # what the client knows of hosts that were down
	: >$work/stats
}
stop() {
	kill "$daemon"
	wait "$daemon"
	daemon=''
} 2>/dev/null

compile() { ip netns exec B timeout 60 "$built/rdistcc" gcc "$@"; }
# far: how many jobs another host has done; near: how many were left here.
far() { grep -c '"host": "10.0.0.1' $work/stats; }
near() { grep -c '"host": ""' $work/stats; }
gone() { ! ls -d "$work"/daemon/jobs/job-* 2>/dev/null; }
# same NAME COUNT COMMAND...: COMMAND succeeds, and COUNT jobs were done elsewhere.
same() {
	local name=$1 count=$2 status=0 said
	said=$("${@:3}" 2>&1) || status=$?
	((status == 0 && $(far) == count))
	judge $? "$name" "status $status, $(far) jobs were done elsewhere, not $count" "$said"$'\n'"$(cat $work/daemon.log $work/stats)" 45
}

for name in one two three; do
	cat >$name.c <<-END
		#include <stddef.h>
		#define NAME "$name"
		static int unused;
		const char *name_of_$name(size_t at) { return &NAME[at]; }
		double half_of_$name(int x) { return x / 2.0; }
	END
done
cat >Makefile <<'END'
OBJECTS = one.o two.o three.o
all: $(OBJECTS)
$(OBJECTS): %.o: %.c
	$(CC) -O2 -g -gno-column-info -Wall -MD -c $< -o $@
END
check "a build without rdistcc" make -s -j2 CC=gcc
mkdir here
mv ./*.o ./*.d here

build() {
	rm -f ./*.o ./*.d
	ip netns exec B make -j3 CC="$built/rdistcc gcc" 2>&1 || return
	local name
	for name in one two three; do
		cmp "$name.o" "here/$name.o" && cmp "$name.d" "here/$name.d" || return
	done
}

for transport in rdma tcp; do
	serve $transport --allow 10.0.0.0/24
	same "$transport: make -j3 makes the same objects as here" 3 build
	check "$transport: and the compiler's warnings come back" \
		bash -c "ip netns exec B '$built/rdistcc' gcc -Wall -c one.c -o w.o 2>&1 | grep -q \"one.c:3:12: warning: .unused. defined but not used\""
	echo 'int broken( {' >broken.c
	refused "$transport: a mistake in the source" "broken.c:1" 60 compile -O2 -c broken.c
	check "$transport: and no object is left" test ! -e broken.o
	check "$transport: nothing is left in the daemon's directory" wait_for 5 gone
	stop
	check "$transport: a directory that the daemon has made goes with it" test ! -e $work/daemon/jobs
done

: >$work/stats
same "linking is done here" 0 compile -shared here/one.o here/two.o -o both.so

# --- what the daemon refuses ---

serve rdma --allow 10.0.0.77
same "a host that is not allowed compiles here" 0 compile -O2 -c one.c
check "and the daemon says who it was" grep -q "10.0.0.2 is not allowed" $work/daemon.log
serve rdma --allow 10.0.0.2 --compilers g++
same "a compiler that is not for clients is run here" 0 compile -O2 -c one.c

# --- what the daemon's host allows ---

umask 077
serve rdma --allow 10.0.0.2
umask 027
same "a daemon begun under umask 077 compiles as another user" 1 compile -O2 -c one.c -o masked.o
check "and the object has the modes of the client's umask" test "$(stat -c %a masked.o)" = 640
umask 022
serve rdma --allow 10.0.0.2 --memory 16
same "a compiler without memory there: compiled here" 0 compile -O2 -c one.c
mkdir -m 700 $work/daemon/closed
jobs=$work/daemon/closed/jobs serve rdma --allow 10.0.0.2
same "a directory that the compilers' user can't reach: compiled here" 0 compile -O2 -c one.c
check "and the daemon says what to do" grep -q "can't reach $work/daemon/closed/jobs (rdistccd --user, --dir)" $work/daemon.log

# --- the daemon's end ---

# A compiler that takes its time, as the daemon finds it.
cat >/usr/bin/slow-gcc <<'END'
#!/bin/sh
[ "$TMPDIR" = "" ] || sleep 30.125
exec gcc "$@"
END
chmod +x /usr/bin/slow-gcc
# What the compiler has started, as gcc does its cc1.
at_work() { pgrep -f "sleep 30.125" >/dev/null; }
none_at_work() { ! at_work; }
serve rdma --allow 10.0.0.2 --compilers slow-gcc
ip netns exec B "$built/rdistcc" slow-gcc -O2 -g -gno-column-info -Wall -MD -c one.c -o one.o 2>$work/client.log &
client=$!
await "the job has begun" 20 bash -c "ls $work/daemon/jobs/job-*/messages >/dev/null 2>&1"
await "the compiler is at work" 20 at_work
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
daemon=''
check "a daemon that is killed in mid-job: no process of its compiler's stays" wait_for 5 none_at_work
status=0
wait "$client" || status=$?
explain "$(<$work/client.log)"
check "and the file is compiled here" test $status = 0
check "and its object is the same" cmp one.o here/one.o
: >$work/stats
same "a dead daemon: the next is compiled here" 0 compile -O2 -c two.c

serve rdma --allow 10.0.0.2 --compilers slow-gcc
check "a new daemon removes what the killed one left" bash -c "! ls $work/daemon/jobs/job-* 2>/dev/null"
mkdir $work/daemon/home
touch $work/daemon/home/letter
check "a directory with anything else is refused" bash -c "! timeout 10 $built/rdistccd --transport tcp --allow 10.0.0.2 \
	--listen 127.0.0.1:3999 --dir $work/daemon/home 2>/dev/null"
check "and all in it stays" test -e $work/daemon/home/letter
ip netns exec B "$built/rdistcc" slow-gcc -O2 -c one.c -o never.o 2>/dev/null &
client=$!
await "the job has begun" 20 bash -c "ls $work/daemon/jobs/job-*/messages >/dev/null 2>&1"
kill -KILL $client
wait $client 2>/dev/null
check "a client that is killed: its job ends" wait_for 15 gone
check "and its compiler with it" wait_for 5 none_at_work
check "and nothing of it is left" bash -c "! ls never.o .never.o* 2>/dev/null"

# --- what a user gets wrong ---

refused "rdistcc without a command" "rdistcc: a compiler's command is missing" 5 "$built/rdistcc"
refused "an option of rdistcc that there is not" "rdistcc: there is no option '--port'" 5 "$built/rdistcc" --port 1
refused "an option of rdistccd that there is not" "^rdistccd: .*not expected: .*--port.*; see rdistccd --help" 5 \
	"$built/rdistccd" --port 1
RDISTCC_HOSTS=nowhere.invalid:1 says "a host without an address is said" "^rdistcc: there is no host 'nowhere.invalid'" \
	compile -O2 -c one.c

# limited HOST COMMAND...: as an ordinary user, who may lock 64 KiB of memory.
# shellcheck disable=SC2016 # for the shell below
limited() {
	ip netns exec "$1" setpriv --reuid=65534 --regid=65534 --clear-groups env XDG_RUNTIME_DIR= RDISTCC_STATS= \
		bash -c 'ulimit -l 64 && exec "$@"' _ "${@:2}"
}
refused "a daemon that may lock too little memory" "registering .* raise the limit of locked memory" 10 \
	limited A "$built/rdistccd" --allow 10.0.0.2 --listen "10.0.0.1:$((++port))"
serve rdma --allow 10.0.0.2
says "a client that may lock too little memory says so" "^rdistcc: .* raise the limit of locked memory" \
	limited B "$built/rdistcc" gcc -O2 -c one.c -o /tmp/limited.o
check "and compiles here" test -s /tmp/limited.o

# --- full disks ---

serve rdma --allow 10.0.0.2
mkdir full
mount -t tmpfs -o size=4k none full
head -c 4096 /dev/zero >full/all
refused "a full disk where the object goes" "full/x.o: No space left on device; nothing was written" 60 \
	compile -O2 -c one.c -o full/x.o
check "and nothing half is left" test "$(ls -A full)" = all
head -c 1G /dev/zero >$work/daemon/all 2>/dev/null
: >$work/stats
same "a full disk at the daemon: compiled here" 0 compile -O2 -c one.c
rm $work/daemon/all
: >$work/stats
same "and there again when there is room" 1 compile -O2 -c one.c

# --- no device ---

rdma link del weft1
: >$work/stats
says "no device here: it is said, with the next step" \
	"^rdistcc: no RDMA device reaches 10.0.0.1:$port: rdma link add weft0 type weft netdev eth0" compile -O2 -c one.c
check "and the file is compiled here" test "$(near)" = 1
stop

finish
