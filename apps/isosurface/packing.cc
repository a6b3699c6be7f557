// SPDX-License-Identifier: GPL-2.0
#include "packing.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace rdma::isosurface {
namespace {

constexpr std::uint32_t kMagic = 0x49534f43;  // "ISOC"
constexpr std::size_t kLongestReason = 400;
// Of words, in the order of Word.
enum Type : std::uint8_t { kRing = 1, kCredit, kDone, kQuestion, kAbort };

template <typename... Parts>
void wrong_if(bool wrong, const Parts&... what) {
  refuse_if(wrong, Cause::kProtocol, "the peer sent ", what...);
}

// Has what a peer sent checked as this host's own input is.
template <typename Checked>
void check(const char* name, const Checked& checked) {
  try {
    checked.check();
  } catch (const Failure& failure) {
    wrong_if(true, name, " that can't be: ", failure.what());
  }
}

template <typename Number>
void put(Packer& packer, const std::array<Number, 3>& three) {
  packer.put(three[0]).put(three[1]).put(three[2]);
}

template <typename Number>
void take(Unpacker& from, std::array<Number, 3>& three) {
  for (Number& number : three) number = from.take<Number>();
}

Box take_box(Unpacker& from) {
  Box box;
  take(from, box.begin);
  take(from, box.end);
  return box;
}

void put(Packer& packer, const Box& box) {
  put(packer, box.begin);
  put(packer, box.end);
}

// A box that is not empty and lies in `all`.
Box take_box(const Box& all, Unpacker& from) {
  const Box box = take_box(from);
  wrong_if(box.empty() || !all.contains(box), "a block that lies outside the grid");
  return box;
}

std::size_t pack(const Box& box, const std::vector<float>& samples, std::span<std::byte> memory) {
  Packer packer(memory);
  put(packer, box);
  for (const float sample : samples) packer.put(sample);
  return packer.used();
}

// The samples of the brick's box, to the end.
void take_samples(Unpacker& from, Brick& brick) {
  const std::size_t count = brick.box.count();
  wrong_if(from.left() != count * sizeof(float), "a block of ", count, " samples in ", from.left(),
           " bytes");
  brick.samples.resize(count);
  for (float& sample : brick.samples) {
    sample = from.take<float>();
    wrong_if(!std::isfinite(sample), "a sample that is no finite number");
  }
}

bool fits_into_cell(const Triangle& triangle) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [least, most] =
        std::minmax({triangle[0].place[axis], triangle[1].place[axis], triangle[2].place[axis]});
    if (most - least > kPlaces) return false;
  }
  return true;
}

// What is said in a word, behind its type.
void say(Packer& packer, const Ring& ring) {
  packer.put(Ring::kVersion).put(ring.slots).put(ring.slot_bytes);
  for (const std::byte byte : ring.region.to_bytes())
    packer.put(std::to_integer<std::uint8_t>(byte));
}
void say(Packer& packer, const Credit& credit) { packer.put(credit.slots); }
void say(Packer& /*packer*/, const Done& /*done*/) {}
void say(Packer& packer, const Question& question) { put(packer, question.points); }
void say(Packer& packer, const Abort& abort) {
  for (const char letter : abort.reason.substr(0, kLongestReason)) packer.put(letter);
}

Ring take_ring(Unpacker& from) {
  const auto version = from.take<std::uint32_t>();
  wrong_if(version != Ring::kVersion, "streams of version ", version, ", and this is version ",
           Ring::kVersion, "; run the same program at both ends");
  Ring ring;
  ring.slots = from.take<std::uint32_t>();
  ring.slot_bytes = from.take<std::uint32_t>();
  ring.region = RemoteRegion::from_bytes(from.next(RemoteRegion::kBytes));
  check("a ring", ring);
  wrong_if(ring.region.length != std::uint64_t{ring.slots} * ring.slot_bytes,
           "a ring that is not as long as its slots");
  return ring;
}

Abort take_abort(Unpacker& from) {
  Abort abort;
  while (from.left() > 0 && abort.reason.size() < kLongestReason) {
    const auto letter = from.take<std::uint8_t>();
    abort.reason += std::isprint(letter) != 0 ? static_cast<char>(letter) : '?';
  }
  return abort;
}

// The word, if nothing comes behind it.
Word whole(const Word& word, const Unpacker& from) {
  wrong_if(from.left() > 0, "a message that is longer than it should be");
  return word;
}

}  // namespace

void Header::pack(std::span<std::byte> memory) const {
  Packer(memory).put(kMagic).put(static_cast<std::uint32_t>(kind)).put(sequence).put(payload);
}

