# SPDX-License-Identifier: GPL-2.0
# Builds a program of apps/ into build/apps/NAME/NAME, from all C++ of its folder, whose Makefile
# includes this, and of apps/link. NAME is the folder's.
#
# A file NAME_test.cc is no part of the program: all of a folder's are one GoogleTest program,
# build/apps/NAME/unit_test, which `make check` runs under the address and undefined-behaviour
# sanitizers. A file NAME_main.cc has a main() of its own and is a program build/apps/FOLDER/NAME;
# main.cc is the one of the folder's name.
#
# A Makefile may set before it includes this: `libraries`, what is linked besides (-lz).

shared := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
here := $(dir $(abspath $(firstword $(MAKEFILE_LIST))))
name := $(notdir $(patsubst %/,%,$(here)))
out := $(abspath $(shared)/../..)/build/apps/$(name)
CXX ?= g++
CXXFLAGS ?= -O2 -g
flags := -std=c++20 -Wall -Wextra -Werror -pthread -MMD -MP -I$(shared)
sanitize := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

mains := $(wildcard $(here)main.cc $(here)*_main.cc)
tests := $(wildcard $(here)*_test.cc)
own := $(filter-out $(mains) $(tests),$(wildcard $(here)*.cc))
# apps/link itself has no others.
link := $(filter-out $(wildcard $(here)*.cc) %_test.cc,$(wildcard $(shared)/*.cc))

program_of = $(out)/$(if $(filter $(here)main.cc,$(1)),$(name),$(patsubst $(here)%_main.cc,%,$(1)))
programs := $(foreach main,$(mains),$(call program_of,$(main)))
objects_of = $(patsubst $(here)%.cc,$(out)/$(1)/%.o,$(filter $(here)%,$(2))) \
	$(patsubst $(shared)/%.cc,$(out)/$(1)/link/%.o,$(filter-out $(here)%,$(2)))
unit_test := $(if $(tests),$(out)/unit_test)
deepest := $(out)/plain/link $(out)/checked/link

.PHONY: all check clean
.SECONDARY:
all: $(programs)

check: $(unit_test)
	$(if $(unit_test),$(unit_test))

define link_program
$(call program_of,$(1)): $(call objects_of,plain,$(1) $(own) $(link))
	$$(CXX) -pthread $$(LDFLAGS) -o $$@ $$^ -lrdmacm -libverbs $$(libraries)
endef
$(foreach main,$(mains),$(eval $(call link_program,$(main))))

$(out)/unit_test: $(call objects_of,checked,$(tests) $(own) $(link))
	$(CXX) -pthread $(sanitize) $(LDFLAGS) -o $@ $^ -lgtest_main -lgtest -lrdmacm -libverbs $(libraries)

$(out)/plain/%.o: $(here)%.cc $(shared)/program.mk | $(deepest)
	$(CXX) $(flags) $(CXXFLAGS) -c -o $@ $<

$(out)/plain/link/%.o: $(shared)/%.cc $(shared)/program.mk | $(deepest)
	$(CXX) $(flags) $(CXXFLAGS) -c -o $@ $<

$(out)/checked/%.o: $(here)%.cc $(shared)/program.mk | $(deepest)
	$(CXX) $(flags) -O1 -g $(sanitize) -c -o $@ $<

$(out)/checked/link/%.o: $(shared)/%.cc $(shared)/program.mk | $(deepest)
	$(CXX) $(flags) -O1 -g $(sanitize) -c -o $@ $<

$(deepest):
	mkdir -p $@

clean:
	rm -rf $(out)

-include $(wildcard $(out)/*/*.d $(out)/*/link/*.d)
