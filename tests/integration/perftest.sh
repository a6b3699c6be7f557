#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unmodified perftest programs between the two hosts, at sizes from a byte to a megabyte.
# WEFT_MTU sets the MTU. Speeds are printed and not judged: the machine is emulated.

# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
set_up

# Small messages need many to say anything; a megabyte is a thousand segments.
declare -A iterations=([1]=500 [64]=500 [4096]=300 [65536]=200 [1048576]=20)

# result NAME COMMAND SIZE ITERATIONS: runs a tool on both hosts; the client must print its
# result line, whose count is that of all queue pairs, and both must end well.
result() {
	local name=$1 command="$2 -R -F -s $3 -n $4" line
	if ! session "$command -d $server_device" "$command -d $client_device 10.0.0.1" 45; then
		explain "$said" 25
		not_ok "$name" "client status $CLIENT_STATUS, server status $SERVER_STATUS"
		return
	fi
	line=$(grep -E "^ *$3[[:space:]]+[0-9]+([[:space:]]+[0-9.]+){3}" <<<"$CLIENT_OUTPUT")
	if [[ -z $line ]]; then
		explain "$CLIENT_OUTPUT" 25
		not_ok "$name" "no result line"
	elif ((SERVER_STATUS != 0)); then
		explain "$SERVER_OUTPUT" 25
		not_ok "$name" "the server ended with status $SERVER_STATUS"
	else
		read -r -a fields <<<"$line"
		if [[ $2 == *_lat* ]]; then
			ok "$name (median ${fields[4]} us)"
		else
			ok "$name (${fields[3]} MB/s)"
		fi
	fi
}

for tool in ib_write_bw ib_read_bw ib_send_bw ib_send_lat ib_write_lat ib_read_lat; do
	for size in 1 64 4096 65536 1048576; do
		count=${iterations[$size]} options=''
		# Latency is measured a message at a time.
		[[ $tool == *_lat ]] && count=$((count / 5 + 5))
		# A program that polls keeps one of two emulated processors from the kernel, so the
		# larger sizes wait for events where the tool can. With -e, ib_send_bw must have
		# 200 to send: of fewer it signals only the last, and waits for a completion
		# before it sends that one.
		((size >= 4096)) && [[ $tool != ib_write_* && $tool$size != ib_send_bw1048576 ]] && options=' -e'
		result "mtu $mtu: $tool$options of $size bytes" "$tool$options" "$size" "$count"
	done
done

result "mtu $mtu: both ways at once, ib_write_bw -b" "ib_write_bw -b" 65536 100
result "mtu $mtu: both ways at once, ib_send_bw -b" "ib_send_bw -b" 65536 100
result "mtu $mtu: four queue pairs, ib_write_bw -q 4" "ib_write_bw -q 4" 65536 50

# ends NAME COMMAND: it need not work, but must end by itself and say why.
ends() {
	local name=$1 command=$2
	if session "$command -d $server_device" "$command -d $client_device 10.0.0.1" 40; then
		ok "$name works"
	elif ((CLIENT_STATUS == 124 || CLIENT_STATUS == 137)); then
		explain "$said" 25
		not_ok "$name" "it hangs"
	else
		local word
		word=$(grep -hiE "fail|unable|couldn't|could not|not support|error|invalid" \
			<<<"$SERVER_OUTPUT"$'\n'"$CLIENT_OUTPUT" | head -n 1)
		if [[ -n $word ]]; then
			ok "$name fails with a message: $word"
		else
			explain "$said" 25
			not_ok "$name" "it fails without a message (status $CLIENT_STATUS)"
		fi
	fi
}

if [[ $mtu == 1500 ]]; then
	ends "ib_send_bw -s 1048576 -e" "ib_send_bw -R -F -s 1048576 -e -n 200"
	ends "ib_write_bw -q 64" "ib_write_bw -R -F -q 64 -n 20"
	works "afterwards the device works"
fi

finish
