# SPDX-License-Identifier: GPL-2.0
#
# Weft: RDMA on any Ethernet card. `make help` lists what can be made.

KERNEL ?= $(shell uname -r)
# Where the module can be built for a kernel that does not run here (the lab's):
# the newest installed kernel that has headers.
ifeq ($(wildcard /lib/modules/$(KERNEL)/build),)
KERNEL := $(shell ls /lib/modules 2>/dev/null | sort -V | while read -r k; do \
	[ -e /lib/modules/$$k/build ] && echo $$k; done | tail -n 1)
endif
KERNEL_BUILD ?= /lib/modules/$(KERNEL)/build

# For many files: as many at once as there are processors, unless make was told a number (-j).
parallel = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

VERSION := $(shell cat VERSION)
BUILD := build
STAGE := $(BUILD)/stage
MAN := /usr/share/man
TOOLS := /usr/lib/weft
COMPLETION := /usr/share/bash-completion/completions/weft
# Debian 12 has these below /usr as well, and later ones allow no file below /lib in a package.
SYSTEMD := /usr/lib/systemd
UDEV := /usr/lib/udev
# What install-tools puts there, folders too, but for files that an administrator edits.
TOOLS_FILES := /usr/sbin/weft $(TOOLS) /usr/share/weft $(COMPLETION) \
	$(MAN)/man5/weft.conf.5 $(MAN)/man7/weft.7 $(MAN)/man8/weft.8 \
	$(SYSTEMD)/system/weft@.service $(SYSTEMD)/system/weft.target \
	$(SYSTEMD)/system-generators/weft-generator $(UDEV)/rules.d/70-weft.rules
LIMITS := /etc/security/limits.d/weft.conf
DKMS_SOURCE := /usr/src/weft-$(VERSION)
# The module, and those of other transports.
MODULES := weft.ko weft_sctp.ko weft_paths.ko
# Their sources, and no other files. DKMS gets these.
MODULE_SOURCES := Kbuild VERSION dkms.conf kernel/tried $(shell find kernel -type f -name '*.[ch]')

.PHONY: all help module userlib stage install install-tools install-source uninstall uninstall-etc dkms-install dkms-uninstall \
	apps papers deb sbom deb-test demo shell check quick compile-commands coverage matrix torture style bench bench-compare clean

all: module userlib ## the module and the provider (the default)

help: ## this list
	@echo "Weft $(VERSION). make TARGET, with TARGET one of:"
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | sed 's/[$$](KERNEL)/$(KERNEL)/' | expand -t 20

module: $(BUILD)/module/weft.ko ## the kernel module, for $(KERNEL) (KERNEL=… for another)

# Built in a copy, so that the tree stays as it was cloned.
$(BUILD)/module/weft.ko: $(MODULE_SOURCES)
	@test -e "$(KERNEL_BUILD)" || { echo "weft: no headers for kernel '$(KERNEL)'; \
	install them (apt-get install linux-headers-amd64) or name another (KERNEL=…)"; exit 1; }
	@echo "Building $(MODULES) for $(KERNEL) (about 40 s on two processors)"
	@mkdir -p $(BUILD)/module
	@cp --parents -u $(MODULE_SOURCES) $(BUILD)/module/
	@$(MAKE) $(parallel) --no-print-directory -C $(KERNEL_BUILD) M=$(abspath $(BUILD)/module) modules
	@touch $@

userlib: ## the provider for rdma-core
	@$(MAKE) --no-print-directory -C userlib

# The files of an installation, laid out below build/stage for the lab.
stage: all
	@install -D -m 644 -t $(STAGE)/lib/modules/$(KERNEL)/updates $(addprefix $(BUILD)/module/,$(MODULES))
	@$(MAKE) --no-print-directory -s -C userlib install DESTDIR=$(abspath $(STAGE))

