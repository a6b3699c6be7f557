#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1200 where=uml order=11 consumer=NVMe-oF
# NVMe over RDMA: the kernel's target and host drivers, with fio and a file system on the
# disk, and teardown of every part while I/O is in flight.

source "${BASH_SOURCE[0]%/*}/storage.sh"
source "${BASH_SOURCE[0]%/*}/nvme_disk.sh"
together
storage_set_up nvmet-rdma nvme-rdma
live() { [[ $(cat "/sys/class/nvme/$controller/state" 2>/dev/null) == live ]]; }

check "nvme: the target exports the disk" export_disk
attach 10.0.0.1 10.0.0.2 || give_up "nvme: the host connects" "no disk of the target's appeared" "$(dmesg)" 20
ok "nvme: the host connects: $device"
fio_verified "nvme" "$device"
file_system "nvme" "$device"
check "nvme: the host disconnects" detach

attach fd00::1 fd00::2 queue_size=1024 || give_up "nvme: the host connects over IPv6" "no disk of the target's appeared"
ok "nvme: the host connects over IPv6"
same_bytes "nvme over IPv6" "$device"
check "nvme: the host disconnects from IPv6" detach

# Teardown under I/O. A disk without its controller fails all requests after the controller's time to come back.
again() {
	local file
	attach 10.0.0.1 10.0.0.2 "reconnect_delay=1,ctrl_loss_tmo=$1" && return
	for file in /sys/class/nvme/*/state /sys/class/nvme/*/nvme*n[0-9]* /dev/nvme*; do
		[[ ! -e $file ]] || echo "# $file $([[ $file != */state ]] || cat "$file")"
	done
	grep -l nvme /proc/[0-9]*/stack 2>/dev/null | head -n 8 | while read -r file; do
		sed 's/^/#   /' "$file"
	done
	detach
	return 1
}

reopened() { rm "$nvmet/ports/1/subsystems/$nqn" && ln -s "$nvmet/subsystems/$nqn" "$nvmet/ports/1/subsystems/$nqn"; }

if with_load "nvme: disconnect under load" again 5; then
	loaded "nvme: disconnect under load" timeout $((60 * patience)) bash -c "echo 1 >/sys/class/nvme/$controller/delete_controller"
	idle "nvme: I/O ends when its controller is deleted" 30
fi

if with_load "nvme: the target closes its connections" again 60; then
	loaded "nvme: the target closes its connections under load" reopened
	# A read comes to an end only when the host has come back.
	check "nvme: the host comes back, and I/O goes on" timeout $((60 * patience)) \
		dd if="$device" of=/dev/null bs=64k count=16 iflag=direct status=none
	enough "nvme: the target closes its connections"
	idle "nvme: I/O that was in flight ends" 30
	same_bytes "nvme: after the host has come back" "$device"
	detach
fi

if with_load "nvme: the host's link is deleted under load" again 5; then
	link_goes "nvme: the host's link is deleted under load" "$client_device"
	idle "nvme: I/O ends when its device is deleted" 30
	check "nvme: its controller is gone" wait_for 20 not attached
	check "nvme: the host's link is added again" add_b
fi

# A listener on a device's address ends with the device, and the target's driver does not begin
# it again. A listener on every address works with a new device at once.
for service in 4420 4421; do
	name="nvme on port $service"
	with_load "$name: the target's link is deleted under load" again 60 || continue
	link_goes "$name: the target's link is deleted under load" "$server_device"
	check "$name: the target's link is added again" add_a
	((service == 4421)) || check "$name: the target opens its port again" reopened
	check "$name: the host comes back by itself" wait_for 60 live
	enough "$name: the target's link is deleted"
	idle "$name: I/O ends" 60
	same_bytes "$name: after the target's device was replaced" "$device"
	detach
done
# The loop ends with the port that needs nobody; the first has gone with the device again.

if with_load "nvme: the network goes away under load" again 5; then
	network_goes nvme
	detach
fi

# When both devices go at once, the host waits in vain for its commands in flight, and then for
# the one that shuts the target down: 30 and 60 s, were it not told otherwise.
for limit in io_timeout admin_timeout; do echo 20 >/sys/module/nvme_core/parameters/$limit; done
if with_load "nvme: the module is removed under load" again 5; then
	loaded "nvme: the module is removed under load" timeout $((150 * patience)) rmmod "$type"
	idle "nvme: I/O ends when the module is gone" 30
fi
finish
