#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that connect through rdma_cm and check their data: rping with many sizes, over
# IPv4 and IPv6, with both revisions of MPA, and the other examples of librdmacm.

# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up

# rping_of NAME ADDRESS SIZE COUNT
rping_of() {
	local lines arguments="-a $2 -S $3 -C $4 -V -v"
	if ! session "rping -s $arguments" "stdbuf -oL rping -c $arguments" 40; then
		explain "$said"
		not_ok "$1" "client status $CLIENT_STATUS, server status $SERVER_STATUS"
	elif lines=$(grep -ac '^ping data: ' <<<"$CLIENT_OUTPUT") && ((lines != $4)); then
		explain "$CLIENT_OUTPUT"
		not_ok "$1" "$lines lines of data came back, not $4"
	else
		ok "$1"
	fi
}

# pair_of NAME SERVER CLIENT: both must end with status 0.
pair_of() {
	if ! session "$2" "$3" 40; then
		explain "$said"
		not_ok "$1" "client status $CLIENT_STATUS, server status $SERVER_STATUS"
	elif ((SERVER_STATUS != 0)); then
		explain "$SERVER_OUTPUT"
		not_ok "$1" "the server ended with status $SERVER_STATUS"
	else
		ok "$1"
	fi
}

for size in 64 100 1000 1427 1449 4097 65535; do
	rping_of "rping over IPv4, $size bytes" 10.0.0.1 "$size" 20
done
for size in 64 1449 65535; do
	rping_of "rping over IPv6, $size bytes" fd00::1 "$size" 20
done
rping_of "rping, 300 rounds" 10.0.0.1 64 300

pair_of "ucmatose: 4 connections" "ucmatose -c 4 -C 10 -S 2000" \
	"ucmatose -c 4 -C 10 -S 2000 -s 10.0.0.1"
pair_of "rdma_server and rdma_client" "rdma_server -p 7471" "rdma_client -s 10.0.0.1 -p 7471"

if [[ ${#driver[@]} == 1 ]]; then
	for revision in 1 2; do
		if reload "mpa_revision=$revision"; then
			rping_of "MPA revision $revision: rping" 10.0.0.1 1449 20
			rping_of "MPA revision $revision: rping over IPv6" fd00::1 1449 20
			pair_of "MPA revision $revision: ucmatose" "ucmatose -c 2 -C 10 -S 2000" \
				"ucmatose -c 2 -C 10 -S 2000 -s 10.0.0.1"
		else
			not_ok "MPA revision $revision" "modprobe weft mpa_revision=$revision failed"
		fi
	done
	# One end of each revision; a device keeps what was the default when it was made.
	for client in 1 2; do
		name="MPA revision $client connects to revision $((3 - client))"
		if modprobe -r weft && modprobe weft mpa_revision=$((3 - client)) &&
			on_a rdma link add weft0 type weft netdev eth0 &&
			echo "$client" >/sys/module/weft/parameters/mpa_revision &&
			on_b rdma link add weft1 type weft netdev eth0; then
			rping_of "$name" 10.0.0.1 1449 20
		else
			not_ok "$name" "the devices could not be made"
		fi
	done
	for crc in 0 1 2; do
		if reload "crc=$crc"; then
			rping_of "crc=$crc: rping" 10.0.0.1 4097 20
		else
			not_ok "crc=$crc" "modprobe weft crc=$crc failed"
		fi
	done
else
	skip "MPA revisions and CRC policies" "only weft has the module parameters"
fi

finish
