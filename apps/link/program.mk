# SPDX-License-Identifier: GPL-2.0
# Builds a program of apps/ into build/apps/NAME/NAME from all C++ of its folder, whose Makefile
# includes this, and from what apps/link offers. NAME is the folder's.
#
# A file NAME_main.cc has a main() of its own and becomes build/apps/FOLDER/NAME; main.cc becomes the
# program of the folder's name. Files NAME_test.cc become one GoogleTest program, unit_test, under the
# address and undefined-behaviour sanitizers, which `make check` in the folder builds and runs.
#
# A Makefile may set, before it includes this, `libraries`: what is linked besides, as -lz.

shared := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
here := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))
name := $(notdir $(here))
built := $(abspath $(shared)/../..)/build/apps
out := $(built)/$(name)
CXX ?= g++
CXXFLAGS ?= -O2 -g
# Sockets, verbs and rdma_cm, which belong to apps/link here.
rdma := $(abspath $(shared)/../..)/tests/rdma
flags := -std=c++20 -Wall -Wextra -Werror -pthread -MMD -MP -I$(shared) -I$(rdma)
sanitize := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

mains := $(patsubst $(here)/%.cc,%,$(wildcard $(here)/main.cc $(here)/*_main.cc))
tests := $(patsubst $(here)/%.cc,%,$(wildcard $(here)/*_test.cc))
parts := $(filter-out $(mains) $(tests),$(patsubst $(here)/%.cc,%,$(wildcard $(here)/*.cc)))
program_of = $(out)/$(if $(filter main,$(1)),$(name),$(1:%_main=%))
programs := $(foreach main,$(mains),$(call program_of,$(main)))
unit_test := $(if $(tests),$(out)/unit_test)
# apps/link is itself such a folder, and its parts are the library of the others.
library := $(built)/link/plain/link.a
checked := $(built)/link/checked/link.a
own_parts := $(if $(filter $(shared),$(here)),,$(parts))
connecting := address event record socket

.PHONY: all check clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:
all: $(programs)

check: $(unit_test)
	@$(shared)/../../tests/tap.py gtest $(unit_test)

define program_rule
$(call program_of,$(1)): $(patsubst %,$(out)/plain/%.o,$(1) $(own_parts)) $(library)
	$$(CXX) -pthread $$(LDFLAGS) -o $$@ $$^ -lrdmacm -libverbs $$(libraries)
endef
$(foreach main,$(mains),$(eval $(call program_rule,$(main))))

$(out)/unit_test: $(patsubst %,$(out)/checked/%.o,$(tests) $(own_parts)) $(checked)
	$(CXX) -pthread $(sanitize) $(LDFLAGS) -o $@ $^ -lgtest_main -lgtest -lrdmacm -libverbs $(libraries)

vpath %.cc $(here) $(rdma)
$(out)/plain/%.o: %.cc $(shared)/program.mk | $(out)/plain
	$(CXX) $(flags) $(CXXFLAGS) -c -o $@ $<

$(out)/checked/%.o: %.cc $(shared)/program.mk | $(out)/checked
	$(CXX) $(flags) $(sanitize) -c -o $@ $<

ifeq ($(here),$(shared))
$(built)/link/%/link.a: $(foreach part,$(parts) $(connecting),$(built)/link/%/$(part).o)
	rm -f $@ && $(AR) rcs $@ $^
else
$(library) $(checked): FORCE
	@$(MAKE) --no-print-directory -C $(shared) $@
endif

$(out)/plain $(out)/checked:
	mkdir -p $@

clean:
	rm -rf $(out)

-include $(wildcard $(out)/*/*.d)
