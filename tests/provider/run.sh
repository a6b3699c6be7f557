#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
#   run.sh BUILD_DIR [tsan | refusals]      (make -C userlib test, and tsan, build and call it)
#
# The tests of libweft that need no kernel device. With "tsan" only what runs under the thread sanitizer,
# with "refusals" only the libibverbs that it refuses to load on. Prints TAP.

set -euo pipefail

build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/provider
plugin=$(echo "$build"/libweft-rdmav*.so)
name=${plugin%-rdmav*.so} # as RDMAV_DRIVERS wants it
name_of_plugin=$(basename "$plugin")
library=$(realpath "$(gcc -print-file-name=libibverbs.so)")
release=$(echo "${library##*/libibverbs.so.}" | cut -d. -f3)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$top/tests/tap.sh"

# Runs a GoogleTest program, which has a plan of its own.
gtest() { "$top/tests/tap.py" gtest timeout 300 "$@" || status=1; }

# A program that finds the fake kernel below it; variables may stand before it.
fake() { env LD_PRELOAD="$build/libfake_kernel.so" "$@"; }

# holds WHAT WHY OUTPUT COMMAND...: a case that passes if the command does.
holds() { if "${@:4}"; then ok "$1"; else not_ok "${@:1:3}"; fi; }

# expect WHAT PATTERN FILE: the file has exactly one line, and it matches.
expect_one_line() { holds "$1" "expected one line like '$2'" "$(<"$3")" test "$(wc -l <"$3") $(grep -Ec "$2" "$3")" = "1 1"; }

# A copy of libibverbs that calls itself another release must be refused, with a line that says so
# where libibverbs' warnings are asked for.
check_release_refused() {
	local as=$1 pattern=$2 what=$3
	mkdir -p "$work/$as"
	cp "$library" "$work/$as/$as"
	[[ $as == libibverbs.so.1 ]] || ln -s "$as" "$work/$as/libibverbs.so.1"
	fake LD_LIBRARY_PATH="$work/$as" RDMAV_DRIVERS="$name" ibv_devices >/dev/null 2>"$work/err" || true
	holds "$what: not a word in a program that has no use for Weft" "without a Weft device it says that" "$(<"$work/err")" \
		test ! -s "$work/err"
	# A device is known by its settings in sysfs.
	# shellcheck disable=SC2016  # expanded by the inner shell
	if unshare -m true 2>/dev/null; then
		LD_LIBRARY_PATH=$work/$as RDMAV_DRIVERS=$name unshare -m bash -ec '
			mount -t tmpfs none /sys/class
			mkdir -p /sys/class/infiniband/weft0/weft
			echo preferred >/sys/class/infiniband/weft0/weft/crc
			LD_PRELOAD=$1 ibv_devices
		' - "$build/libfake_kernel.so" >/dev/null 2>"$work/err" || true
		expect_one_line "$what: one line says so where there is a Weft device" "$pattern" "$work/err"
	else
		skip "$what, with a Weft device" "no private mount namespace here"
	fi
	fake IBV_SHOW_WARNINGS=1 LD_LIBRARY_PATH="$work/$as" RDMAV_DRIVERS="$name" ibv_devices >"$work/out" 2>"$work/all" || true
	grep '^libweft: ' "$work/all" >"$work/err" || true
	expect_one_line "$what: one line says so with IBV_SHOW_WARNINGS" "$pattern" "$work/err"
	holds "$what: no device is listed" "the device is listed all the same" "" test -z "$(grep weft0 "$work/out")"
}

