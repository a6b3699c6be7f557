#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=25 mtu=1500 debug
# lab: limit=900 where=uml order=26 mtu=9000 seldom
# lab: limit=900 where=uml order=30 transport=sctp seldom
# lab: limit=900 where=uml order=38 transport=paths seldom
# The program of tests/placement under every combination of IP version and CRC policy that matters, at the MTU
# of WEFT_MTU. Its groups count as tests.

source "${BASH_SOURCE[0]%/*}/lib.sh"
program=$LAB_PROJECT/build/tests/placement/placement
set_up

# placement LABEL ADDRESS [ARGUMENTS...]
placement() { cases "$1" 240 "$program" --server "$2" --server-netns A --client-netns B "${@:3}"; }

[[ -x $program ]] || give_up "placement" "$program is missing; run make -C tests/placement"
# Groups that neither IP version nor MTU nor CRC can change.
briefly=()
for name in "private data" rejection "nobody there" disconnection "full queues" "work requests refused when posted" \
	"posting in the wrong state"; do
	briefly+=(--without "$name")
done
if [[ $mtu == 1500 ]]; then
	placement "mtu 1500, IPv4, CRC" 10.0.0.1
	reload crc=0 || not_ok "crc=0" "weft did not load again"
	placement "mtu 1500, IPv6, no CRC" fd00::1 "${briefly[@]}"
else
	placement "mtu $mtu, IPv6, CRC" fd00::1 "${briefly[@]}"
	reload crc=0 || not_ok "crc=0" "weft did not load again"
	placement "mtu $mtu, IPv4, no CRC" 10.0.0.1
fi
finish
