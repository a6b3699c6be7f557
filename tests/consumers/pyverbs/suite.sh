# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# pyverbs SECONDS [PATTERN | --but PATTERN]: the tests of rdma-core's own suite whose names are like
# that, or are not, on this lab's device of host A; see run.py. For scripts that have sourced lib.sh.

pyverbs() {
	local limit=$1 suite=/usr/share/doc/rdma-core/tests
	shift
	: "${server_device:?}"
	if [[ ! -d $suite ]]; then
		not_ok "pyverbs" "$suite is not here: apt-get install python3-pyverbs, without a dpkg rule that drops documentation"
		return
	fi
	mkdir -p /run/suite
	cp -r "$suite" /run/suite/
	gunzip /run/suite/tests/*.gz
	cases "" "$limit" ip netns exec A "${BASH_SOURCE[0]%/*}/run.py" /run/suite "$server_device" 10.0.0.1 "$@"
}
