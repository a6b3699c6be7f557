#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=alone order=1
# rping and tests/lending between two machines that share no kernel, with cards that cut large packets: with
# CRC and without, in large frames and of a segment each; pages that are lent to TCP, over a cable that loses
# packets or is cut, to the end of a process, a device and the module, also while the card keeps them.

source "${BASH_SOURCE[0]%/*}/lib.sh"
source "${BASH_SOURCE[0]%/*}/lent.sh"
lending=$LAB_PROJECT/build/tests/lending/lending

# The client says by plain TCP when it is over.
if [[ $side == server ]]; then
	rping -s -P -a :: -S 65535 >/run/rping 2>&1 &
	server=$!
	"$lending" server 10.0.0.1 >/run/lending 2>&1 &
	checker=$!
	timeout $((800 * patience)) busybox nc -l -p 7000 >/run/end
	kill -0 $server && [[ $(</run/end) == end ]]
	judge $? "the server serves to the end" "it ended before the client" "$(</run/rping)"
	kill -0 $checker
	judge $? "all large messages were right" "their server has ended" "$(</run/lending)"
	kill $server $checker
	finish
fi

# Plain TCP tells when the other machine's rping listens; from then on nothing may be refused.
listening() { timeout 5 bash -c ': </dev/tcp/10.0.0.1/7174' 2>/dev/null; }
served() { rping_client env 60 -a 10.0.0.1 -C 1 -S 64 -V &>/run/rping; }

if ! await "the other machine's rping listens" 120 listening || ! served; then
	give_up "the machines talk" "rping failed" "$(cat /run/rping 2>/dev/null)"
fi
ok "the machines talk"
for crc in off required; do
	for fpdu in large segment; do
		set_a crc $crc
		set_a fpdu $fpdu
		for size in 64 1449 65535; do
			check "rping, $size bytes, crc $crc, fpdu $fpdu" rping_client env 60 -a 10.0.0.1 -C 30 -S $size -V
		done
	done
done
check "rping over IPv6" rping_client env 60 -a fd00::1 -C 30 -S 65535 -V

messages() { timeout $((200 * patience)) "$lending" client 10.0.0.1 "$@"; }
set_a fpdu large
check "large messages with CRC" messages 60
lent "nothing is lent under CRC" 0
# A buffer is overwritten when its request is known to be complete; if TCP had to send it again after that, the peer would
# find a wrong CRC, and end the connection.
set_a lend all
check "large messages with CRC, lent" messages 200
lent "pages are lent under CRC where that was chosen" 1
$lose
check "large messages with CRC, lent, over a cable that loses packets" messages 200
$mend
lent "pages are lent under CRC on such a cable" 1
set_a lend unchecked
set_a crc off
check "large messages" messages 200
lent "pages are lent" 1
# Each is given back only with the last reference on it.
if echo 9 2>/dev/null >/proc/sys/vm/nr_hugepages && [[ $(</proc/sys/vm/nr_hugepages) == 9 ]]; then
	check "large messages from huge pages" messages 60 huge
	lent "huge pages are lent" 1
	check "huge pages are the machine's again" wait_for 30 grep -q '^HugePages_Free: *9$' /proc/meminfo
	echo 0 >/proc/sys/vm/nr_hugepages
else
	skip "large messages from huge pages" "this kernel has none to give"
fi
set_a fpdu segment
check "large messages in frames of a segment" messages 60
lent "nothing is lent in frames of a segment" 0
set_a fpdu large
$lose
check "large messages over a cable that loses packets" messages 200
$mend
lent "pages are lent on such a cable" 1
check "nothing completes while the cable is cut" timeout $((200 * patience)) "$lending" hold 10.0.0.1 "$cut" "$mend"
lent "pages are lent before the cut" 1
tc qdisc replace dev eth0 root netem delay 700ms
check "messages one by one to a peer far away" timeout $((200 * patience)) "$lending" alone 10.0.0.1 12
$mend

held() { grep -q held /run/left; }
# killed NAME WAY NUMBER: a process is killed while its pages are lent, on NUMBER connections, and the cable is held up.
killed() {
	"$lending" leave 10.0.0.1 "$2" "$3" >/run/left 2>&1 &
	left=$!
	wait_for 120 held && kill -9 $left && wait_for 60 ended $left
	judge $? "$1" "it did not get there, or is still there after a minute" "$(</run/left)"
}
killed "a process with lent pages and no peer can be killed" "$cut" 16
$mend
killed "a process can be killed though the card keeps its pages" "$keep" 1
# The callback for these is in the module.
modprobe -r weft &
left=$!
pause 5
! ended $left
judge $? "the module waits for them" "it is gone"
$mend
wait_for 30 ended $left
judge $? "it goes when they are back" "it is still there"
modprobe weft crc=off && add_weft
for way in "rdma link delete weft0" "modprobe -r weft" "$cut; modprobe -r weft"; do
	messages 1000000 >/run/left 2>&1 &
	left=$!
	before=$(counter weft0 tx_lent)
	wait_for 60 lending_now || not_ok "under load: $way" "nothing is lent" "$(</run/left)"
	check "under load: $way" timeout $((120 * patience)) bash -c "$way"
	check "under load: $way: the program ends" wait_for 60 ended $left
	$mend 2>/dev/null
	modprobe weft crc=off && { [[ -e /sys/class/infiniband/weft0 ]] || add_weft; }
	check "large messages after: $way" messages 60
done
echo end >/dev/tcp/10.0.0.1/7000
finish
