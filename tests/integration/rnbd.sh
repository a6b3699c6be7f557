#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1200 where=uml order=14 seldom home module=rnbd consumer='RNBD over RTRS'
# RNBD over RTRS, a block device of mainline that no Debian kernel has (scripts/mainline builds it). It writes
# with immediates and registers memory for each request: fio, a file system, and teardown under load.

source "${BASH_SOURCE[0]%/*}/storage.sh"
together
storage_set_up
rnbd=$(mainline rnbd)
control=/sys/class/rnbd-client/ctl
session=weft

load() {
	modprobe -a ib_cm rdma_cm || return
	for module in rtrs-core rtrs-server rtrs-client rnbd-server rnbd-client; do
		insmod "$rnbd/$module.ko" || return
	done
}
unload() {
	local module
	for module in rnbd_client rtrs_client rnbd_server rtrs_server rtrs_core; do
		rmmod "$module" || return
	done
}

# map SOURCE DESTINATION: leaves the disk in $device.
map() {
	local before
	before=$(echo /sys/block/rnbd*)
	echo "sessname=$session path=$1@$2 device_path=$disk" >"$control/map_device" || return
	wait_for 20 disk_appears "$before"
}
map_4() { map ip:10.0.0.2 ip:10.0.0.1; }
disk_appears() {
	local block
	for block in /sys/block/rnbd*; do
		device=/dev/${block##*/}
		[[ " $1 " == *" $block "* || ! -b $device ]] || return 0
	done
	return 1
}
# unmap HOW: normal or force.
unmap() { echo "$1" >"/sys/block/${device#/dev/}/rnbd/unmap_device"; }
path_is() { [[ $(cat /sys/class/rtrs-client/"$session"/paths/*/state 2>/dev/null) == "$1" ]]; }
no_session() { [[ ! -e /sys/class/rtrs-client/$session ]]; }

load || give_up "rnbd: its modules load" "scripts/mainline rnbd builds them" "$(dmesg)" 5
map_4 || give_up "rnbd: the client maps the disk" "no disk of the server's appeared" "$(dmesg)" 20
ok "rnbd: the client maps the disk: $device, by $(cat /sys/class/rtrs-client/$session/paths/*/hca_name)"
fio_verified "rnbd" "$device"
file_system "rnbd" "$device"
check "rnbd: the client unmaps the disk" unmap normal
check "rnbd: the disk is gone" wait_for 20 test ! -e "/sys/block/${device#/dev/}"
check "rnbd: its session is gone" wait_for 20 no_session

map ip:fd00::2 ip:fd00::1 || give_up "rnbd: the client maps the disk over IPv6" "no disk of the server's appeared"
ok "rnbd: the client maps the disk over IPv6"
same_bytes "rnbd over IPv6" "$device"
check "rnbd: the client unmaps it again" unmap normal
wait_for 20 no_session

if with_load "rnbd: teardown under load" map_4; then
	loaded "rnbd: the client disconnects its path under load" \
		bash -c "for path in /sys/class/rtrs-client/$session/paths/*; do echo 1 >\$path/disconnect; done"
	idle "rnbd: I/O ends without a path" 60
	check "rnbd: the client connects its path again" \
		bash -c "for path in /sys/class/rtrs-client/$session/paths/*; do echo 1 >\$path/reconnect; done"
	check "rnbd: the path is back" wait_for 30 path_is connected
	same_bytes "rnbd: after the path was back" "$device"
	busy "$device"
	network_goes rnbd check "rnbd: the path is there still, or again" wait_for 60 path_is connected
	busy "$device"
	link_goes "rnbd: the client's link is deleted under load" "$client_device"
	idle "rnbd: I/O ends with its device" 60
	check "rnbd: the client's link is added again" add_b
	check "rnbd: the client gives the disk up by force" unmap force
	check "rnbd: its session has gone" wait_for 30 no_session
fi

if with_load "rnbd: the server's link is deleted under load" map_4; then
	link_goes "rnbd: the server's link is deleted under load" "$server_device"
	check "rnbd: the server's link is added again" add_a
	check "rnbd: the path comes back by itself" wait_for 90 path_is connected
	# Without a path requests fail at once: RTRS has other paths for that, which there are none of here.
	idle "rnbd: I/O ends with the server's device" 60
	same_bytes "rnbd: after the server's device was replaced" "$device"
	check "rnbd: the client unmaps the disk at the end" unmap force
	wait_for 20 no_session
fi
repeatedly() {
	local at
	for ((at = 0; at < 10; at++)); do
		map_4 && unmap normal && wait_for 20 no_session || return
	done
}
check "rnbd: ten sessions, one after the other" repeatedly
check "rnbd: the modules go" unload
check "rnbd: they come again" load
check "rnbd: the client maps the disk once more" map_4
check "rnbd: a mapped disk keeps its module" bash -c '! rmmod rtrs_client'
check "rnbd: the client unmaps the disk once more" unmap normal
check "rnbd: the modules go for good" unload
finish
