#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Holds userlib/provider_abi.h against rdma-core itself:
#  1. against libmlx5.a, which fills in every operation and which libibverbs-dev
#     installs: its relocations name the operation at each offset;
#  2. against the size of libibverbs' own table of defaults in libibverbs.a;
#  3. against rdma-core's real headers, where its source package can be had.
#
#   abi_check.sh BUILD_DIR
#
# One line a check: ok, FAIL or skip with the reason. Exit status 1 on a FAIL.

set -euo pipefail

build=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
libdir=$(dirname "$(realpath "$(gcc -print-file-name=libibverbs.so)")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

ok() { echo "ok   $*"; }
skip() { echo "skip $*"; }
fail() {
	echo "FAIL $*"
	failed=1
}

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

check_table() {
	local archive=$libdir/libmlx5.a what="every operation's offset against libmlx5.a"
	if [[ ! -e $archive ]]; then
		skip "$what: $archive is not installed"
		return
	fi
	(cd "$work" && ar x "$archive" mlx5.c.o)
	if ! table_of_mlx5 "$work/mlx5.c.o" >"$work/theirs" || [[ ! -s $work/theirs ]]; then
		skip "$what: the table was not found in it"
		return
	fi
	"$build/abi_offsets" >"$work/ours"
	# Names that mlx5 spells differently from the operation.
	sed -i -e 's/ free_pd$/ dealloc_pd/' -e 's/ arm_cq$/ req_notify_cq/' "$work/theirs"
	local wrong
	wrong=$(awk 'NR == FNR { ours[$1] = $2; next }
		     ours[$1] != $2 { print $1 ": theirs " $2 ", ours " ours[$1] }' \
		"$work/ours" "$work/theirs")
	if [[ -n $wrong ]]; then
		fail "$what:"$'\n'"$wrong"
	elif (($(wc -l <"$work/theirs") < 60)); then
		fail "$what: only $(wc -l <"$work/theirs") of them found"
	else
		ok "$what ($(wc -l <"$work/theirs") operations)"
	fi
}

check_size() {
	local archive=$libdir/libibverbs.a what="size of the operations table against libibverbs.a"
	local theirs ours
	if [[ ! -e $archive ]]; then
		skip "$what: $archive is not installed"
		return
	fi
	theirs=$(nm -S "$archive" 2>/dev/null | awk '$4 ~ /verbs_dummy_ops$/ { print $2 }')
	ours=$(tail -1 <("$build/abi_offsets") | cut -d' ' -f1)
	if [[ -z $theirs ]]; then
		skip "$what: the table was not found in it"
	elif ((16#$theirs == ours + 8)); then
		ok "$what ($((16#$theirs)) bytes)"
	else
		fail "$what: theirs $((16#$theirs)), ours $((ours + 8))"
	fi
}

# Compiles abi_headers.c, our numbers as asserts, against their headers.
check_headers() {
	local what="sizes and offsets against rdma-core's headers" source
	local version
	version=$(dpkg-query -f '${source:Upstream-Version}' -W libibverbs-dev 2>/dev/null || true)
	cd "$work"
	if ! command -v apt-get >/dev/null || [[ -z $version ]]; then
		skip "$what: no Debian source package to take them from"
		return
	fi
	if ! timeout 60 apt-get source --download-only "rdma-core=$(dpkg-query -f '${source:Version}' \
		-W libibverbs-dev)" >apt.log 2>&1; then
		skip "$what: apt-get source rdma-core: $(grep -m1 '^E:' apt.log || tail -1 apt.log)"
		return
	fi
	if ! tar xf rdma-core_"$version".orig.tar.*; then
		skip "$what: the source package has no upstream archive"
		return
	fi
	source=$(dirname "$(find . -path '*/libibverbs/driver.h' | head -1)")/..
	mkdir -p include/infiniband include/ccan include/util
	cp "$source"/libibverbs/{driver,kern-abi,cmd_ioctl}.h include/infiniband/
	cp "$source"/ccan/*.h include/ccan/
	cp "$source"/util/*.h include/util/
	cp -r "$source"/kernel-headers/rdma include/
	: >include/config.h
	if gcc -std=gnu11 -D_GNU_SOURCE -DIBVERBS_PABI_VERSION=34 -DVERBS_IOCTL_ONLY=0 -DVERBS_WRITE_ONLY=0 \
		-Iinclude -include assert.h -include stddef.h -fsyntax-only \
		"$top/tests/provider/abi_headers.c" 2>headers.log; then
		ok "$what"
	else
		fail "$what:"$'\n'"$(head -20 headers.log)"
	fi
}

check_table
check_size
check_headers
exit "$failed"
