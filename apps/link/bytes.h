// SPDX-License-Identifier: GPL-2.0
// Numbers in bytes, big endian as networks and files have them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "failure.h"

namespace rdma {

// An unsigned number of so many bytes.
template <std::size_t kBytes>
using Bits = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

// Both take as many bytes as the number has.
template <typename Number>
void put_big(std::byte* at, Number number) {
  static_assert(std::is_arithmetic_v<Number>);
  std::uint64_t bits = std::bit_cast<Bits<sizeof(Number)>>(number);
  for (std::size_t i = sizeof(Number); i-- > 0; bits >>= 8) {
    at[i] = static_cast<std::byte>(bits & 0xff);
  }
}

template <typename Number>
Number get_big(const std::byte* at) {
  static_assert(std::is_arithmetic_v<Number>);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(Number); i++) {
    bits = bits << 8 | std::to_integer<std::uint64_t>(at[i]);
  }
  return std::bit_cast<Number>(static_cast<Bits<sizeof(Number)>>(bits));
}

// Writes numbers one behind the other into memory that is large enough.
class Packer {
 public:
  explicit Packer(std::span<std::byte> memory) : memory_(memory) {}

  template <typename Number>
  Packer& put(Number number) {
    put_big(memory_.data() + used_, number);
    used_ += sizeof(Number);
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
  std::size_t left() const { return memory_.size(); }

 private:
  std::span<const std::byte> memory_;
};

}  // namespace rdma