install: ## install both into this system (as root)
	@test -f $(BUILD)/module/weft.ko || { echo "weft: nothing is built yet; run make first"; exit 1; }
	install -D -m 644 -t $(DESTDIR)/lib/modules/$(KERNEL)/updates $(addprefix $(BUILD)/module/,$(MODULES))
	$(if $(DESTDIR),,depmod $(KERNEL))
	@$(MAKE) --no-print-directory -C userlib install
	@$(MAKE) --no-print-directory install-tools
	@echo "Installed. Next: modprobe weft && rdma link add weft0 type weft netdev eth0"

# weft(8), units and manual pages, which need no build. A file in /etc that is there already is the
# administrator's.
install-tools:
	install -D tools/weft $(DESTDIR)/usr/sbin/weft
	install -D tools/weft-links $(DESTDIR)$(TOOLS)/weft-links
	install -D -m 644 -t $(DESTDIR)$(TOOLS)/weftlib tools/weftlib/*.py
	install -D -m 644 -t $(DESTDIR)$(TOOLS) VERSION
	install -D -m 644 -t $(DESTDIR)/usr/share/weft tools/schema.json
	install -D -m 644 tools/completion.bash $(DESTDIR)$(COMPLETION)
	install -D -m 644 -t $(DESTDIR)$(SYSTEMD)/system tools/systemd/weft@.service tools/systemd/weft.target
	install -D -t $(DESTDIR)$(SYSTEMD)/system-generators tools/systemd/weft-generator
	install -D -m 644 -t $(DESTDIR)$(UDEV)/rules.d tools/systemd/70-weft.rules
	test -e $(DESTDIR)/etc/weft.conf || install -D -m 644 -t $(DESTDIR)/etc tools/weft.conf
	test -e $(DESTDIR)$(LIMITS) || install -D -m 644 tools/limits.conf $(DESTDIR)$(LIMITS)
	install -D -m 644 -t $(DESTDIR)$(MAN)/man5 docs/weft.conf.5
	install -D -m 644 -t $(DESTDIR)$(MAN)/man7 docs/weft.7
	install -D -m 644 -t $(DESTDIR)$(MAN)/man8 docs/weft.8

# The module's source, for DKMS.
install-source:
	install -d $(DESTDIR)$(DKMS_SOURCE)
	cp --parents $(MODULE_SOURCES) $(DESTDIR)$(DKMS_SOURCE)/
	sed -i 's/@VERSION@/$(VERSION)/' $(DESTDIR)$(DKMS_SOURCE)/dkms.conf

uninstall: uninstall-etc ## undo install
	rm -rf $(addprefix $(DESTDIR)/lib/modules/$(KERNEL)/updates/,$(MODULES)) $(addprefix $(DESTDIR),$(TOOLS_FILES))
	$(if $(DESTDIR),,depmod $(KERNEL))
	@$(MAKE) --no-print-directory -C userlib uninstall

# Files of /etc go if they are as they came.
uninstall-etc:
	! cmp -s tools/weft.conf $(DESTDIR)/etc/weft.conf || rm $(DESTDIR)/etc/weft.conf
	! cmp -s tools/limits.conf $(DESTDIR)$(LIMITS) || rm $(DESTDIR)$(LIMITS)

dkms-install: ## install by DKMS: the module survives kernel updates (as root)
	@command -v dkms >/dev/null || { echo "weft: dkms is missing: apt-get install dkms"; exit 1; }
	@$(MAKE) --no-print-directory install-source
	dkms install weft/$(VERSION) -k $(KERNEL)
	@$(MAKE) --no-print-directory userlib
	@$(MAKE) --no-print-directory -C userlib install
	@$(MAKE) --no-print-directory install-tools
	@echo "Installed. Next: modprobe weft && rdma link add weft0 type weft netdev eth0"

dkms-uninstall: uninstall-etc ## undo dkms-install
	-dkms remove weft/$(VERSION) --all
	rm -rf $(DKMS_SOURCE) $(addprefix $(DESTDIR),$(TOOLS_FILES))
	@$(MAKE) --no-print-directory -C userlib uninstall

apps: ## the programs of apps/ into build/apps (apps/README.md)
	@scripts/bootstrap --quiet build
	@for folder in $(dir $(wildcard apps/*/Makefile)); do \
		echo "Building $$folder (the first time up to a minute on two processors)"; \
		$(MAKE) $(parallel) --no-print-directory -s -C $$folder || exit; done

