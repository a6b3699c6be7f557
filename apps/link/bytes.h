// SPDX-License-Identifier: GPL-2.0
// Numbers in bytes, big endian as networks and files have them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "failure.h"

namespace rdma {

// Both take as many bytes as the number has.
template <typename Number>
void put_big(std::byte* at, Number number) {
  static_assert(std::is_arithmetic_v<Number>);
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(Number)>>(number);
  if constexpr (std::endian::native == std::endian::little) std::ranges::reverse(bytes);
  std::ranges::copy(bytes, at);
}

template <typename Number>
Number get_big(const std::byte* at) {
  static_assert(std::is_arithmetic_v<Number>);
  std::array<std::byte, sizeof(Number)> bytes;
  std::copy_n(at, bytes.size(), bytes.begin());
  if constexpr (std::endian::native == std::endian::little) std::ranges::reverse(bytes);
  return std::bit_cast<Number>(bytes);
}

// Writes numbers one behind the other into memory that is large enough.
class Packer {
 public:
  explicit Packer(std::span<std::byte> memory) : memory_(memory) {}

  template <typename... Numbers>
  Packer& put(Numbers... numbers) {
    ((put_big(memory_.data() + used_, numbers), used_ += sizeof(numbers)), ...);
    return *this;
  }
  std::size_t used() const { return used_; }

 private:
  std::span<std::byte> memory_;
  std::size_t used_ = 0;
};

// Takes numbers one behind the other from what a peer sent.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> memory) : memory_(memory) {}

  // Both throw Failure (kProtocol) if there are too few bytes.
  std::span<const std::byte> next(std::size_t count) {
    require(count <= memory_.size(), "the peer sent too few bytes for what it said",
            Cause::kProtocol);
    const std::span<const std::byte> part = memory_.first(count);
    memory_ = memory_.subspan(count);
    return part;
  }
  template <typename Number>
  Number take() {
    return get_big<Number>(next(sizeof(Number)).data());
  }
  template <typename... Numbers>
  void take(Numbers&... numbers) {
    ((numbers = take<Numbers>()), ...);
  }
  std::size_t left() const { return memory_.size(); }

 private:
  std::span<const std::byte> memory_;
};

}  // namespace rdma
