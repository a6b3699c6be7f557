// SPDX-License-Identifier: GPL-2.0
// Radix sort of 32-bit keys, digit by digit from the lowest. Each host has some of the places; in
// each pass a host writes its keys to the places, on all hosts, that the digit gives them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernel.h"

namespace rdma::sharedmemory {

class Radix : public Kernel {
 public:
  static constexpr unsigned kKeyBits = 32;

  // `keys` keys, at least one for each host; `bits` of a digit, 1 to 16. Throws Failure (kInput)
  // otherwise.
  Radix(Layout& layout, int hosts, std::size_t keys, unsigned bits, std::uint64_t seed);

  void fill(World& world) override;
  void run(World& world) override;
  Result gather(World& world) override;

  static std::uint32_t input(std::uint64_t seed, std::size_t index);

 private:
  using Counts = std::vector<std::size_t>;  // [digit]

  // Sorts this host's keys by the digit into `sorted_`, tells all hosts how many it has of each,
  // and returns that.
  Counts sort_here(World& world, unsigned shift);
  // Writes this host's keys to where they belong.
  void send(World& world, const Counts& counts);
  const Array<std::uint32_t>& from() const { return keys_[pass_ % 2]; }
  const Array<std::uint32_t>& to() const { return keys_[(pass_ + 1) % 2]; }

  std::size_t count_;
  unsigned bits_;
  std::size_t digits_;
  std::uint64_t seed_;
  std::size_t pass_ = 0;
  std::array<Array<std::uint32_t>, 2> keys_;
  Array<std::uint32_t> sorted_;
  Array<std::uint32_t> counts_;  // [host][digit], written by each host
  Array<std::uint32_t> own_;     // [digit], what this host writes there
};

}  // namespace rdma::sharedmemory
