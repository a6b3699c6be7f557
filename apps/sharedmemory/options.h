// SPDX-License-Identifier: GPL-2.0
// What the command line says.
#pragma once

#include <CLI/CLI.hpp>

#include "kernel.h"

namespace rdma::sharedmemory {

inline constexpr int kMostHosts = 64;

struct Options {
  std::string kernel;
  std::size_t size = 0;  // what it counts is the kernel's matter
  std::size_t steps = 2;
  std::size_t block = 16;
  std::size_t bits = 8;
  std::uint64_t seed = 1;

  bool alone = false;
  std::vector<Address> hosts;
  int rank = 0;
  Transport transport = Transport::kRdma;
  std::chrono::seconds patience{60};
  bool verify = true;
  bool json = false;

  // Has that command line read into this. It throws Failure (kInput) besides its own. Sizes are the
  // kernel's to check.
  void read_from(CLI::App& app);
  int host_count() const { return alone ? 1 : static_cast<int>(hosts.size()); }
  // The kernel and what it works on, as all hosts must have it: also the order of bytes in numbers.
  std::string task() const;
  // The kernel, with its arrays in `layout`. Throws Failure (kInput) for a size that it can't have.
  std::unique_ptr<Kernel> make(Layout& layout, int on_hosts) const;
};

}  // namespace rdma::sharedmemory
