#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1200 where=uml order=13 seldom consumer=iSER
# iSER: the kernel's iSCSI target and initiator over RDMA, with fio and a file system on the
# disk, and teardown while I/O is in flight.

source "${BASH_SOURCE[0]%/*}/storage.sh"
together
storage_set_up target_core_mod target_core_iblock iscsi_target_mod ib_isert ib_iser sd_mod
target=$target_configuration/target
iqn=iqn.2026-01.weft:disk

export_disk() {
	local group=$target/iscsi/$iqn/tpgt_1
	mkdir -p "$target/core/iblock_0/disk" || return
	echo "udev_path=$disk" >"$target/core/iblock_0/disk/control" &&
		echo 1 >"$target/core/iblock_0/disk/enable" || return
	mkdir -p "$target/iscsi" && mkdir "$target/iscsi/$iqn" "$group" "$group/lun/lun_0" || return
	ln -s "$target/core/iblock_0/disk" "$group/lun/lun_0/disk"
	echo 0 >"$group/attrib/authentication"
	echo 1 >"$group/attrib/generate_node_acls"
	echo 0 >"$group/attrib/demo_mode_write_protect"
	echo 1 >"$group/attrib/cache_dynamic_acls"
	# The target listens by TCP wherever it may listen by iSER, which a software iWARP, whose
	# ports are TCP's own, cannot share. But it listens by TCP where the portal is made, and
	# by iSER always in the first network namespace: so the portal is made in another one.
	unshare --net mkdir "$group/np/10.0.0.1:3260" || return
	echo 1 >"$group/np/10.0.0.1:3260/iser" && echo 1 >"$group/enable"
}

unexport_disk() {
	local group=$target/iscsi/$iqn/tpgt_1
	echo 0 >"$group/enable"
	rmdir "$group/np/10.0.0.1:3260" && rm "$group/lun/lun_0/disk" &&
		rmdir "$group/lun/lun_0" "$group" "$target/iscsi/$iqn" "$target/core/iblock_0/disk"
}

admin() { timeout -k 5 $((60 * patience)) iscsiadm "$@"; }

start_initiator() {
	echo "InitiatorName=iqn.2026-01.weft:initiator" >/etc/iscsi/initiatorname.iscsi
	iscsid -f -n >/run/iscsid.log 2>&1 </dev/null &
	wait_for 10 admin -m iface || return
	admin -m node -o new -T "$iqn" -p 10.0.0.1:3260 -I iser || return
	admin -m node -T "$iqn" -o update -n node.session.timeo.replacement_timeout -v 5
	admin -m node -T "$iqn" -o update -n "node.conn[0].timeo.noop_out_interval" -v 2
	admin -m node -T "$iqn" -o update -n "node.conn[0].timeo.noop_out_timeout" -v 5
}

login() { admin -m node -T "$iqn" -p 10.0.0.1:3260 --login && wait_for 20 disk_appears; }
disk_appears() {
	local block
	for block in /sys/class/iscsi_session/session*/device/target*/*/block/sd*; do
		device=/dev/${block##*/}
		[[ ! -b $device ]] || return 0
	done
	return 1
}
logout() { admin -m node -T "$iqn" -p 10.0.0.1:3260 --logout; }
no_session() { [[ ! -e /sys/class/iscsi_session ]] || [[ -z $(ls /sys/class/iscsi_session) ]]; }

check "iSER: the target exports the disk" export_disk
check "iSER: the initiator's daemon starts" start_initiator
login || give_up "iSER: the initiator logs in" "no disk of the target's appeared" "$(cat /run/iscsid.log; dmesg | tail -n 20)" 40
ok "iSER: the initiator logs in: $device over $(cat /sys/class/iscsi_host/host*/device/scsi_host/host*/proc_name 2>/dev/null || echo '?')"
fio_verified "iSER" "$device"
file_system "iSER" "$device"
check "iSER: the initiator logs out" logout
check "iSER: its session is gone" wait_for 10 no_session

if with_load "iSER: the initiator logs out under load" login; then
	loaded "iSER: the initiator logs out under load" logout
	idle "iSER: I/O ends with its session" 60
fi

if with_load "iSER: the network goes away under load" login; then
	network_goes iSER
	check "iSER: the initiator logs out afterwards" logout
fi

if with_load "iSER: the initiator's link is deleted under load" login; then
	link_goes "iSER: the initiator's link is deleted under load" "$client_device"
	idle "iSER: I/O ends when the device is gone" 60
	check "iSER: the initiator's link is added again" add_b
	logout >/dev/null 2>&1
	check "iSER: the session without a device is gone" wait_for 30 no_session
fi

login || give_up "iSER: the target closes under load" "no session to begin with"
same_bytes "iSER with a new device" "$device"
busy "$device"
loaded "iSER: the target closes under load" timeout $((60 * patience)) bash -c "echo 0 >$target/iscsi/$iqn/tpgt_1/enable"
idle "iSER: I/O ends when the target is closed" 60
logout >/dev/null 2>&1
check "iSER: the session without a target is gone" wait_for 30 no_session
check "iSER: the target is taken apart" timeout $((60 * patience)) bash -c "$(declare -p target iqn); $(declare -f unexport_disk); unexport_disk"
finish
