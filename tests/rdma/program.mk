# SPDX-License-Identifier: GPL-2.0
# Builds a test program that runs between two hosts from all C++ of its directory, whose
# Makefile includes this, and of this one, into build/tests/NAME/, where NAME is the directory's.
# The directory's Makefile may set before:
#   program  what it is called (NAME)
#   with     which sources of this directory belong to it, by name (all)

shared := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
here := $(dir $(abspath $(firstword $(MAKEFILE_LIST))))
name := $(notdir $(patsubst %/,%,$(here)))
out := $(abspath $(shared)/../..)/build/tests/$(name)
program ?= $(name)
with ?= $(patsubst $(shared)/%.cc,%,$(wildcard $(shared)/*.cc))
CXX ?= g++
CXXFLAGS ?= -O2 -g
flags := -std=c++20 -Wall -Wextra -Werror -Wno-missing-field-initializers -MMD -MP -I$(shared) -I$(shared)/../../kernel/uapi

objects := $(patsubst $(here)%.cc,$(out)/%.o,$(wildcard $(here)*.cc)) \
	$(with:%=$(out)/rdma/%.o)

.PHONY: all clean
all: $(out)/$(program)

$(out)/$(program): $(objects)
	$(CXX) $(LDFLAGS) -o $@ $^ -lrdmacm -libverbs

$(out)/%.o: $(here)%.cc $(shared)/program.mk | $(out)/rdma
	$(CXX) $(flags) $(CXXFLAGS) -c -o $@ $<

$(out)/rdma/%.o: $(shared)/%.cc $(shared)/program.mk | $(out)/rdma
	$(CXX) $(flags) $(CXXFLAGS) -c -o $@ $<

$(out)/rdma:
	mkdir -p $@

clean:
	rm -rf $(out)

-include $(objects:.o=.d)
