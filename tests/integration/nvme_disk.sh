# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# NVMe over RDMA: $disk, exported by the kernel's target on host A, and attached by its host driver on
# host B. For scripts that have sourced storage.sh, or set disk and target_configuration. Another
# $transport than rdma can be set.

nvmet=$target_configuration/nvmet
nqn=nqn.2026-01.weft:disk

transport=rdma
queues=2

# port NUMBER FAMILY ADDRESS SERVICE
port() {
	mkdir "$nvmet/ports/$1" || return
	echo "$transport" >"$nvmet/ports/$1/addr_trtype"
	echo "$2" >"$nvmet/ports/$1/addr_adrfam"
	echo "$3" >"$nvmet/ports/$1/addr_traddr"
	echo "$4" >"$nvmet/ports/$1/addr_trsvcid"
	ln -s "$nvmet/subsystems/$nqn" "$nvmet/ports/$1/subsystems/$nqn"
}

# make_disk: makes the subsystem, which no port offers yet.
make_disk() {
	mkdir "$nvmet/subsystems/$nqn" "$nvmet/subsystems/$nqn/namespaces/1" || return
	echo 1 >"$nvmet/subsystems/$nqn/attr_allow_any_host"
	echo "$disk" >"$nvmet/subsystems/$nqn/namespaces/1/device_path"
	echo 1 >"$nvmet/subsystems/$nqn/namespaces/1/enable"
}
export_disk() {
	make_disk && port 1 ipv4 10.0.0.1 4420 && port 2 ipv6 fd00::1 4420 && port 3 ipv4 0.0.0.0 4421
}

# attach TARGET HOST [OPTIONS]: leaves the controller's name in $controller and the disk in
# $device. $service is the port's.
service=4420
attach() {
	local answer
	device=''
	exec {fabrics}<>/dev/nvme-fabrics
	if ! echo -n "transport=$transport,traddr=$1,host_traddr=$2,trsvcid=$service,nqn=$nqn,nr_io_queues=$queues${3:+,$3}" >&"$fabrics"; then
		exec {fabrics}>&-
		return 1
	fi
	read -r answer <&"$fabrics"
	exec {fabrics}>&-
	answer=${answer#*instance=}
	controller=nvme${answer%%,*}
	wait_for 15 disk_appears
}
# The disk is called after the subsystem and its own number, its path after the controller
# as well: nvme0c1n2 leads to nvme0n2.
disk_appears() {
	local path
	for path in /sys/class/nvme/"$controller"/nvme*n[0-9]*; do
		[[ ${path##*/} =~ ^(nvme[0-9]+)(c[0-9]+)?(n[0-9]+)$ ]] || continue
		device=/dev/${BASH_REMATCH[1]}${BASH_REMATCH[3]}
		[[ ! -b $device ]] || return 0
	done
	return 1
}
attached() { [[ -e /sys/class/nvme/$controller ]]; }
detach() { ! attached || echo 1 >"/sys/class/nvme/$controller/delete_controller"; }
