#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=45 unsearched consumer='Open MPI'
#
# Open MPI over libfabric's verbs provider: a rank on each host, every result verified, and
# the devices' own counters to prove who carried it.

source "${BASH_SOURCE[0]%/*}/../integration/lib.sh"
set_up

here=$LAB_PROJECT/tests/consumers/mpi
agent=$here/agent program=$LAB_PROJECT/build/tests/mpi/verify
printf '10.0.0.1 host-A\n10.0.0.2 host-B\n' >>/etc/hosts
export FI_VERBS_IFACE=eth0

# The bytes that our devices have put into frames, both hosts' together.
carried() { rdma statistic show | grep -oE 'tx_bytes [0-9]+' | awk '{ sum += $2 } END { print sum + 0 }'; }

# ranks NAME SETTING...: runs the program under mpirun; each case it names is a test. The
# settings go to a file, which both hosts read: remote shells eat their semicolons.
ranks() {
	local name=$1 status=0 begin bytes case verdict
	begin=$(carried)
	mkdir -p ~/.openmpi
	printf '%s\n' "plm = rsh" "plm_rsh_agent = $agent" "oob_tcp_if_include = eth0" "${@:2}" >~/.openmpi/mca-params.conf
	"$agent" host-A timeout -k 5 200 mpirun --allow-run-as-root -np 2 --host host-A:1,host-B:1 \
		-x FI_VERBS_IFACE -x FI_LOG_LEVEL=warn "$program" >/run/mpi 2>&1 </dev/null || status=$?
	bytes=$(($(carried) - begin))
	while IFS=: read -r case verdict; do
		[[ $verdict == ' right' ]]
		judge $? "$name: ${case#case }" "the data is wrong"
	done < <(grep '^case ' /run/mpi)
	((status == 0 && bytes >= 12000000))
	judge $? "$name: carried by weft (its counters: $bytes bytes)" "mpirun ended with status $status, or the ranks sent more" "$(</run/mpi)" 30
}

said=$("$agent" host-A fi_info -p "'verbs;ofi_rxm'" 2>&1)
grep -q 'domain: weft' <<<"$said"
judge $? "fi_info: libfabric offers verbs;ofi_rxm on weft" "it does not" "$said" 30
ranks "MPI" "pml = cm" "mtl = ofi" "mtl_ofi_provider_include = verbs;ofi_rxm" "osc = pt2pt"

works "after MPI"
finish
