# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# NFS 4.1 over RDMA: a file system on $disk, served by the kernel of host A on RDMA alone, and mounted by host B. The
# server's tables are filled by hand, so that nothing but the kernel takes part. For scripts that have sourced storage.sh,
# or set patience and use no function with $disk.

nfsd=/proc/fs/nfsd share=/run/share mounted=/run/nfs
# Unlike on_a, these leave the mounts where they are.
in_a() { nsenter --net=/run/netns/A "$@"; }
in_b() { nsenter --net=/run/netns/B "$@"; }

# offer_share TRANSPORT PORT: starts the server, with the file system at $share, which it forgets when it stops.
offer_share() {
	mkdir -p "$mounted"
	mountpoint -q "$nfsd" || in_a mount -t nfsd nfsd "$nfsd" || return
	# Host B may have the directory, writable, with root as root, as the root of NFS 4.
	# shellcheck disable=SC2016 # for the shell inside
	in_a bash -c '
		for address in 10.0.0.2 fd00::2; do
			echo "nfsd $address 2147483647 host-b" >/proc/net/rpc/auth.unix.ip/channel || exit
		done
		echo "host-b $1 2147483647 9218 65534 65534 0" >/proc/net/rpc/nfsd.export/channel &&
			echo "host-b 1 \\x00000000 2147483647 $1" >/proc/net/rpc/nfsd.fh/channel
	' _ "$share" || return
	in_a bash -c "
		echo '-2 -3 +4 +4.1 +4.2' >$nfsd/versions
		echo 10 >$nfsd/nfsv4gracetime
		echo 10 >$nfsd/nfsv4leasetime
		echo '$1 $2' >$nfsd/portlist && echo 4 >$nfsd/threads"
}
start_server() {
	mkdir -p "$share"
	mkfs.ext4 -q -F "$disk" && mount -t ext4 "$disk" "$share" && offer_share rdma 20049
}
stop_server() { in_a bash -c "echo 0 >$nfsd/threads" && umount "$share"; }

# mount_share ADDRESS [TRANSPORT PORT]: mounts the share on host B.
mount_share() {
	local own=10.0.0.2 transport=${2:-rdma} number=${3:-20049}
	[[ $1 != *:* ]] || own=fd00::2 transport+=6
	in_b timeout -k 5 $((60 * patience)) mount -i -t nfs4 -o \
		"vers=4.1,proto=$transport,port=$number,addr=$1,clientaddr=$own,hard" "server:/" $mounted
}
