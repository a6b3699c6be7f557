#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab: limit=900 where=uml order=27 consumer=rping
# lab: limit=900 where=uml order=31 transport=sctp seldom
# lab: limit=900 where=uml order=39 transport=paths seldom
# rping, which checks its data, with many sizes, over IPv4 and IPv6, and with revision 1 of MPA.

source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up

for size in 64 100 1000 1427 1449 4097 65535; do
	rping_of "rping over IPv4, $size bytes" 10.0.0.1 "$size" 20
done
for size in 64 1449 65535; do rping_of "rping over IPv6, $size bytes" fd00::1 "$size" 20; done
rping_of "rping, 300 rounds" 10.0.0.1 64 300

# Revision 1 at both ends, as the module's parameter makes it; settings.sh has one end of each.
if [[ ${#driver[@]} == 1 ]]; then
	reload mpa_revision=1 || give_up "MPA revision 1 at both ends" "modprobe weft mpa_revision=1 failed"
	rping_of "MPA revision 1 at both ends: rping" 10.0.0.1 1449 20
	rping_of "MPA revision 1 at both ends: rping over IPv6" fd00::1 1449 20
	session "ucmatose -c 2 -C 10 -S 2000" "ucmatose -c 2 -C 10 -S 2000 -s 10.0.0.1" 40
	ended_well $((CLIENT_STATUS | SERVER_STATUS)) "MPA revision 1 at both ends: ucmatose"
fi
finish