papers: ## what papers measured, by the programs of apps/: a page in build/papers, up to six minutes for each (QUICK=1: a look)
	@scripts/bootstrap --quiet build lab papers
	@$(MAKE) --no-print-directory stage
	@apps/papers/papers $(if $(QUICK),--quick)

deb: ## Debian packages of the module's source, the provider and the tools, and what they are made of (SPDX)
	@scripts/bootstrap --quiet package
	@scripts/deb

sbom: ## what this tree is made of, as SPDX: build/weft.spdx.json
	@mkdir -p $(BUILD)
	@scripts/sbom --output $(BUILD)/weft.spdx.json
	@echo "What the tree is made of is in $(BUILD)/weft.spdx.json"

deb-test: ## those packages in roots of Debian, and in machines that boot (RELEASES="bookworm boot" for some)
	@scripts/bootstrap --quiet build lab package
	@tests/deb/run $(RELEASES)

demo: ## two hosts in a virtual machine, and unmodified RDMA programs between them
	@scripts/bootstrap --quiet build lab
	@$(MAKE) --no-print-directory stage
	@scripts/demo

shell: ## a prompt on those two hosts
	@scripts/bootstrap --quiet build lab
	@$(MAKE) --no-print-directory stage
	@scripts/lab/shell

# What was compiled before, in another copy of the tree as well, is taken from ccache.
check coverage: export PATH := /usr/lib/ccache:$(PATH)
check coverage: export CCACHE_BASEDIR := $(CURDIR)
check coverage: export CCACHE_NOHASHDIR := 1
check coverage: export CCACHE_DEPEND := 1
check: ## the tests (RINGS="unit kunit ..." for some)
	@scripts/bootstrap --quiet build lab test style
	@$(MAKE) --no-print-directory stage
	@scripts/check $(RINGS)

quick: ## what is worth trying after each change, two minutes (SINCE=COMMIT: what changed since then)
	@scripts/bootstrap --quiet build lab test style
	@scripts/quick $(SINCE)

compile-commands: module ## how each file is compiled, for clangd: compile_commands.json
	@scripts/compile-commands

coverage: ## which lines of the module and of libweft the tests run (PARTS="unit kunit ..." for some)
	@scripts/bootstrap --quiet build lab test
	@$(MAKE) --no-print-directory stage
	@scripts/coverage $(PARTS)

matrix: ## Weft on the kernels of Debian 12, 13 and sid, an hour (KERNELS="6.12 7.3" for some; FULL=1: all labs; PAGE=1: into docs)
	@scripts/bootstrap --quiet build lab
	@$(MAKE) --no-print-directory stage
	@scripts/matrix $(if $(FULL),--full) $(if $(PAGE),--page) $(KERNELS)

torture: ## the exam, a day long (QUICK=1: small; PARTS="faults wire ..." for some)
	@scripts/bootstrap --quiet build lab test
	@$(MAKE) --no-print-directory stage
	@QUICK=$(QUICK) scripts/torture $(PARTS)

style: ## how the code is written: checkpatch, sparse, clang-format, clang-tidy, shellcheck
	@scripts/bootstrap --quiet build style
	@scripts/style

bench: ## Weft, siw, rxe and TCP side by side (QUICK=1: three minutes); see docs/performance.md
	@scripts/bootstrap --quiet build lab
	@$(MAKE) --no-print-directory stage
	@perf/bench $(if $(QUICK),--quick)

bench-compare: ## two files of make bench, A=x.json B=y.json: fails past THRESHOLD=3 per cent
	@test -n "$(A)" && test -n "$(B)" || { echo "weft: name two files: make bench-compare A=x.json B=y.json"; exit 2; }
	@perf/compare "$(A)" "$(B)" --threshold $(or $(THRESHOLD),3)

clean: ## remove what was built (kernels in the cache stay)
	rm -rf $(BUILD)
