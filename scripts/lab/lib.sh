# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Functions of the host's side of a lab: kernels, the initramfs, the choice of acceleration.
# run sources this with $project and $labs set.

: "${project:?}" "${labs:?}"

say() { echo "lab: $*" >&2; }

die() {
	say "$*"
	exit 97
}

# Prints the path of the newest stock Debian kernel.
newest_kernel() {
	local image
	image=$(find /boot -maxdepth 1 -name 'vmlinuz-*-amd64' ! -name '*-cloud-*' ! -name '*-rt-*' | sort -V | tail -n 1)
	[[ -n $image ]] && echo "$image"
}

# machine_of ARCH: sets emulator, console, console_device, bus and, where none was chosen, the processor's model.
machine_of() {
	bus=pci console=ttyS0 console_device=(-serial chardev:console)
	case $1 in
	# q35: the interrupt tables of the older machine take a KASAN kernel minutes to read.
	amd64) emulator=(qemu-system-x86_64 -machine q35) ;;
	# The newest model computes each pointer's signature, which takes an emulator long.
	arm64)
		emulator=(qemu-system-aarch64 -machine virt) console=ttyAMA0
		model=${model:-cortex-a76}
		;;
	s390x)
		emulator=(qemu-system-s390x -machine s390-ccw-virtio) console=ttysclp0 bus=ccw
		console_device=(-device sclpconsole,chardev=console)
		;;
	*) die "there is no machine of '$1'; see scripts/lab/run --help" ;;
	esac
	model=${model:-max}
}

# kernel_version IMAGE: prints the release of a kernel: the name of its directory, if modules.dep is there as well, or the
# release in a bzImage: the x86 boot protocol keeps its offset, less 0x200, at 0x20e, and a signature at 0x202.
kernel_version() {
	local offset directory=${1%/*}
	[[ ! -e $directory/modules.dep ]] || { echo "${directory##*/}" && return; }
	[[ $(od -An -c -j $((0x202)) -N 4 "$1") == *H*d*r*S ]] || return 0
	offset=$(od -An -tu2 -j $((0x20e)) -N 2 "$1") || return 1
	dd if="$1" iflag=skip_bytes,count_bytes skip=$((offset + 0x200)) count=256 status=none |
		tr '\0' '\n' | sed -n '1s/ .*//p'
}

# make_initramfs RELEASE MODULES-DIRECTORY [ROOT]: builds the lab's initramfs, unless there is one from the
# same parts; prints its path. ROOT has the busybox of another processor.
make_initramfs() {
	local release=$1 modules=$2 root=${3:-} init=$project/scripts/lab/init busybox key image tree
	busybox=${root:+$root/bin/busybox}
	busybox=${busybox:-$(command -v busybox)} || die "busybox is missing; run scripts/bootstrap lab"
	key=$({
		echo "$release" "$modules"
		cat "$init" "$project/scripts/lab/lib.sh"
		stat -c '%s %Y' "$busybox" "$modules/modules.dep" 2>/dev/null
	} | sha256sum | cut -c 1-12)
	image=$labs/initramfs-$release-$key.cpio
	if [[ ! -f $image ]]; then
		tree=$(mktemp -d "$labs/initramfs.XXXXXX")
		mkdir -p "$tree/bin" "$tree/modules"
		cp "$busybox" "$tree/bin/busybox"
		install -m 755 "$init" "$tree/init"
		boot_modules "$release" "$modules" "$tree/modules"
		(cd "$tree" && find . | cpio --quiet -o -H newc) >"$tree.cpio"
		mv "$tree.cpio" "$image"
		rm -rf "$tree"
	fi
	echo "$image"
}

# boot_modules RELEASE MODULES-DIRECTORY TARGET: copies the modules a lab needs before it
# has a root, and writes their order of loading. A kernel may have them all built in.
boot_modules() {
	local release=$1 modules=$2 target=$3 base module line file name sharing=(9p 9pnet_virtio)
	: >"$target/order"
	[[ -f $modules/modules.dep ]] || return 0
	[[ $(shares_by "$modules") == 9p ]] || sharing=(virtiofs)
	# modprobe wants the directory that lib/modules/RELEASE lies in.
	base=$(mktemp -d "$labs/modules.XXXXXX")
	mkdir -p "$base/lib/modules"
	ln -s "$modules" "$base/lib/modules/$release"
	for module in virtio_pci virtio_ccw "${sharing[@]}" overlay configfs; do
		modprobe -d "$base" -S "$release" --show-depends "$module" 2>/dev/null || true
	done | while read -r line file _; do
		[[ $line == insmod ]] || continue
		name=$(basename "$file")
		case $name in
		*.ko) cp "$file" "$target/$name" ;;
		*.ko.xz) xz -dc "$file" >"$target/${name%.xz}" ;;
		*.ko.zst) zstd -qdc "$file" >"$target/${name%.zst}" ;;
		esac
		name=${name%.xz}
		name=${name%.zst}
		grep -qxF "$name" "$target/order" || echo "$name" >>"$target/order"
	done
	rm -rf "$base"
}

