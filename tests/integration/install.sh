#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1500 where=stock order=2 home dkms
# The README's way onto a real host: make, make install, modprobe, SCTP by the kernel's module of it, make
# uninstall; then the same by DKMS. Compiling takes minutes in an emulated machine, so the host has built
# the tree, and dkms_install has run make dkms-install on the host: its changes are put in place here.

source "${BASH_SOURCE[0]%/*}/lib.sh"

release=$(uname -r)
[[ -e /lib/modules/$release/build/Makefile ]] || give_up "headers of the running kernel" "/lib/modules/$release/build is missing"
# All that is written here, below the tree too, vanishes with the machine.
cd "$LAB_PROJECT" || exit 1
git config --global --add safe.directory "$LAB_PROJECT"
# depmod takes minutes in an emulated machine, and runs five times: modules that weft cannot need are hidden from it.
for directory in "/lib/modules/$release/kernel"/{sound,fs,drivers/*,drivers/net/ethernet,drivers/net/wireless}; do
	case $directory in
	*/drivers/net | */drivers/infiniband) ;;
	*) [[ ! -d $directory ]] || mount -t tmpfs none "$directory" ;;
	esac
done
# A provider that is installed on the host would hide that one is missing here.
make -s uninstall >/dev/null 2>&1

# Where everything must be, and be gone again.
module=/lib/modules/$release/updates/weft.ko
configuration=/etc/libibverbs.d/weft.driver
page=/usr/share/man/man7/weft.7

two_hosts() { bash scripts/lab/two-hosts && modprobe weft && add_both; }

# timed NAME COMMAND...: check, with the time it took, and with progress.
timed() {
	local begin=$SECONDS
	echo "# $1: running ${*:2}"
	check "$@"
	echo "#   in $((SECONDS - begin)) s"
}

timed "make" timeout 500 make -j2
timed "make install" timeout 200 make install
check "make install: the module is in its place" test -f "$module"
check "make install: the modules of the transports are, too" test -f "${module%.ko}_sctp.ko" -a -f "${module%.ko}_paths.ko"
check "make install: the provider's configuration is in its place" test -f "$configuration"
check "make install: the man page is in its place" test -f "$page"
check "make install: modinfo finds it" modinfo weft
check "make install: modprobe and rdma link add" two_hosts
ip netns exec A sleep infinity &
someone_in_a=$!
works "on the installed module and provider"

# The kernel's SCTP is a module, which is loaded when it is needed: first it is not to be found.
program=$LAB_PROJECT/build/tests/connections/connections
log_says() { grep -qE "weft: $1" < <(dmesg); }
sctp=$(modinfo -n sctp)
check "the kernel's SCTP is a module" test -f "$sctp"
each transport sctp
mv "$sctp" /run/sctp.ko.hidden
refused "a server without the kernel's SCTP" "not supported|rdma_listen" 20 ip netns exec A "$program" server 10.0.0.1 1
check "the log says what is missing" log_says "this kernel has no SCTP.*install its module sctp"
refused "a client without the kernel's SCTP" "not supported|rdma_connect" 20 ip netns exec B "$program" client 10.0.0.1 1 1
mv /run/sctp.ko.hidden "$sctp"
works "over SCTP, once its module is there"
check "the kernel's SCTP was loaded for that" grep -q '^sctp ' /proc/modules
each transport tcp

check "make install: weft doctor finds no fault" on_a weft doctor
refused "make install: modprobe -r weft, which weft_sctp uses" "in use" 20 modprobe -r weft
check "make install: modprobe -r" modprobe -r weft_sctp weft
timed "make uninstall" timeout 200 make uninstall
check "make uninstall: the modules are gone" test -z "$(compgen -G "${module%.ko}*")"
check "make uninstall: the provider's configuration is gone" test ! -e "$configuration"
check "make uninstall: the man page is gone" test ! -e "$page"
check "make uninstall: weft(8) is gone" test -z "$(compgen -G '/usr/*/weft'; compgen -G '/usr/share/*/completions/weft')"
refused "make uninstall: modprobe finds nothing" "not found" 20 modprobe weft

packed=$LAB_PROJECT/build/integration/dkms.tar
check "make dkms-install" tar -C / -xf "$packed" --keep-directory-symlink --no-same-owner
check "make dkms-install: dkms status says installed" grep -qE '^weft[/,].*installed' <(dkms status)
check "make dkms-install: modinfo finds it under updates/dkms" grep -qE '^filename:.*/updates/dkms/weft' <(modinfo weft)
check "make dkms-install: modprobe" modprobe weft
check "make dkms-install: rdma link add on A" add_a
check "make dkms-install: rdma link add on B" add_b
works "on the module that DKMS built"
check "make dkms-install: modprobe -r" modprobe -r weft
timed "make dkms-uninstall" timeout 200 make dkms-uninstall
forgotten() { said=$(dkms status weft) && [[ -z $said ]]; }
check "make dkms-uninstall: dkms has forgotten it" forgotten
check "make dkms-uninstall: the man page is gone" test ! -e "$page"
check "make dkms-uninstall: the sources are gone" test -z "$(compgen -G '/usr/src/weft-*')"
refused "make dkms-uninstall: modprobe finds nothing" "not found" 20 modprobe weft
finish
