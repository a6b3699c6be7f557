# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What the parts of make torture share. They run in a lab on the debug kernel, print what those of
# tests/integration print, and a line row|WHAT|HOW OFTEN|WHAT CAME OUT for each row of the table.

source "$LAB_PROJECT/tests/integration/lib.sh"
source "$LAB_PROJECT/tests/torture/grown.sh"
source "$LAB_PROJECT/tests/torture/leaks.sh"
# shellcheck disable=SC2034
torture=$LAB_PROJECT/build/tests/torture/torture

# program LABEL SECONDS ARGUMENTS...: runs a part of the program; its rows and cases are ours, with
# the label before them. The command $torture_by, if set, starts it.
program() { cases "$1" "$2" ${torture_by-} "$torture" "${@:3}"; }

# gone: takes both devices and the module away, which no reference may prevent.
gone() {
	check "both links can be deleted" timeout $((60 * patience)) bash -c \
		'ip netns exec A rdma link del weft0 && ip netns exec B rdma link del weft1'
	check "the module can be removed" timeout $((60 * patience)) modprobe -r weft_sctp weft_paths weft
}

# leaks: what the kernel has lost track of since the last time we looked; a line each.
leaks() {
	local file=/sys/kernel/debug/kmemleak
	[[ -w $file ]] || { echo "there is no kmemleak"; return; }
	pause 6
	echo scan >$file
	pause 1
	echo scan >$file
	cat $file
}