# shares_by MODULES-DIRECTORY: prints by which file system a kernel sees this machine's files: 9p, or virtiofs in clouds.
shares_by() {
	[[ ! -f $1/modules.builtin ]] || grep -q '/9p\.ko' "$1/modules.builtin" "$1/modules.dep" && echo 9p || echo virtiofs
}

# serve_shares DIRECTORY LOCK: starts the daemons of virtiofs, one for the root, read-only, and one for
# DIRECTORY, without the open file LOCK; adds them to daemons. They end with the machine that uses them, or else are to be ended.
serve_shares() {
	local directory=$1 lock=$2 daemon='' candidate
	for candidate in /usr/lib/qemu/virtiofsd /usr/libexec/virtiofsd; do [[ ! -x $candidate ]] || daemon=$candidate; done
	[[ -n $daemon ]] || die "this kernel has no 9p, and there is no virtiofsd; install Debian's qemu-system-common or virtiofsd"
	((EUID == 0)) || die "this kernel has no 9p, and only root can run virtiofsd"
	rm -f "$directory"/{root,lab}.socket
	mkdir -p "$directory/root"
	# Each file system by itself: a remount leaves those mounted below as they are, and the guest's root could write there.
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount -- bash -c 'set -o pipefail; mount --rbind / "$1" && findmnt -rno TARGET -R "$1" | while read -r mounted; do
			mount -o remount,bind,ro "$(printf %b "$mounted")" || exit
		done && exec "${@:2}"' - "$directory/root" \
		"$daemon" --socket-path="$directory/root.socket" -o "source=$directory/root,cache=auto,sandbox=chroot" \
		>"$directory/virtiofsd-root.log" 2>&1 {lock}>&- &
	daemons+=($!)
	"$daemon" --socket-path="$directory/lab.socket" -o "source=$directory,cache=none,sandbox=chroot" \
		>"$directory/virtiofsd-lab.log" 2>&1 {lock}>&- &
	daemons+=($!)
	for _ in {1..100}; do
		[[ ! -S $directory/root.socket || ! -S $directory/lab.socket ]] || return 0
		sleep 0.1
	done
	die "virtiofsd does not start: $(cat "$directory"/virtiofsd-*.log)"
}

# make_index RELEASE MODULES-DIRECTORY STAGE: runs depmod for the modules of a stage laid over those of the kernel, unless
# that is done; prints the directory of the result. In the guest it takes a minute under emulation, here a second.
make_index() {
	local release=$1 modules=$2 stage=$3 key index tree entry
	key=$({
		echo "$modules"
		stat -c '%s %Y' "$modules/modules.dep"
		find "$stage/lib/modules/$release" -type f -exec sha256sum {} +
	} | sha256sum | cut -c 1-12)
	index=$labs/index-$release-$key
	if [[ ! -d $index ]]; then
		tree=$(mktemp -d "$labs/modules.XXXXXX")
		mkdir -p "$tree/lib/modules/$release"
		for entry in "$modules"/* "$stage/lib/modules/$release"/*; do
			case ${entry##*/} in
			modules.order | modules.builtin* | updates | extra | kernel) ;;
			*) continue ;;
			esac
			cp -rs "$entry" "$tree/lib/modules/$release/"
		done
		depmod -b "$tree" "$release"
		find "$tree/lib/modules/$release" -mindepth 1 \( ! -name 'modules.*' -o -type l \) -delete
		mv "$tree/lib/modules/$release" "$index"
		rm -rf "$tree"
	fi
	echo "$index"
}

# prune_labs: removes, after a day, files of failed runs without a name and superseded boot files. If another lab
# removes one meanwhile, find complains, and the rest stays for the next time.
prune_labs() {
	find "$labs" -mindepth 1 -maxdepth 1 -mmin +1440 \
		\( -name 'run-*' -o -name 'index-*' -o -name 'initramfs*' -o -name 'modules.*' \) \
		-exec rm -rf {} + 2>/dev/null || true
}

# choose_accel IMAGE INITRAMFS RELEASE: prints kvm or tcg. /dev/kvm may exist and yet hang a stock kernel after the BIOS, so
# the answer comes from a real boot with a short limit. It is remembered for this kernel until the host reboots.
choose_accel() {
	local image=$1 initramfs=$2 release=$3 key answer log
	[[ -z ${WEFT_LAB_ACCEL:-} ]] || { echo "$WEFT_LAB_ACCEL" && return; }
	[[ -r /dev/kvm && -w /dev/kvm ]] || { echo tcg && return; }
	key="$release $(</proc/sys/kernel/random/boot_id)"
	answer=$(sed -n "s/^$key //p" "$labs/accel" 2>/dev/null | tail -n 1)
	if [[ -z $answer ]]; then
		say "finding out whether KVM works here (once, at most 10 s)"
		log=$(mktemp "$labs/probe.XXXXXX")
		timeout -k 1 10 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
			-accel kvm -cpu host -m 512 -kernel "$image" -initrd "$initramfs" \
			-append "console=ttyS0 quiet panic=-1 lab.probe" -serial "file:$log" \
			</dev/null >/dev/null 2>&1 || true
		answer=kvm
		grep -q 'lab: probe ok' "$log" ||
			{ answer=tcg && say "KVM does not run this kernel here; using emulation from now on"; }
		rm -f "$log"
		echo "$key $answer" >>"$labs/accel"
	fi
	echo "$answer"
}

