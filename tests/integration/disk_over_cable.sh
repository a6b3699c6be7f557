#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=alone order=2 seldom
#
# NVMe between two machines that share no kernel, with network cards that cut large packets: the target's pages are lent to
# TCP, over a cable that loses packets as well, with CRCs and without, and until the device goes while the cable is cut.
# tests/integration/disk_over_cable.sh SIDE runs on each, in scripts/lab/two-machines. The server has the disk.

# shellcheck disable=SC2317 # functions are called by check and wait_for
source "${BASH_SOURCE[0]%/*}/storage.sh"
source "${BASH_SOURCE[0]%/*}/nvme_disk.sh"
source "${BASH_SOURCE[0]%/*}/lent.sh"
side=$1

# meet: waits for the other machine to come to the same place. The server is the one that listens.
meet() {
	if [[ $side == server ]]; then
		timeout $((300 * patience)) busybox nc -l -p 7000 </dev/null >/dev/null
	else
		await "the target comes to the same place" 300 met
	fi
}
met() { timeout 5 bash -c ': </dev/tcp/10.0.0.1/7000' 2>/dev/null; }

if ! join_cable "$side" || ! install_stage || ! modprobe weft crc=off ||
	! rdma link add weft0 type weft netdev eth0; then
	not_ok "$side" "weft can't be set up on eth0"
	finish
fi

# The client reads what it wrote, in blocks that are lent; then in others, which fio checks again.
if [[ $side == client ]]; then
	modprobe nvme-rdma || not_ok "modules" "modprobe nvme-rdma failed"
	job=(--name=cable --direct=1 --ioengine=libaio --size=24M --bsrange=32k-1M --bs_unaligned=0 --verify=crc32c
		--randseed=11 --verify_fatal=1 --verify_state_save=0 --output-format=terse)
	reads() { timeout -k 5 $((200 * patience)) fio "${job[@]}" --filename="$device" --rw=randwrite --iodepth=8 --do_verify=1; }
	before=$(counter weft0 tx_lent)
	for way in "CRC off" "CRC off, over a cable that loses packets" "with CRC" \
		"with CRC, lent, over a cable that loses packets"; do
		meet || break
		[[ $way != with* ]] || setting crc required
		[[ $way != *" lent"* ]] || setting lend all
		if ! attach 10.0.0.1 10.0.0.2; then
			not_ok "nvme, $way: the host connects" "no disk of the target's appeared"
			break
		fi
		check "nvme, $way: what is read is what was written" reads
		lent "$way: the host's pages are not lent" no
		setting lend unchecked
		detach
		meet || break
	done
	setting crc off
	setting lend all
	if meet && attach 10.0.0.1 10.0.0.2 "reconnect_delay=1,ctrl_loss_tmo=5"; then
		fio --thread --name=busy --filename="$device" --direct=1 --ioengine=libaio --rw=randrw --bs=512k --iodepth=8 --size=32M \
			--time_based --runtime=$((200 * patience)) >/run/busy.log 2>&1 </dev/null &
		busy=$!
		meet
		meet
		idle "nvme: I/O ends when the target is gone" 60
	else
		not_ok "nvme: the host connects once more" "no disk of the target's appeared"
	fi
	finish
fi

{ modprobe brd rd_nr=1 rd_size=65536 && modprobe -a nvmet-rdma configfs; } || not_ok "modules" "there is no target"
mountpoint -q $target_configuration || mount -t configfs none $target_configuration
exported() { make_disk && port 1 ipv4 10.0.0.1 4420; }
check "the target exports the disk" exported
before=$(counter weft0 tx_lent)
loss='tc qdisc replace dev eth0 root netem loss 2%' cut='tc qdisc replace dev eth0 root netem loss 100%' mend='tc qdisc del dev eth0 root'
turn() { meet && meet; }
check "CRC off" turn
lent "the target's pages are lent" yes 20
$loss
check "CRC off, over a cable that loses packets" turn
lent "they are lent on such a cable" yes 20
$mend
setting crc required
check "with CRC" turn
lent "nothing is lent under CRC" no
setting lend all
$loss
check "with CRC, lent, over a cable that loses packets" turn
lent "pages are lent under CRC where that was chosen" yes 20
$mend
setting lend unchecked
setting crc off
lending_now() { (($(counter weft0 tx_lent) - before > 20)); }
meet
meet
if wait_for 60 lending_now; then
	ok "pages are lent under load"
else
	not_ok "pages are lent under load" "$(($(counter weft0 tx_lent) - before)) were"
fi
$cut
pause 1
check "the device goes though the cable is cut" timeout $((120 * patience)) rdma link delete weft0
check "the module goes" timeout $((120 * patience)) modprobe -r weft
$mend
meet
finish
