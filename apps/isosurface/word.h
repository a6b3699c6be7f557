// SPDX-License-Identifier: GPL-2.0
// The short messages of a filter stream, beside its chunks: a type in one byte, and what it says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "grid.h"
#include "remote_region.h"

namespace rdma::isosurface {

// From the receiver, first: where it takes chunks.
struct Ring {
  static constexpr std::uint8_t kType = 1;
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::uint32_t kMostSlots = 64;
  static constexpr std::size_t kMostBytes = 64U << 20;  // of all slots

  std::uint32_t slots = 8;
  std::uint32_t slot_bytes = 256U << 10;
  RemoteRegion region;

  // Throws Failure (kInput) if there are too few or too many slots or bytes.
  void check() const;
};
// From the receiver: so many slots more are free.
struct Credit {
  static constexpr std::uint8_t kType = 2;

  std::uint32_t slots = 0;
};
// From the receiver: all up to the stream's end has been used, and is safe.
struct Done {
  static constexpr std::uint8_t kType = 3;
};
// From a viewer: send these points.
struct Question {
  static constexpr std::uint8_t kType = 4;

  Box points;
};
// From either end: it gives up, and why.
struct Abort {
  static constexpr std::uint8_t kType = 5;

  std::string reason;
};

using Word = std::variant<Ring, Credit, Done, Question, Abort>;

std::vector<std::byte> pack(const Word& word);
// Throws Failure (kProtocol) if the message is none of these, or a value in it is out of range. A
// reason comes back as one short line that is safe to print.
Word unpack_word(std::span<const std::byte> message);

}  // namespace rdma::isosurface
