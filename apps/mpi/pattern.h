// SPDX-License-Identifier: GPL-2.0
// Payloads that tell which message they are, so that a wrong, old or torn one is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdma::mpibench {

// The byte at an offset of the message `number` of a sender.
constexpr std::byte pattern_byte(unsigned sender, std::uint64_t number, std::size_t at) {
  return static_cast<std::byte>((sender * 131UL + number * 31 + at + (at >> 8)) & 0xff);
}

inline void fill(std::span<std::byte> bytes, unsigned sender, std::uint64_t number) {
  for (std::size_t at = 0; at < bytes.size(); at++) bytes[at] = pattern_byte(sender, number, at);
}

inline bool holds(std::span<const std::byte> bytes, unsigned sender, std::uint64_t number) {
  for (std::size_t at = 0; at < bytes.size(); at++)
    if (bytes[at] != pattern_byte(sender, number, at)) return false;
  return true;
}

// In timed rounds only the first bytes are new: the number, as far as it fits, little endian.
inline void stamp(std::span<std::byte> bytes, std::uint64_t number) {
  for (std::size_t at = 0; at < bytes.size() && at < sizeof(number); at++)
    bytes[at] = static_cast<std::byte>(number >> (8 * at));
}

inline bool stamped(std::span<const std::byte> bytes, std::uint64_t number) {
  for (std::size_t at = 0; at < bytes.size() && at < sizeof(number); at++)
    if (bytes[at] != static_cast<std::byte>(number >> (8 * at))) return false;
  return true;
}

}  // namespace rdma::mpibench
