# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# What the scripts for the kernel's own consumers share: hosts in one namespace, a disk in memory to export,
# load on the disk at the other end, and tests of its bytes.

# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
disk=/dev/ram0
target_configuration=/sys/kernel/config

# together: both hosts in one namespace, for consumers that know no other than the first.
together() {
	driver+=(--together)
	netdev_b=eth1
}

# storage_set_up MODULE...: makes the hosts and the disk, or $disks of them, loads the modules.
storage_set_up() {
	local module
	set_up
	modprobe brd rd_nr="${disks:-1}" rd_size=65536
	for module; do modprobe "$module" || give_up "modules" "modprobe $module failed"; done
	modprobe -q configfs
	mountpoint -q $target_configuration || mount -t configfs none $target_configuration
	[[ -b $disk ]] || give_up "a disk in memory" "$disk is missing"
	modprobe ext4
}

# fio_verified NAME DEVICE: random writes of many sizes at several depths, read back and
# compared by fio; then the same blocks read in order by another fio.
fio_verified() {
	local job=(--name=verify --filename="$2" --direct=1 --ioengine=libaio --size=40M
		--bsrange=512-512k --bs_unaligned=0 --verify=crc32c --randseed=7 --output-format=terse
		--verify_fatal=1 --verify_state_save=0 --group_reporting)
	local fio=(timeout -k 5 $((240 * patience)) fio "${job[@]}")
	check "$1: fio writes at random, verified" "${fio[@]}" --rw=randwrite --iodepth=16 --do_verify=1
	check "$1: fio mixes reads and writes, verified" "${fio[@]}" --rw=randrw --bsrange=4k-64k --iodepth=8 --size=16M --offset=40M
	check "$1: fio with a block of a megabyte" "${fio[@]}" --rw=write --bsrange=1M-1M --iodepth=4 --size=16M
}

# same_bytes NAME DEVICE: the disk, read where it is, and read across the network.
same_bytes() {
	local here there
	sync
	blockdev --flushbufs "$disk" "$2"
	here=$(dd if="$disk" bs=1M status=none | sha256sum)
	there=$(dd if="$2" bs=1M iflag=direct status=none | sha256sum)
	[[ -n $there && $here == "$there" ]]
	judge $? "$1: all $(blockdev --getsize64 "$2") bytes are the same at both ends" "$here, not $there"
}

# fill DIRECTORY: files of many sizes with contents that can be told apart.
fill() {
	local size number=0
	mkdir -p "$1/some/where"
	for size in 0 1 511 4095 4096 4097 65537 1000003 3145728; do
		number=$((number + 1))
		openssl enc -aes-128-ctr -K "$(printf '%032x' $number)" -iv 0 -in /dev/zero 2>/dev/null |
			head -c $size >"$1/some/where/$size"
		cp "$1/some/where/$size" "$1/copy-$size"
	done
	for ((number = 0; number < 50; number++)); do
		echo "small file $number" >"$1/some/small-$number"
	done
	ln "$1/copy-4096" "$1/linked"
	mv "$1/copy-1" "$1/some/moved"
}

# sums DIRECTORY: the checksum of every file in it.
sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

# file_system NAME DEVICE: ext4 across the network: written, checked, and compared with files in memory.
file_system() {
	local wanted differ
	rm -rf /run/wanted /run/mounted
	mkdir /run/wanted /run/mounted
	fill /run/wanted
	wanted=$(sums /run/wanted)
	check "$1: mkfs.ext4" mkfs.ext4 -q -F "$2"
	mount -t ext4 "$2" /run/mounted || { not_ok "$1: mount" "the kernel refused" && return; }
	fill /run/mounted
	check "$1: umount" umount /run/mounted
	check "$1: fsck finds nothing" fsck.ext4 -f -n "$2"
	echo 3 >/proc/sys/vm/drop_caches
	mount -t ext4 -o ro "$2" /run/mounted
	differ=$(diff <(sums /run/mounted) <(echo "$wanted"))
	judge $? "$1: $(wc -l <<<"$wanted") files come back as they were written" "they differ" "$differ"
	umount /run/mounted
	same_bytes "$1" "$2"
}

# busy DEVICE: keeps it busy in the background; its process is $busy.
busy() {
	local create=1
	# A device file that is gone is not to be replaced by a plain one of that name.
	[[ $1 != /dev/* ]] || create=0
	before=$(traffic)
	fio --thread --allow_file_create=$create --name=busy --filename="$1" --direct=1 --ioengine=libaio --rw=randrw --bs=16k --iodepth=16 \
		--size=32M --time_based --runtime=$((120 * patience)) >/run/busy.log 2>&1 </dev/null &
	busy=$!
	await "fio keeps $1 busy" 30 moving
	pause 1
}
# traffic: the bytes that host B's network device has sent and received so far.
traffic() { on_b cat "/sys/class/net/$netdev_b/statistics/"{rx,tx}_bytes | awk '{ sum += $1 } END { print sum }'; }
# moving: has fio moved two megabytes since $before? It never has that much under way, so some of it is done.
moving() { ! ended "$busy" && (($(traffic) - before > 2097152)); }

# with_load NAME COMMAND...: COMMAND attaches a disk, which is then kept busy; otherwise the case NAME has failed.
with_load() {
	"${@:2}" || { not_ok "$1" "no disk to begin with"; return 1; }
	busy "$device"
}

# loaded NAME COMMAND...: check, of a command that needs load: at its beginning fio must run still.
loaded() {
	! ended "$busy" || { not_ok "$1" "there is no load: fio has ended" "$(</run/busy.log)"; return; }
	check "$@"
}

# enough NAME: ends the load, which must not have ended before.
enough() {
	! ended "$busy" || { not_ok "$1: I/O goes on until it is stopped" "fio has ended by itself" "$(</run/busy.log)"; return; }
	kill "$busy"
}

# idle NAME SECONDS: fio must have come to an end within that time.
idle() {
	wait_for "$2" ended "$busy" && { ok "$1"; return; }
	not_ok "$1" "I/O in flight still hangs after $2 s: $(ps -o stat=,wchan= -p "$busy")"
	kill -KILL "$busy"
}

# network_goes NAME [COMMAND...]: the network goes away under load, and comes back. COMMAND is run before bytes are compared.
network_goes() {
	loaded "$1: the network goes away under load" bash -c "$cable_cut && sleep 3 && tc qdisc del dev eth0 root"
	enough "$1: the network goes away"
	idle "$1: the network goes away: I/O ends" 60
	[[ -z ${2-} ]] || "${@:2}"
	same_bytes "$1: after the network went away" "$device"
}
cable_cut="tc qdisc add dev eth0 root netem loss 100%"

# link_goes NAME DEVICE: its link is deleted under load.
link_goes() { loaded "$1" timeout $((60 * patience)) rdma link delete "$2"; }
