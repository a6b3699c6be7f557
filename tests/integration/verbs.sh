#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The program of tests/verbs: shared receive queues, the extended interfaces, memory windows,
# objects that change under traffic. Its groups count as tests.

# shellcheck source=tests/integration/lib.sh
source "${BASH_SOURCE[0]%/*}/lib.sh"
program=$LAB_PROJECT/build/tests/verbs/verbs
set_up
insmod "$LAB_PROJECT/build/udmabuf/udmabuf.ko" || echo "# no udmabuf: scripts/mainline udmabuf builds it"

# For the large regions, before memory is in pieces.
echo 40 >/proc/sys/vm/nr_hugepages

if [[ ! -x $program ]]; then
	not_ok "verbs" "$program is missing; run make -C tests/verbs"
	finish
fi
# As many queues as the device has, each mapped.
echo 262144 >/proc/sys/vm/max_map_count
end=no
while IFS= read -r line; do
	case $line in
	"ok "*) ok "${line#ok }" ;;
	"not ok "*)
		line=${line#not ok }
		not_ok "${line%: *}" "${line##*: }"
		;;
	"skip "*) line=${line#skip } && skip "${line%%: *}" "${line#*: }" ;;
	*" passed, "*) end=yes ;;
	*) echo "$line" ;;
	esac
done < <(timeout -k 5 $((400 * patience)) "$program" 10.0.0.1 A B 2>&1)
[[ $end == yes ]] || not_ok "verbs" "the program did not come to its end"

finish
