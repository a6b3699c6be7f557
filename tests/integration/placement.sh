#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The placement program (tests/placement) under every combination of IP version and CRC
# policy that matters, at the MTU of WEFT_MTU. Its groups count as tests.

# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
program=$LAB_PROJECT/build/tests/placement/placement
set_up

# placement LABEL ADDRESS [ARGUMENTS...]
placement() {
	local label=$1 address=$2 line end=no
	shift 2
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "$label: ${line#ok }" ;;
		"not ok "*)
			line=${line#not ok }
			not_ok "$label: ${line%: *}" "${line##*: }"
			;;
		"skip "*) line=${line#skip } && skip "$label: ${line%: *}" "${line##*: }" ;;
		*" passed, "*) end=yes ;;
		*) echo "$line" ;;
		esac
	done < <(timeout -k 5 $((240 * patience)) "$program" --server "$address" --server-netns A \
		--client-netns B "$@" 2>&1)
	[[ $end == yes ]] || not_ok "$label" "the program did not come to its end"
}

if [[ ! -x $program ]]; then
	not_ok "placement" "$program is missing; run make -C tests/placement"
	finish
fi
if [[ $mtu == 1500 ]]; then
	placement "mtu 1500, IPv4, CRC" 10.0.0.1
	reload crc=0 || not_ok "crc=0" "weft did not load again"
	placement "mtu 1500, IPv6, no CRC" fd00::1 --only ': '
else
	placement "mtu $mtu, IPv6, CRC" fd00::1 --only ': '
	reload crc=0 || not_ok "crc=0" "weft did not load again"
	placement "mtu $mtu, IPv4, no CRC" 10.0.0.1
fi

finish