# The files of "make install", found by libibverbs on its own, in a mount
# namespace of this test's so that the machine stays as it is.
check_installed() {
	local what="installed plugin" dest=$work/dest libdir
	make -s --no-print-directory -C "$top/userlib" install BUILD="$build" DESTDIR="$dest"
	libdir=$(dirname "$(find "$dest" -name 'libweft-rdmav*.so')")
	if ! unshare -m true 2>"$work/err"; then
		skip "$what" "no private mount namespace here: $(head -1 "$work/err")"
	else
		# shellcheck disable=SC2016  # expanded by the inner shell
		if unshare -m bash -ec '
			mount --bind "$1/etc/libibverbs.d" /etc/libibverbs.d
			mount --bind "$2" "${2#"$1"}"
			LD_PRELOAD=$3 ibv_devices
			LD_PRELOAD=$3 ibv_devinfo -d weft0
		' - "$dest" "$libdir" "$build/libfake_kernel.so" >"$work/out" 2>&1 &&
			grep -q 'transport:.*iWARP' "$work/out"; then
			ok "$what: found by ibv_devices, opened by ibv_devinfo"
		else
			not_ok "$what" "ibv_devices or ibv_devinfo did not find it" "$(<"$work/out")"
		fi
	fi
	make -s --no-print-directory -C "$top/userlib" uninstall DESTDIR="$dest"
	holds "uninstall leaves nothing behind" "$(find "$dest" -type f)" "" test -z "$(find "$dest" -type f)"
}

# A program that may not ask by netlink which devices there are, as a service without AF_NETLINK,
# learns them from sysfs, without their driver ids.
check_without_netlink() {
	local what="without netlink" sys=$work/sys
	mkdir -p "$sys/class/infiniband_verbs/uverbs0" "$sys/class/infiniband/weft0/weft" \
		"$sys/class/infiniband/other0"
	echo 6 >"$sys/class/infiniband_verbs/abi_version"
	echo weft0 >"$sys/class/infiniband_verbs/uverbs0/ibdev"
	echo 231:192 >"$sys/class/infiniband_verbs/uverbs0/dev"
	sed -n 's/^#define WEFT_ABI_VERSION[[:space:]]*//p' "$top/kernel/uapi/weft-abi.h" \
		>"$sys/class/infiniband_verbs/uverbs0/abi_version"
	echo '4: RNIC' | tee "$sys/class/infiniband/weft0/node_type" >"$sys/class/infiniband/other0/node_type"
	echo preferred >"$sys/class/infiniband/weft0/weft/crc"
	local -a there=(fake SYSFS_PATH="$sys" FAKE_KERNEL_NETLINK=closed RDMAV_DRIVERS="$name")
	local status=0
	"${there[@]}" ibv_devinfo >"$work/out" 2>&1 || status=$?
	holds "$what: a device is known by its settings in sysfs, and opens" "ibv_devinfo did not find the device" "$(<"$work/out")" \
		test "$status $(grep -c 'hca_id:.weft0' "$work/out")" = "0 1"
	echo other0 >"$sys/class/infiniband_verbs/uverbs0/ibdev"
	"${there[@]}" ibv_devices >"$work/out" 2>&1 || true
	holds "$what: the device of another driver is left alone" "the device of another driver is taken for ours" \
		"$(<"$work/out")" test -z "$(grep 'other0\|libweft' "$work/out")"
}

# Nothing but libibverbs and libc, and no symbol for others to trip over.
check_binary() {
	local needed exported
	needed=$(readelf -d "$plugin" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort | xargs)
	holds "the plugin needs libibverbs and libc only" "$needed" "" test "$needed" = "libc.so.6 libibverbs.so.1"
	holds "the plugin ends no program: it has no assertion" "it can" "" \
		test -z "$(nm -D --undefined-only "$plugin" | grep -E '__assert_fail|abort')"
	exported=$(nm -D --defined-only "$plugin")
	holds "the plugin exports no symbol" "$exported" "" test -z "$exported"
}

