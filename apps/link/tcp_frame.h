// SPDX-License-Identifier: GPL-2.0
// What goes over a TCP connection in place of RDMA's requests: a header, and for some the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rdma {

struct Frame {
  enum class Type : std::uint8_t {
    kWrite = 1,    // `length` bytes follow, for `address` of region `key`
    kWriteNotify,  // the same, and `first` is the notification's immediate
    kRead,         // asks for `length` bytes of `address` of region `key`
    kFetchAdd,     // adds `first` to the 8 bytes there
    kCompareSwap,  // puts `second` there if `first` is there
    kAnswer,       // to the oldest read or atomic without one: `length` bytes follow, or `first` is
                   // the value before
    kMessage,      // `length` bytes follow
    kCredits,      // gives back `credits`, as each frame may
    kRefusal       // of a request; nothing follows but the end
  };

  Type type{};
  std::uint16_t credits = 0;
  std::uint32_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  // type (1 byte), zero (1), credits (2), key (4), address, length, first, second (8 each); big
  // endian.
  static constexpr std::size_t kBytes = 40;

  std::array<std::byte, kBytes> to_bytes() const;
  // Throws Failure (kProtocol) if the type is none of these.
  static Frame from_bytes(std::span<const std::byte, kBytes> bytes);
};

}  // namespace rdma
