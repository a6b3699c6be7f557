# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What the scripts for two machines share: the settings of this machine's device weft0, and whether pages were lent.

setting() { echo "$2" >"/sys/class/infiniband/weft0/weft/$1"; }

# lent NAME YES [LEAST]: were pages lent since the last time, LEAST messages (default 30), and none copied after all? Sets
# $before, which the caller sets first.
lent() {
	local now
	now=$(counter weft0 tx_lent)
	if [[ $(counter weft0 tx_lent_copied) != 0 ]]; then
		not_ok "$1" "$(counter weft0 tx_lent_copied) were copied after all"
	elif [[ $2 == yes ]] && ((now - before < ${3:-30})); then
		not_ok "$1" "only $((now - before)) were lent"
	elif [[ $2 == no ]] && ((now != before)); then
		not_ok "$1" "$((now - before)) were"
	else
		ok "$1"
	fi
	before=$now
}
