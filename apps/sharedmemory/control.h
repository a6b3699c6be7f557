// SPDX-License-Identifier: GPL-2.0
// The words of each share that hosts agree by. They come first in it, at offset 0.
#pragma once

#include <cstdint>

#include "layout.h"

namespace rdma::sharedmemory {

struct Control {
  // Words apart, so that no two that differ in use share a cache line.
  static constexpr std::size_t kStride = Layout::kAlign / sizeof(std::uint64_t);
  static constexpr std::size_t kLocks = 4;

  Control(Layout& layout, int hosts)
      : arrived(layout.map<std::uint64_t>(1)),
        locks(layout.map<std::uint64_t>(kLocks * kStride)),
        told(layout.map<std::uint64_t>(static_cast<std::size_t>(hosts))),
        nothing(layout.map<std::uint64_t>(1)),
        proof(layout.map<std::uint64_t>(static_cast<std::size_t>(hosts))) {}

  Array<std::uint64_t> arrived;  // on host 0: how often a host has come to a barrier
  Array<std::uint64_t> locks;    // each 0, or 1 + the host that holds it
  Array<std::uint64_t> told;     // [host]: what its notifications write, if they carry no data
  Array<std::uint64_t> nothing;  // what they write there
  Array<std::uint64_t> proof;    // [host]: what is read from it to know that writes have arrived
};

}  // namespace rdma::sharedmemory
