// SPDX-License-Identifier: GPL-2.0
// Payload that betrays every misplaced byte: a counter-mode generator, so that two
// positions, or two seeds, agree no more often than chance allows.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace rdma {

inline void fill_pattern(std::span<std::uint8_t> bytes, std::uint64_t seed) {
  std::uint64_t counter = seed * 0x9e3779b97f4a7c15U;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(counter)) {
    counter += 0x9e3779b97f4a7c15U;
    std::uint64_t word = counter;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
    word ^= word >> 31;
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at));
  }
}

}  // namespace rdma
