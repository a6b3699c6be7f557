# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What boot and first share: overlays over scripts/root's roots, the packages of this tree, and images of what was laid.
# Whoever sources it has set project, and fail().

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

# lay RELEASE DIRECTORY: DIRECTORY/root is then a root of RELEASE, new, which can be written.
lay() {
	laid+=("$2/root")
	! mountpoint -q "$2/root" || umount -R "$2/root" || umount -Rl "$2/root"
	rm -rf --one-file-system "$2"
	"$project/scripts/root" "$1"
	"$project/scripts/root" --overlay "$1" "$2"
}

# within ROOT COMMAND...: there.
within() {
	chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${@:2}"
}

# build_packages ROOT: leaves those of what git has of this tree in ROOT/packages.
build_packages() {
	mkdir "$1/weft"
	git -C "$project" ls-files -z --cached --others --exclude-standard |
		rsync -a --files-from=- --from0 --ignore-missing-args "$project/" "$1/weft/"
	within "$1" /weft/scripts/deb --binary --output /packages
	rm -rf "$1/weft"
}

# make_image DIRECTORY IMAGE: a file system with what was laid in DIRECTORY; its kernel and initrd, for QEMU, come beside it.
make_image() {
	local root=$1/root version
	version=$(find "$root/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -V | tail -n 1)
	cp "$root/boot/vmlinuz-$version" "${2%/*}/vmlinuz"
	cp "$root/boot/initrd.img-$version" "${2%/*}/initrd"
	umount "$root/proc" "$root/sys" "$root/run"
	umount -R "$root/dev"
	rm -f "$2"
	mke2fs -q -t ext4 -E root_owner=0:0 -d "$root" "$2" 5G >/dev/null
	umount "$root"
}
