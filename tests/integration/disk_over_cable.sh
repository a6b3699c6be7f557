#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=alone order=2 seldom
# NVMe between two machines that share no kernel, with cards that cut large packets: the target's pages are lent
# to TCP, over a cable that loses packets as well, with CRCs and without, and until the device goes while the
# cable is cut. The server has the disk.

source "${BASH_SOURCE[0]%/*}/storage.sh"
source "${BASH_SOURCE[0]%/*}/nvme_disk.sh"
source "${BASH_SOURCE[0]%/*}/lent.sh"

# meet: waits for the other machine to come to the same place. The server is the one that listens.
meet() {
	if [[ $side == server ]]; then
		timeout $((300 * patience)) busybox nc -l -p 7000 </dev/null >/dev/null
	else
		await "the target comes to the same place" 300 met
	fi
}
met() { timeout 5 bash -c ': </dev/tcp/10.0.0.1/7000' 2>/dev/null; }

# The client reads what it wrote, in blocks that are lent; then in others, which fio checks again.
if [[ $side == client ]]; then
	modprobe nvme-rdma || not_ok "modules" "modprobe nvme-rdma failed"
	job=(--name=cable --direct=1 --ioengine=libaio --size=24M --bsrange=32k-1M --bs_unaligned=0 --verify=crc32c
		--randseed=11 --verify_fatal=1 --verify_state_save=0 --output-format=terse)
	reads() { timeout -k 5 $((200 * patience)) fio "${job[@]}" --filename="$device" --rw=randwrite --iodepth=8 --do_verify=1; }
	for way in "CRC off" "CRC off, over a cable that loses packets" "with CRC" \
		"with CRC, lent, over a cable that loses packets"; do
		meet || break
		[[ $way != with* ]] || set_a crc required
		[[ $way != *" lent"* ]] || set_a lend all
		attach 10.0.0.1 10.0.0.2 || give_up "nvme, $way: the host connects" "no disk of the target's appeared"
		check "nvme, $way: what is read is what was written" reads
		lent "$way: the host's pages are not lent" 0
		set_a lend unchecked
		detach
		meet || break
	done
	set_a crc off
	set_a lend all
	{ meet && attach 10.0.0.1 10.0.0.2 "reconnect_delay=1,ctrl_loss_tmo=5"; } ||
		give_up "nvme: the host connects once more" "no disk of the target's appeared"
	fio --thread --name=busy --filename="$device" --direct=1 --ioengine=libaio --rw=randrw --bs=512k --iodepth=8 --size=32M \
		--time_based --runtime=$((200 * patience)) >/run/busy.log 2>&1 </dev/null &
	busy=$!
	meet
	meet
	idle "nvme: I/O ends when the target is gone" 60
	finish
fi

{ modprobe brd rd_nr=1 rd_size=65536 && modprobe -a nvmet-rdma configfs; } || not_ok "modules" "there is no target"
mountpoint -q $target_configuration || mount -t configfs none $target_configuration
exported() { make_disk && port 1 ipv4 10.0.0.1 4420; }
check "the target exports the disk" exported
turn() { meet && meet; }
check "CRC off" turn
lent "the target's pages are lent" 1 20
$lose
check "CRC off, over a cable that loses packets" turn
lent "they are lent on such a cable" 1 20
$mend
set_a crc required
check "with CRC" turn
lent "nothing is lent under CRC" 0
set_a lend all
$lose
check "with CRC, lent, over a cable that loses packets" turn
lent "pages are lent under CRC where that was chosen" 1 20
$mend
set_a lend unchecked
set_a crc off
turn
wait_for 60 lending_now
judge $? "pages are lent under load" "$(($(counter weft0 tx_lent) - before)) were"
$cut
pause 1
check "the device goes though the cable is cut" timeout $((120 * patience)) rdma link delete weft0
check "the module goes" timeout $((120 * patience)) modprobe -r weft
$mend
meet
finish
