#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core's own test-suite, all of it, on a device of this lab; see pyverbs/run.py.

# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/../integration/lib.sh"
set_up
: "${server_device:?}"

suite=/usr/share/doc/rdma-core/tests
if [[ ! -d $suite ]]; then
	not_ok "pyverbs" "$suite is not here: apt-get install python3-pyverbs, without a dpkg rule that drops documentation"
	finish
fi
mkdir /run/suite
cp -r "$suite" /run/suite/
gunzip /run/suite/tests/*.gz

# For the tests that want huge pages, of 2 MiB each.
echo 32 >/proc/sys/vm/nr_hugepages

cases "" 1300 ip netns exec A "${BASH_SOURCE[0]%/*}/pyverbs/run.py" /run/suite "$server_device" 10.0.0.1

works "after rdma-core's test-suite"
finish
