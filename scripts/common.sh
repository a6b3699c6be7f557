# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced at the beginning of a script: sets project to the folder of the tree. If the script's first argument asks for
# help, prints the comment at its head, without the licence line, and ends it.

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

usage() { sed -n '4,/^$/s/^# \{0,1\}//p' "$0"; }

# die WHY: ends the script with status 1, or $wrong.
die() {
	echo "${0#"$project"/}: $*" >&2
	exit "${wrong:-1}"
}

# logged LOG WHY COMMAND...: adds COMMAND's output to LOG. If COMMAND fails, shows the end of that, and dies of WHY.
logged() {
	"${@:3}" >>"$1" 2>&1 && return
	tail -n 15 "$1" >&2
	die "$2; all of it is in ${1#"$project"/}"
}

# copy_sources TREE FOLDER...: makes the sources in TREE, where a kernel of our own compiles a module, those of these folders
# in the project. A file that is the same keeps its time, so make compiles only files that differ, whichever copy of the
# project TREE was made from before. If several processes share TREE, each must hold a lock.
copy_sources() {
	mkdir -p "$1"
	# The files that the kernel's make has left there stay.
	rsync --recursive --checksum --delete --prune-empty-dirs --include='*/' --include='*.[ch]' \
		--include=Kbuild --exclude='*' "${@:2}" "$1/"
	cmp -s "$project/VERSION" "$1/VERSION" || cp "$project/VERSION" "$1/"
}

# wrong_use: the script's arguments are wrong.
wrong_use() {
	usage >&2
	exit 2
}

case ${1-} in
--help | -h) usage && exit 0 ;;
esac
