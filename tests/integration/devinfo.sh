#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=600 where=uml order=48
# What the standard tools tell of the module and its devices, and that the module loads by
# itself.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up

says "modinfo: description" '^description: +[A-Za-z]' modinfo weft
says "modinfo: licence" '^license: +GPL' modinfo weft
says "modinfo: alias" '^alias: +rdma-link-weft$' modinfo weft
says "modinfo: version" '^version: +[0-9]' modinfo weft
says "modinfo: parameter crc" '^parm: +crc:.*\(charp\)' modinfo weft
says "modinfo: parameter mpa_revision" '^parm: +mpa_revision:.*\(uint\)' modinfo weft

check "modprobe -r before rdma link add" modprobe -r weft
check "rdma link add without modprobe" on_a rdma link add weft0 type weft netdev eth0
says "rdma link add without modprobe loads the module" '^weft ' cat /proc/modules
check "rdma link add on the other host" on_b rdma link add weft1 type weft netdev eth0

says "rdma link show" '^link weft0/1 state ACTIVE physical_state LINK_UP netdev eth0' on_a rdma link show weft0/1
says "rdma dev show" 'weft1: node_type rnic' rdma dev show
says "ibv_devices" 'weft0' ibv_devices
says "ibv_devinfo: transport" 'transport:[[:space:]]+iWARP' ibv_devinfo -d weft0
says "ibv_devinfo: state" 'state:[[:space:]]+PORT_ACTIVE' ibv_devinfo -d weft0
says "ibv_devinfo: link layer" 'link_layer:[[:space:]]+Ethernet' ibv_devinfo -d weft0
says "ibv_devinfo: firmware version" "fw_ver:[[:space:]]+$(<"$LAB_PROJECT/VERSION")\$" ibv_devinfo -d weft0
says "ibv_devinfo -v: max_pkeys" 'max_pkeys:[[:space:]]+1$' ibv_devinfo -v -d weft0
says "ibv_devinfo -v: capabilities" 'SYS_IMAGE_GUID' ibv_devinfo -v -d weft0
says "ibv_devinfo: MTU" 'active_mtu:[[:space:]]+1024' ibv_devinfo -d weft0
for limit in max_qp max_qp_wr max_sge max_cq max_cqe max_mr max_pd max_qp_rd_atom max_sge_rd; do
	says "ibv_devinfo -v: $limit" "^[[:space:]]+$limit:[[:space:]]+[1-9]" ibv_devinfo -v -d weft0
done
says "rdma res show" 'weft0: pd' rdma res show

ip -n A link set eth0 down
port_is() { grep -q "$1" < <(ibv_devinfo -d weft0); }
check "the port is down when the netdev is" wait_for 10 port_is PORT_DOWN
ip -n A link set eth0 up
check "the port is active when the netdev is up" wait_for 10 port_is PORT_ACTIVE
ip -n A link set eth0 mtu 9000
check "the port's MTU follows the netdev's" wait_for 10 port_is 'active_mtu:[[:space:]]*4096'
ip -n A link set eth0 mtu "$mtu"
works "after the netdev changed"
finish
