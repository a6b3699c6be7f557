#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1200 where=uml order=12 consumer='NFS over RDMA'
# NFS 4.1 over RDMA: the kernel's server on host A and its client on host B, with files and
# fio, and teardown of every part while I/O is in flight.

source "${BASH_SOURCE[0]%/*}/storage.sh"
source "${BASH_SOURCE[0]%/*}/nfs_share.sh"
storage_set_up rpcrdma nfsd nfsv4

# files NAME: written through NFS, compared on the server's disk, and read again without caches.
files() {
	local wanted
	rm -rf /run/wanted
	mkdir /run/wanted
	fill /run/wanted
	wanted=$(sums /run/wanted)
	rm -rf $mounted/files
	check "$1: files are written" fill $mounted/files
	sync -f $mounted
	[[ $(sums $share/files) == "$wanted" ]]
	judge $? "$1: $(wc -l <<<"$wanted") files are on the server as they were written" "they differ"
	echo 3 >/proc/sys/vm/drop_caches
	[[ $(sums $mounted/files) == "$wanted" ]]
	judge $? "$1: files are read as they were written" "they differ"
}

check "NFS: the server starts, on RDMA alone" start_server
mount_share 10.0.0.1 || give_up "NFS: the client mounts" "mount failed" "$(dmesg)" 20
ok "NFS: the client mounts ($(grep -o 'vers=[0-9.]*,.*proto=rdma,port=20049' /proc/mounts | head -n 1))"
files "NFS"
job=(--name=verify "--directory=$mounted" --ioengine=libaio --size=12M --bsrange=512-1M --bs_unaligned=0
	--verify=crc32c --randseed=7 --verify_fatal=1 --verify_state_save=0 --output-format=terse)
check "NFS: fio writes at random without caches, verified" timeout -k 5 $((200 * patience)) \
	fio "${job[@]}" --direct=1 --rw=randwrite --iodepth=8
check "NFS: fio mixes reads and writes through caches, verified" timeout -k 5 $((200 * patience)) \
	fio "${job[@]}" --direct=0 --rw=randrw --fsync=8
check "NFS: locks" flock -n $mounted/files/linked true
check "NFS: the client unmounts" umount $mounted

mount_share fd00::1 || give_up "NFS: the client mounts over IPv6" "mount failed"
ok "NFS: the client mounts over IPv6"
files "NFS over IPv6"
umount $mounted

# A hard mount waits for its server: requests in flight when the server goes away must be done when it is back.
# goes_on NAME COMMAND...: COMMAND takes something away and brings it back.
goes_on() {
	before=$(traffic)
	fio --thread --name=busy --directory=$mounted --direct=1 --ioengine=libaio --rw=randwrite --bs=16k \
		--size=8M --loops=1000 --iodepth=8 >/run/busy.log 2>&1 </dev/null &
	busy=$!
	await "fio keeps NFS busy" 30 moving
	pause 1
	loaded "$1" timeout $((100 * patience)) "${@:2}"
	echo "after $1" >$mounted/word &
	wait_for 60 ended $! && [[ $(<$share/word) == "after $1" ]]
	judge $? "$1: I/O goes on" "nothing was written for 60 s"
	enough "$1"
	idle "$1: what was in flight ends" 60
}
export -f add_a add_b on_a on_b
export type server_device client_device netdev_b

mount_share 10.0.0.1 || give_up "NFS: teardown under load" "no mount to begin with"
goes_on "NFS: the client's link is replaced under load" bash -c "rdma link delete $client_device && sleep 1 && add_b"
goes_on "NFS: the server's link is replaced under load" bash -c "rdma link delete $server_device && sleep 1 && add_a"
goes_on "NFS: the network goes away under load for a while" bash -c \
	"ip -n A link set eth0 down; sleep 3; ip -n A link set eth0 up; ip -n A address replace fd00::1/64 dev eth0 nodad"
if [[ $type == weft ]]; then
	# The client's device goes first. While it connects anew, because the server's has gone, NFS of Linux 6.1
	# dies of its device's end: rpcrdma_cm_event_handler() uses an identifier that it has not noted yet.
	goes_on "NFS: the module is replaced under load" bash -c \
		"rdma link delete $client_device && rmmod weft && modprobe weft && add_a && add_b"
fi
files "NFS: after all that"
check "NFS: the client unmounts at last" timeout $((60 * patience)) umount $mounted
check "NFS: the server stops" timeout $((60 * patience)) bash -c "$(declare -f in_a stop_server); nfsd=$nfsd share=$share; stop_server"
check "NFS: fsck finds nothing on the server's disk" fsck.ext4 -f -n "$disk"
finish
