#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The README's way onto a real host, in the source tree as the host has built it: make, make
# install, modprobe, make uninstall; then the same by DKMS, which builds the module on the
# headers of the running kernel. That takes minutes in an emulated machine, so it is done
# once: what the host has built, make finds up to date.

# Functions are called by name, from wait_for and check.
# shellcheck disable=SC2317
# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"

release=$(uname -r)
if [[ ! -e /lib/modules/$release/build/Makefile ]]; then
	not_ok "headers of the running kernel" "/lib/modules/$release/build is missing"
	finish
fi
# All that is written here, below the tree too, vanishes with the machine.
cd "$LAB_PROJECT" || exit 1
git config --global --add safe.directory "$LAB_PROJECT"
# depmod reads every module there is, for minutes in an emulated machine, and runs five times
# here. What weft can have no use for is out of its sight.
for directory in "/lib/modules/$release/kernel"/{sound,fs,drivers/*,drivers/net/ethernet,drivers/net/wireless}; do
	case $directory in
	*/drivers/net | */drivers/infiniband) ;;
	*) [[ ! -d $directory ]] || mount -t tmpfs none "$directory" ;;
	esac
done
# A provider that the host has installed itself would hide what is missing here.
make -s uninstall >/dev/null 2>&1

# Where everything must be, and be gone again.
module=/lib/modules/$release/updates/weft.ko
configuration=/etc/libibverbs.d/weft.driver
page=/usr/share/man/man7/weft.7

two_hosts() {
	bash scripts/lab/two-hosts && modprobe weft &&
		on_a rdma link add weft0 type weft netdev eth0 && on_b rdma link add weft1 type weft netdev eth0
}

# timed NAME COMMAND...: check, with the time it took, and with progress.
timed() {
	local name=$1 begin=$SECONDS before=$failed
	shift
	echo "# $name: running $*"
	check "$name" "$@"
	((failed > before)) || echo "#   in $((SECONDS - begin)) s"
}

timed "make" timeout 500 make -j2
timed "make install" timeout 200 make install
check "  the module is in its place" test -f "$module"
check "  the provider's configuration is in its place" test -f "$configuration"
check "  the man page is in its place" test -f "$page"
check "  modinfo finds it" modinfo weft
check "  modprobe and rdma link add" two_hosts
ip netns exec A sleep infinity &
someone_in_a=$!
works "  the installed module and provider work"
check "  modprobe -r" modprobe -r weft
timed "make uninstall" timeout 200 make uninstall
check "  the module is gone" test ! -e "$module"
check "  the provider's configuration is gone" test ! -e "$configuration"
check "  the man page is gone" test ! -e "$page"
refused "  modprobe finds nothing" "not found" 20 modprobe weft

# Objects that the host compiled at this very path; see warm_ccache in run.
export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=$LAB_PROJECT/build/integration/ccache
timed "make dkms-install" timeout 1200 make dkms-install
check "  dkms status says installed" grep -qE '^weft[/,].*installed' <(dkms status)
check "  modinfo finds it under updates/dkms" grep -qE '^filename:.*/updates/dkms/weft' <(modinfo weft)
check "  modprobe" modprobe weft
check "  rdma link add on A" on_a rdma link add weft0 type weft netdev eth0
check "  rdma link add on B" on_b rdma link add weft1 type weft netdev eth0
works "  the module that DKMS built works"
check "  modprobe -r" modprobe -r weft
timed "make dkms-uninstall" timeout 200 make dkms-uninstall
check "  dkms has forgotten it" test -z "$(dkms status weft)"
check "  the man page is gone" test ! -e "$page"
check "  the sources are gone" test -z "$(compgen -G '/usr/src/weft-*')"
refused "  modprobe finds nothing" "not found" 20 modprobe weft

finish