# The file that names the plugin goes where the libibverbs that was found looks, such as /usr/local/etc/libibverbs.d.
check_config_dir() {
	local copy=$work/local/${library##*/} dirs
	mkdir -p "$work/local"
	sed 's,/etc/libibverbs\.d,/opt/libibverbs.d,' "$library" >"$copy"
	dirs=$(MAKEFLAGS="" make -s -n -C "$top/userlib" install BUILD="$build" LIBIBVERBS="$copy" | sed -n 's/^install -d //p')
	holds "make install: the plugin and its file go where libibverbs looks" "they go to $dirs" "" \
		test "$dirs" = "$work/local/libibverbs /opt/libibverbs.d"
}

# An rdma-core that the build does not know must stop it with a message.
check_unknown_rdma_core() {
	awk -F'[^0-9]+' -v release="$release" '!/^WEFT_RELEASES/ || release < $2 || release > $3' \
		"$top/userlib/releases.h" >"$work/releases.h"
	MAKEFLAGS="" make -s -n -C "$top/userlib" all BUILD="$build" RELEASES="$work/releases.h" >"$work/out" 2>"$work/err" || true
	expect_one_line "the build refuses an rdma-core release that it does not know" \
		"of rdma-core release '$release' .* nobody has tried with libweft; userlib/releases.h has [0-9]" "$work/err"
	# The same release with another private interface, as a fork may have.
	sed "s/^\(WEFT_RELEASES([0-9]*, [0-9]*, \)[0-9]*/\11/" "$top/userlib/releases.h" >"$work/releases.h"
	MAKEFLAGS="" make -s -n -C "$top/userlib" all BUILD="$build" RELEASES="$work/releases.h" >"$work/out" 2>"$work/err" || true
	expect_one_line "the build refuses a known release with another private interface" \
		"with private interface '[0-9]+', which nobody has tried" "$work/err"
}

# The tests with threads, under the thread sanitizer, whose first report ends the program with an
# error. It expects certain addresses, so they are not randomized if that can be switched off.
check_threads() {
	local plain=()
	if setarch "$(uname -m)" -R true 2>/dev/null; then
		plain=(setarch "$(uname -m)" -R)
	fi
	gtest "${plain[@]}" "$build/tsan/ring_test" --gtest_filter='Threads.No*'
	RDMAV_DRIVERS=$build/tsan/libweft gtest "${plain[@]}" "$build/tsan/threads_test"
}

check_refusals() {
	check_release_refused libibverbs.so.1.14.43.0 'built for rdma-core [0-9]+, but .* is rdma-core 43' \
		"another rdma-core release"
	check_release_refused libibverbs.so.1 'does not name its rdma-core release' \
		"an rdma-core without a release"
}

# Plugins that were built for other releases (make test RDMA_CORE=…) are refused by this one in one
# line: by ours, or, where their name has another tag, by libibverbs. A false name of the library
# does not help, where structures differ.
check_foreign() {
	local other plugin built false_name pattern
	for other in "$top"/build/userlib*/; do
		built=$(basename "$other"config-*-* | cut -d- -f3)
		plugin=$(echo "$other"libweft-rdmav*.so)
		[[ -e $plugin && $built != "$release" ]] || continue
		pattern="libweft: built for rdma-core $built, but .* is rdma-core $release"
		[[ -e ${plugin%-rdmav*}${name_of_plugin#libweft} ]] || pattern="libibverbs: Warning: couldn't load driver"
		fake IBV_SHOW_WARNINGS=1 RDMAV_DRIVERS="${plugin%-rdmav*}" ibv_devinfo >/dev/null 2>"$work/all" || true
		grep -E '^libweft: |load driver .*weft' "$work/all" >"$work/err" || true
		expect_one_line "a libweft of rdma-core $built on $release: one line says so" "$pattern" "$work/err"
		[[ $pattern == libweft* && $((built < 45)) != $((release < 45)) ]] || continue
		false_name=libibverbs.so.1.14.$built.0
		mkdir -p "$work/false"
		cp "$library" "$work/false/$false_name"
		ln -sf "$false_name" "$work/false/libibverbs.so.1"
		fake LD_LIBRARY_PATH="$work/false" RDMAV_DRIVERS="${plugin%-rdmav*}" ibv_devinfo >"$work/out" 2>"$work/all" || true
		grep '^libweft: ' "$work/all" >"$work/err" || true
		expect_one_line "a libweft of rdma-core $built on $release under the name of $built: one line says so" \
			'has another private interface \(struct verbs_qp\)' "$work/err"
	done
}

status=0
case ${2:-} in
tsan) check_threads ;;
refusals) check_refusals ;;
*)
	gtest "$build/ring_test"
	RDMAV_DRIVERS=$name gtest "$build/provider_test"
	check_threads
	check_binary
	check_unknown_rdma_core
	check_config_dir
	check_without_netlink
	check_refusals
	check_foreign
	check_installed
	# Which has a plan of its own as well.
	"$here/abi_check.sh" "$build" || status=1
	;;
esac
plan || status=1
exit "$status"
