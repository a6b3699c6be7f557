// SPDX-License-Identifier: GPL-2.0
// Work for a processor that touches no memory.
#pragma once

#include <cstdint>

namespace rdma::perf {

inline void compute(std::uint64_t steps) {
  std::uint64_t value = steps;
  for (std::uint64_t i = 0; i < steps; i++) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));
  }
}

}  // namespace rdma::perf
