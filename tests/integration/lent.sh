# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# What the scripts for two machines share: the cable, this machine's device weft0, and whether pages were lent.

side=$1
add_weft() { rdma link add weft0 type weft netdev eth0; }
{ join_cable "$side" && install_stage && modprobe weft crc=off && add_weft; } || give_up "$side" "weft can't be set up on eth0"
# shellcheck disable=SC2034 # for those scripts
lose='tc qdisc replace dev eth0 root netem loss 2%' cut='tc qdisc replace dev eth0 root netem loss 100%' \
	keep='tc qdisc replace dev eth0 root netem delay 200s' mend='tc qdisc del dev eth0 root'
before=$(counter weft0 tx_lent)

# lending_now: has this machine begun to lend pages since the last lent?
lending_now() { (($(counter weft0 tx_lent) - before > 20)); }

# lent NAME 0|1 [LEAST]: were no pages lent since the last time, or LEAST messages (default 30), and none copied after all?
lent() {
	local copied lent
	copied=$(counter weft0 tx_lent_copied) lent=$(($(counter weft0 tx_lent) - before))
	((copied == 0 && ($2 ? lent >= ${3:-30} : lent == 0)))
	judge $? "$1" "$lent were lent, and $copied copied after all"
	before=$((before + lent))
}
