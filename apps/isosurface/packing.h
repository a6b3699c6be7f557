// SPDX-License-Identifier: GPL-2.0
// Numbers as bytes, big endian, as files and streams have them.
#ifndef WEFT_APPS_ISOSURFACE_PACKING_H
#define WEFT_APPS_ISOSURFACE_PACKING_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "failure.h"

namespace isosurface {

template <std::size_t kBytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using Type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using Type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = std::uint64_t;
};

// Writes numbers one behind the other into memory that is large enough.
class Packer {
 public:
  explicit Packer(std::span<std::byte> memory) : memory_(memory) {}

  template <typename Number>
  Packer& put(Number number) {
    static_assert(std::is_arithmetic_v<Number>);
    auto bits = std::bit_cast<typename BitsOf<sizeof(Number)>::Type>(number);
    for (std::size_t i = sizeof(Number); i-- > 0;) {
      memory_[used_ + i] = static_cast<std::byte>(bits & 0xffU);
      if constexpr (sizeof(Number) > 1)
        bits = static_cast<decltype(bits)>(bits >> 8U);
    }
    used_ += sizeof(Number);
    return *this;
  }

  std::size_t used() const { return used_; }

 private:
  std::span<std::byte> memory_;
  std::size_t used_ = 0;
};

// Takes numbers one behind the other from memory.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> memory) : memory_(memory) {}

  // Throws Failure (kProtocol) if there are too few bytes.
  template <typename Number>
  Number take() {
    static_assert(std::is_arithmetic_v<Number>);
    if (memory_.size() < sizeof(Number))
      throw apps::Failure(apps::Cause::kProtocol, "the peer sent too few bytes for what it said");
    typename BitsOf<sizeof(Number)>::Type bits = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      bits = static_cast<decltype(bits)>((sizeof(Number) > 1 ? bits << 8U : 0U) |
                                         std::to_integer<std::uint8_t>(memory_[i]));
    memory_ = memory_.subspan(sizeof(Number));
    return std::bit_cast<Number>(bits);
  }

  std::size_t left() const { return memory_.size(); }
  std::span<const std::byte> rest() const { return memory_; }

 private:
  std::span<const std::byte> memory_;
};

}  // namespace isosurface

#endif  // WEFT_APPS_ISOSURFACE_PACKING_H
