#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
#   abi_check.sh BUILD_DIR
#
# Holds userlib/provider_abi.h against the objects that libibverbs-dev installs for static linking: the
# relocations of libmlx5.a name the operation at each offset, libibverbs.a has the table's size, and libsiw
# the entries of a driver description. provider_test tests struct verbs_sysfs_dev.

set -euo pipefail

build=$1
libdir=$(dirname "$(realpath "$(gcc -print-file-name=libibverbs.so)")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/tap.sh
source "$(dirname "$0")/../tap.sh"

# "offset operation" of every relocation in mlx5's table of operations.
table_of_mlx5() {
	local object=$1 start offset kind symbol
	start=$(nm "$object" | awk '$3 == "mlx5_ctx_common_ops" { print $1 }')
	[[ -n $start ]] || return 1
	while read -r offset kind symbol; do
		[[ $kind == R_*_*64 && $symbol =~ mlx5_([a-z0-9_]+)$ ]] || continue
		((16#$offset >= 16#$start)) || continue
		echo "$((16#$offset - 16#$start)) ${BASH_REMATCH[1]}"
	done < <(objdump -r -j .data.rel.ro "$object")
}

# installed WHAT ARCHIVE: or else it skips the case.
installed() { [[ -e $2 ]] || { skip "$1" "$2 is not installed" && false; }; }

check_table() {
	local archive=$libdir/libmlx5.a what="every operation's offset against libmlx5.a"
	installed "$what" "$archive" || return 0
	(cd "$work" && ar x "$archive" mlx5.c.o)
	if ! table_of_mlx5 "$work/mlx5.c.o" >"$work/theirs" || [[ ! -s $work/theirs ]]; then
		skip "$what" "the table was not found in it"
		return
	fi
	"$build/abi_layout" >"$work/ours"
	# Names that mlx5 spells differently from the operation.
	sed -i -e 's/ free_pd$/ dealloc_pd/' -e 's/ arm_cq$/ req_notify_cq/' -e 's/_op$//' "$work/theirs"
	local wrong
	wrong=$(awk 'NR == FNR { ours[$1] = $2; next }
		     ours[$1] != $2 { print $1 ": theirs " $2 ", ours " ours[$1] }' \
		"$work/ours" "$work/theirs")
	if [[ -n $wrong ]]; then
		not_ok "$what" "${wrong//$'\n'/, }"
	elif (($(wc -l <"$work/theirs") < 60)); then
		not_ok "$what" "only $(wc -l <"$work/theirs") of them found"
	else
		ok "$what ($(wc -l <"$work/theirs") operations)"
	fi
}

check_size() {
	local archive=$libdir/libibverbs.a what="size of the operations table against libibverbs.a"
	local theirs ours
	installed "$what" "$archive" || return 0
	theirs=$(nm -S "$archive" 2>/dev/null | awk '$4 ~ /verbs_dummy_ops$/ { print $2 }')
	ours=$(tail -1 <("$build/abi_layout") | cut -d' ' -f1)
	if [[ -z $theirs ]]; then
		skip "$what" "the table was not found in it"
	elif ((16#$theirs == ours + 8)); then
		ok "$what ($((16#$theirs)) bytes)"
	else
		not_ok "$what" "theirs $((16#$theirs)), ours $((ours + 8))"
	fi
}

check_driver() {
	local archive what="the driver description's layout against libsiw"
	archive=$(basename "$build"/libweft-rdmav*.so .so)
	archive=$libdir/${archive/weft/siw}.a
	installed "$what" "$archive" || return 0
	(cd "$work" && ar x "$archive" siw.c.o)
	local start theirs ours offset kind symbol
	start=$(nm "$work/siw.c.o" | awk '$3 == "verbs_provider_siw" { print $1 }')
	theirs=$(while read -r offset kind symbol; do
		[[ $kind == R_*_*64 && -n $symbol ]] || continue
		offset=$((16#$offset - 16#${start:-0}))
		((offset >= 0 && offset < $("$build/abi_layout" driver | tail -1))) && echo "$offset"
	done < <(objdump -r -j .data.rel.ro.local "$work/siw.c.o") | xargs)
	ours=$("$build/abi_layout" driver | head -n -1 | xargs)
	if [[ -z $start || -z $theirs ]]; then
		skip "$what" "the description was not found in it"
	elif [[ $theirs == "$ours" ]]; then
		ok "$what (entries at $ours)"
	else
		not_ok "$what" "theirs at $theirs, ours at $ours"
	fi
}

check_table
check_size
check_driver
echo "1..3"
((failed == 0))