# Lines of a kernel log that fail a run whatever the command said.
readonly complaints='WARNING:|BUG:|kernel BUG at|Oops|Kernel panic|Call [Tt]race:|BUG [A-Za-z0-9_:-]+ \(|Attempt to release |KASAN:|UBSAN:|KCSAN:|ODEBUG:|general protection fault|unable to handle|soft lockup|hard LOCKUP|workqueue lockup|rcu.*(detected|self-detected) stall|rcu.*detected expedited stalls|rcu.*kthread starved|blocked for more than [0-9]+ seconds|possible (circular|recursive|irq lock|deadlock)|inconsistent lock state|suspicious RCU usage|bad unlock balance|held lock freed|lock held when returning|trying to register non-static key|[^ ]*-safe -> [^ ]*-unsafe|sleeping function called|scheduling while atomic|new suspected memory leaks|refcount_t:|list_(add|del) corruption|waiting for .* to become free|Bad page|page allocation failure|kmemleak: (Memory pool empty|Cannot (allocate|insert)|.*disabled)|Kernel memory leak detector disabled|turning off the locking correctness validator|Segfault with |Out of memory:|segfault at|traps: '

# complaints_in ALLOWED-REGEX FILE...: prints the lines of the logs that fail a run. An allowed warning takes its whole
# report with it: a hundred lines at most, and no other complaint than its own trace. An allocation that failed or was
# made to fail, if allowed, takes the one trace that follows it within twenty lines.
complaints_in() {
	# A guest that died early has not all of them.
	{ cat "${@:2}" 2>/dev/null || true; } | tr -d '\r' |
		ALLOWED=$1 COMPLAINTS=$complaints awk '
			skipping && /---\[ end trace/ { skipping = 0; next }
			skipping && ++skipped > 100 { skipping = 0; print "an allowed warning without an end: " begun }
			skipping && $0 ~ ENVIRON["COMPLAINTS"] && !/Call [Tt]race:/ { skipping = 0 }
			skipping { next }
			ENVIRON["ALLOWED"] != "" && $0 ~ ENVIRON["ALLOWED"] {
				if (/WARNING: CPU|kernel BUG at/) { skipping = 1; skipped = 0; begun = $0 }
				if (/page allocation failure|FAULT_INJECTION:/) traced = NR + 20
				next
			}
			NR <= traced && /Call [Tt]race:/ { traced = 0; next }
			$0 ~ ENVIRON["COMPLAINTS"] && !seen[$0]++'
}

# without_others FILE: prints a kernel's log without the reports of two faults of other code than Weft's. siw reads a
# socket's callback lock with softirqs on, and TCP takes it in a softirq; with this report lockdep falls silent. NVMe of
# 6.1 waits, in a queue that must go on without memory, for a queue of SRCU's that need not (nvme_free_ns).
without_others() {
	awk '
		function done() {
			if (report !~ /WQ_MEM_RECLAIM nvme-delete-wq:nvme_delete_ctrl_work [^\n]* !WQ_MEM_RECLAIM events:srcu_drive_gp/ &&
			    report !~ /inconsistent lock state.*takes:[^:]*\(clock-AF_INET6?\)[^\n]* at: siw_/)
				printf "%s", report
			report = ""
			traced = warned = 0
		}
		{ line = $0; sub(/^\[ *[0-9.]+\] /, "", line) }
		warned && line ~ /^(WARNING:|BUG:|kernel BUG|Oops|Kernel panic|UBSAN:|INFO:|general protection)/ { done() }
		warned { report = report $0 "\n"; if (line ~ /---\[ end trace/) done(); next }
		report == "" && line ~ /^WARNING: (suspicious RCU usage|inconsistent lock state)/ { report = $0 "\n"; next }
		report == "" && line ~ /^WARNING: CPU: .* check_flush_dependency/ { report = $0 "\n"; warned = 1; next }
		report != "" && traced && line !~ /^ \[</ { done() }
		report != "" { report = report $0 "\n"; if (line ~ /^Call Trace:/) traced = 1; next }
		{ print }
		END { done() }' "$1"
}

# report_in REGEX FILE...: prints 70 lines of the logs from the first on that REGEX finds.
report_in() { { cat "${@:2}" 2>/dev/null || true; } | tr -d '\r' | grep -E -m 1 -A 69 -e "$1" || true; }
