// SPDX-License-Identifier: GPL-2.0
// What the command line says.
#ifndef WEFT_APPS_SHAREDMEMORY_OPTIONS_H
#define WEFT_APPS_SHAREDMEMORY_OPTIONS_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel.h"
#include "link.h"

namespace sharedmemory {

inline constexpr std::size_t kMostHosts = 64;

struct Options {
  bool help = false;
  std::string kernel;
  std::size_t size = 0;  // what it counts is the kernel's matter
  std::size_t steps = 2;
  std::size_t block = 16;
  std::size_t bits = 8;
  std::uint64_t seed = 1;

  bool alone = false;
  std::vector<apps::Address> hosts;
  int rank = 0;
  apps::Transport transport = apps::Transport::kRdma;
  std::chrono::seconds patience{60};
  bool verify = true;
  bool json = false;

  // Throws Failure (kInput) that names the argument. Sizes are the kernel's to check.
  static Options parse(std::span<const char* const> arguments);
  int host_count() const { return alone ? 1 : static_cast<int>(hosts.size()); }
  // The kernel and what it works on, as all hosts must have it: also the order of bytes in numbers.
  std::string task() const;
  // The kernel, with its arrays in `layout`. Throws Failure (kInput) for a size that it can't have.
  std::unique_ptr<Kernel> make(Layout& layout, int on_hosts) const;
};

std::string_view usage();

}  // namespace sharedmemory

#endif  // WEFT_APPS_SHAREDMEMORY_OPTIONS_H
