#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=1500 where=uml order=47 unsearched consumer=pyverbs
#
# rdma-core's own test-suite, all of it, on a device of this lab; see pyverbs/run.py.

source "${BASH_SOURCE[0]%/*}/../integration/lib.sh"
set_up

# The test that wants huge pages, which User Mode Linux has not, is in the lab verbs then.
if [[ -e /proc/sys/vm/nr_hugepages ]]; then
	echo 32 >/proc/sys/vm/nr_hugepages
	pyverbs 1300
else
	pyverbs 1300 --but '*_huge_page_traffic'
fi

works "after rdma-core's test-suite"
finish
