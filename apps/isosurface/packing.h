// SPDX-License-Identifier: GPL-2.0
// What filters send each other, as bytes. All numbers are big endian.
//
// A chunk lies in a slot of the receiver's memory: the header, then the payload.
//
//     magic 4 | kind 4 | sequence 4 | payload's bytes 4 | payload
//
// The immediate that comes with it has the slot in its upper 8 bits and the length of header and
// payload in its lower 24. Beside its chunks a stream has short messages, words: a type in one
// byte, and what it says. Everything that unpacks is told by a peer, and checks it: a Failure has
// the cause kProtocol.
#pragma once

#include <span>
#include <variant>

#include "remote_region.h"
#include "tetrahedra.h"

namespace rdma::isosurface {

enum class Kind : std::uint32_t {
  kGrid = 1,       // the volume's grid, and how many blocks there will be: first in a stream
  kBlock = 2,      // cells, with the samples that their surface needs
  kTriangles = 3,  // triangles of a block, or some of them
  kBlockEnd = 4,   // that was all of a block; no payload
  kBrick = 5,      // samples alone
  kEnd = 6,        // that was all; no payload
};

struct Header {
  static constexpr std::size_t kBytes = 16;
  // 2^24 - 1 would fit into an immediate.
  static constexpr std::size_t kLongestChunk = 8U << 20;

  Kind kind{};
  std::uint32_t sequence = 0;
  std::uint32_t payload = 0;  // bytes

  void pack(std::span<std::byte> memory) const;
  // `chunk` is as long as its immediate says.
  static Header unpack(std::span<const std::byte> chunk);
  bool operator==(const Header&) const = default;
};

struct Immediate {
  unsigned slot = 0;
  std::size_t length = 0;  // of header and payload, bytes

  std::uint32_t pack() const {
    return static_cast<std::uint32_t>(slot << 24U) | static_cast<std::uint32_t>(length);
  }
  static Immediate unpack(std::uint32_t immediate) {
    return {immediate >> 24U, immediate & 0xffffffU};
  }
  bool operator==(const Immediate&) const = default;
};

// The stream's first chunk.
struct Opening {
  static constexpr std::size_t kBytes = 64;

  Grid grid;
  std::uint32_t blocks = 0;  // a cell each at least
  bool operator==(const Opening&) const = default;
};

// Cells, and the brick of their points_for().
struct Block {
  Box cells;
  Brick brick;
  bool operator==(const Block&) const = default;
};

// Of the payload of a block or a brick with so many samples: a box, which is the block's cells or
// the brick's points, and the samples.
constexpr std::size_t bytes_of_samples(std::size_t samples) { return 24 + samples * sizeof(float); }

inline constexpr std::size_t kTriangleBytes = 54;

// Each packs into memory that is large enough, and returns the bytes used.
std::size_t pack(const Opening& opening, std::span<std::byte> memory);
std::size_t pack(const Block& block, std::span<std::byte> memory);
std::size_t pack(const Brick& brick, std::span<std::byte> memory);
std::size_t pack(std::span<const Triangle> triangles, std::span<std::byte> memory);

Opening unpack_opening(std::span<const std::byte> payload);
// The box lies in the grid, and all samples are finite.
Block unpack_block(const Grid& grid, std::span<const std::byte> payload);
Brick unpack_brick(const Grid& grid, std::span<const std::byte> payload);
// Appends the triangles, of which there is one at least. Their corners lie in the grid, and none is
// larger than a cell.
void unpack_triangles(const Grid& grid, std::span<const std::byte> payload, Mesh& mesh);

// From the receiver, first: where it takes chunks.
struct Ring {
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::uint32_t kMostSlots = 64;
  static constexpr std::size_t kMostBytes = 64U << 20;  // of all slots

  std::uint32_t slots = 8;
  std::uint32_t slot_bytes = 256U << 10;
  RemoteRegion region;

  // Throws Failure (kInput) if there are too few or too many slots or bytes.
  void check() const;
  bool operator==(const Ring&) const = default;
};
// From the receiver: so many slots more are free.
struct Credit {
  std::uint32_t slots = 0;
  bool operator==(const Credit&) const = default;
};
// From the receiver: all up to the stream's end has been used, and is safe.
struct Done {
  bool operator==(const Done&) const = default;
};
// From a viewer: send these points.
struct Question {
  Box points;
  bool operator==(const Question&) const = default;
};
// From either end: it gives up, and why.
struct Abort {
  std::string reason;
  bool operator==(const Abort&) const = default;
};

using Word = std::variant<Ring, Credit, Done, Question, Abort>;

std::vector<std::byte> pack(const Word& word);
// A reason comes back as one short line that is safe to print.
Word unpack_word(std::span<const std::byte> message);

}  // namespace rdma::isosurface
