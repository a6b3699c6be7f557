# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Sourced by the scripts of this folder after scripts/common.sh: overlays over scripts/root's roots, the packages of this
# tree, and images of what was laid.

: "${project:?}"
laid=()
# Ends what lay has mounted.
clear_up() {
	local root
	for root in ${laid[@]+"${laid[@]}"}; do
		! mountpoint -q "$root" || umount -R "$root" || umount -Rl "$root"
	done
	laid=()
}
trap clear_up EXIT

# choose_release NAME: sets release; there must be one, and all that a machine with it needs here.
choose_release() {
	release=$1
	[[ $release == @(bookworm|trixie|sid) ]] || die "there is no release '$release'; see $0 --help"
	((EUID == 0)) || die "only root can make the image"
	command -v qemu-system-x86_64 >/dev/null || die "QEMU is missing; run scripts/bootstrap lab"
}

# lay RELEASE DIRECTORY: root=DIRECTORY/root is then a root of RELEASE, new, which can be written.
lay() {
	root=$2/root
	laid+=("$root")
	! mountpoint -q "$root" || umount -R "$root" || umount -Rl "$root"
	rm -rf --one-file-system "$2"
	"$project/scripts/root" "$1" && "$project/scripts/root" --overlay "$1" "$2"
}

# within COMMAND...: in the root.
within() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

# copy_tree: /weft of the root has the files that git has of this tree.
copy_tree() {
	mkdir -p "$root/weft"
	git -C "$project" ls-files -z --cached --others --exclude-standard |
		rsync -a --files-from=- --from0 --ignore-missing-args "$project/" "$root/weft/"
}

# build_packages: leaves those of this tree in /packages of the root.
build_packages() { copy_tree && within /weft/scripts/deb --binary --output /packages && rm -rf "$root/weft"; }

# make_image IMAGE: a file system with the root that was laid; its kernel and initrd, for QEMU, come beside it.
make_image() {
	local version
	version=$(find "$root/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
	cp "$root/boot/vmlinuz-$version" "${1%/*}/vmlinuz"
	cp "$root/boot/initrd.img-$version" "${1%/*}/initrd"
	umount "$root/proc" "$root/sys" "$root/run"
	umount -R "$root/dev"
	rm -f "$1"
	mke2fs -q -t ext4 -E root_owner=0:0 -d "$root" "$1" 5G >/dev/null
	umount "$root"
}
