# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# NVMe over RDMA: $disk, exported by the kernel's target on host A, and attached by its host driver on host B. For scripts
# that have sourced storage.sh, or set disk and target_configuration. Another $transport than rdma can be set.

nvmet=$target_configuration/nvmet nqn=nqn.2026-01.weft:disk transport=rdma queues=2

# port NUMBER FAMILY ADDRESS SERVICE
port() {
	local port=$nvmet/ports/$1 pair
	mkdir "$port" || return
	for pair in "trtype $transport" "adrfam $2" "traddr $3" "trsvcid $4"; do echo "${pair#* }" >"$port/addr_${pair% *}"; done
	ln -s "$nvmet/subsystems/$nqn" "$port/subsystems/$nqn"
}

# make_disk: makes the subsystem, which no port offers yet.
make_disk() {
	local system=$nvmet/subsystems/$nqn
	mkdir "$system" "$system/namespaces/1" || return
	echo 1 >"$system/attr_allow_any_host"
	echo "$disk" >"$system/namespaces/1/device_path"
	echo 1 >"$system/namespaces/1/enable"
}
export_disk() {
	make_disk && port 1 ipv4 10.0.0.1 4420 && port 2 ipv6 fd00::1 4420 && port 3 ipv4 0.0.0.0 4421
}

# attach TARGET HOST [OPTIONS]: leaves the names of controller and disk in $controller and $device. $service: the port's.
service=4420
attach() {
	local answer=''
	device=''
	exec {fabrics}<>/dev/nvme-fabrics
	echo -n "transport=$transport,traddr=$1,host_traddr=$2,trsvcid=$service,nqn=$nqn,nr_io_queues=$queues${3:+,$3}" >&"$fabrics" &&
		read -r answer <&"$fabrics"
	exec {fabrics}>&-
	[[ $answer == *instance=* ]] || return
	answer=${answer#*instance=}
	controller=nvme${answer%%,*}
	wait_for 15 disk_appears
}
# A path to a disk is called after the controller as well: nvme0c1n2 leads to nvme0n2.
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
