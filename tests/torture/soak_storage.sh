#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Soak of NVMe and NFS over RDMA for SOAK_SECONDS: attached and let go again and again, every byte verified;
# at the end nothing has grown. It needs Debian's kernel, which has block devices. With TEST_SIW it is the
# same over the kernel's own siw, and keeps what grows there; SOAK_CONTROL names what that control has kept.

# Called by name.
# shellcheck disable=SC2317
source "${BASH_SOURCE[0]%/*}/lib.sh"
source "$LAB_PROJECT/tests/integration/storage.sh"
source "$LAB_PROJECT/tests/integration/nvme_disk.sh"
source "$LAB_PROJECT/tests/integration/nfs_share.sh"
seconds=${SOAK_SECONDS:-3600}

# NVMe knows the first namespace only, so NFS is there as well.
together
disks=2
storage_set_up nvmet-rdma nvme-rdma rpcrdma nfsd nfsv4
# A disk in memory grows with what is written first.
for file in /dev/ram0 /dev/ram1; do
	dd if=/dev/zero of=$file bs=1M status=none 2>/dev/null
done
check "NVMe: the target exports the disk" export_disk
disk=/dev/ram1
check "NFS: the server starts" start_server
standing=$(listeners $$ | wc -l)
lasting=$(awk '/^TCP:/ { print $3 }' /proc/net/sockstat)

# fio_at DIRECTORY|DEVICE OPTIONS...: fio writes at random and reads back what it wrote, all of it.
fio_at() {
	local where=--filename=$1
	[[ ! -d $1 ]] || where=--directory=$1
	timeout -k 5 $((200 * patience)) fio --name=verify "$where" --direct=1 --ioengine=libaio --rw=randwrite \
		--verify=crc32c --verify_fatal=1 --verify_state_save=0 --randseed=$((${SEED:-1} + connected)) --output-format=terse "${@:2}"
}
# of NAME COMMAND...: runs it and counts it.
of() {
	local output status=0
	output=$("${@:2}" 2>&1) || status=$?
	tried "$1" $status "$output"
}

# copied: files of many sizes are on the server as they were written.
copied() {
	local wanted status=0
	wanted=$(sums /run/wanted)
	rm -rf $mounted/files
	cp -r /run/wanted $mounted/files && sync -f $mounted && [[ $(sums $share/files) == "$wanted" ]] || status=1
	echo 3 >/proc/sys/vm/drop_caches
	[[ $(sums $mounted/files) == "$wanted" ]] || status=1
	tried "files over NFS, compared at both ends" $status
}
mkdir /run/wanted
fill /run/wanted

round() {
	local status=0 nvme
	attach 10.0.0.1 10.0.0.2 || status=$?
	tried "NVMe: attached" $status
	# An administrator's and two of its own.
	connected=$((connected + 3))
	((status == 0)) || return
	of "NVMe: 16 MB by fio" fio_at "$device" --size=16M --bsrange=512-512k --bs_unaligned=0 --iodepth=16
	of "NFS: mounted" mount_share 10.0.0.1
	connected=$((connected + 1))
	mountpoint -q $mounted || { detach; return; }
	copied
	# Both at once.
	fio_at "$device" --size=4M --bsrange=4k-64k --iodepth=8 >/run/beside 2>&1 &
	nvme=$!
	of "NFS: 6 MB by fio" fio_at $mounted --size=6M --bsrange=512-256k --bs_unaligned=0 --iodepth=8
	wait $nvme || status=$?
	tried "NVMe: 4 MB by fio, beside NFS" $status "$(</run/beside)"
	of "NFS: let go" umount $mounted
	of "NVMe: let go" detach
}
name="soak of storage"
if [[ -n ${TEST_SIW-} ]]; then
	name="control of storage, over siw"
elif [[ -n ${SOAK_CONTROL-} ]]; then
	check "the control has told what grows" test -s "$SOAK_CONTROL"
	control=$SOAK_CONTROL
fi
soak "$name" "$seconds"

# siw is only asked what grows.
[[ -n ${TEST_SIW-} ]] || works "soak of storage: afterwards it works"
check "NFS: the server stops" stop_server
[[ -n ${TEST_SIW-} ]] || gone
finish