Header Header::unpack(std::span<const std::byte> chunk) {
  Unpacker from(chunk);
  wrong_if(from.take<std::uint32_t>() != kMagic, "a chunk that does not begin as one");
  const auto number = from.take<std::uint32_t>();
  const auto kind = static_cast<Kind>(number);
  wrong_if(kind < Kind::kGrid || kind > Kind::kEnd, "a chunk of the unknown kind ", number);
  const auto sequence = from.take<std::uint32_t>();
  const auto payload = from.take<std::uint32_t>();
  wrong_if(payload != from.left(), "a chunk of ", from.left(), " bytes whose header says ",
           payload);
  return {kind, sequence, payload};
}

std::size_t pack(const Opening& opening, std::span<std::byte> memory) {
  Packer packer(memory);
  put(packer, opening.grid.points);
  put(packer, opening.grid.origin);
  put(packer, opening.grid.spacing);
  return packer.put(opening.blocks).used();
}

Opening unpack_opening(std::span<const std::byte> payload) {
  wrong_if(payload.size() != Opening::kBytes, "an opening of ", payload.size(), " bytes");
  Unpacker from(payload);
  Opening opening;
  take(from, opening.grid.points);
  take(from, opening.grid.origin);
  take(from, opening.grid.spacing);
  opening.blocks = from.take<std::uint32_t>();
  check("a grid", opening.grid);
  const std::size_t cells = opening.grid.cells().count();
  wrong_if(opening.blocks > cells, "an opening of ", opening.blocks, " blocks for ", cells,
           " cells");
  return opening;
}

std::size_t pack(const Block& block, std::span<std::byte> memory) {
  return pack(block.cells, block.brick.samples, memory);
}

std::size_t pack(const Brick& brick, std::span<std::byte> memory) {
  return pack(brick.box, brick.samples, memory);
}

Block unpack_block(const Grid& grid, std::span<const std::byte> payload) {
  Unpacker from(payload);
  Block block;
  block.cells = take_box(grid.cells(), from);
  block.brick.box = points_for(grid, block.cells);
  take_samples(from, block.brick);
  return block;
}

Brick unpack_brick(const Grid& grid, std::span<const std::byte> payload) {
  Unpacker from(payload);
  Brick brick{take_box(grid.all(), from), {}};
  take_samples(from, brick);
  return brick;
}

std::size_t pack(std::span<const Triangle> triangles, std::span<std::byte> memory) {
  Packer packer(memory);
  for (const Triangle& triangle : triangles) {
    for (const Vertex& vertex : triangle) {
      put(packer, vertex.place);
      put(packer, vertex.normal);
    }
  }
  return packer.used();
}

void unpack_triangles(const Grid& grid, std::span<const std::byte> payload, Mesh& mesh) {
  wrong_if(payload.empty() || payload.size() % kTriangleBytes != 0, payload.size(),
           " bytes of triangles, which are ", kTriangleBytes, " each");
  for (Unpacker from(payload); from.left() > 0;) {
    Triangle triangle;
    for (Vertex& vertex : triangle) {
      take(from, vertex.place);
      take(from, vertex.normal);
      for (std::size_t axis = 0; axis < 3; ++axis)
        wrong_if(vertex.place[axis] < 0 || vertex.place[axis] > (grid.points[axis] - 1) * kPlaces,
                 "a triangle that lies outside the grid");
    }
    wrong_if(!fits_into_cell(triangle), "a triangle that is larger than a cell");
    mesh.push_back(triangle);
  }
}

void Ring::check() const {
  refuse_if(slots < 2 || slots > kMostSlots, Cause::kInput, "a stream has 2 to ", kMostSlots,
            " slots");
  refuse_if(slot_bytes < 1024 || slot_bytes > Header::kLongestChunk, Cause::kInput,
            "a slot has 1024 to ", Header::kLongestChunk, " bytes");
  refuse_if(std::size_t{slots} * slot_bytes > kMostBytes, Cause::kInput,
            "the slots of a stream have at most ", kMostBytes, " bytes together");
}

std::vector<std::byte> pack(const Word& word) {
  std::array<std::byte, kLongestReason + 1> buffer{};
  Packer packer(buffer);
  packer.put(static_cast<std::uint8_t>(kRing + word.index()));
  std::visit([&packer](const auto& one) { say(packer, one); }, word);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(packer.used())};
}

Word unpack_word(std::span<const std::byte> message) {
  Unpacker from(message);
  const auto type = from.take<std::uint8_t>();
  switch (type) {
    case kRing:
      return whole(take_ring(from), from);
    case kCredit:
      return whole(Credit{from.take<std::uint32_t>()}, from);
    case kDone:
      return whole(Done{}, from);
    case kQuestion:
      return whole(Question{take_box(from)}, from);
    case kAbort:
      return take_abort(from);
    default:
      throw Failure(Cause::kProtocol,
                    sentence("the peer sent a message of the unknown type ", +type));
  }
}

}  // namespace rdma::isosurface
