// SPDX-License-Identifier: GPL-2.0
// Input that is a function of its number, so that each host makes its own part of it, and one
// process all of it.
#pragma once

#include <cstdint>

namespace rdma::sharedmemory {

// A number without order for `index`, another one for each `seed` (the mixer of SplitMix64).
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t mixed = (seed * 0x2545f4914f6cdd1dU + index + 1) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

// The same in [0, 1).
constexpr double random_unit(std::uint64_t seed, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, index) >> 11) * 0x1p-53;
}

}  // namespace rdma::sharedmemory
