// SPDX-License-Identifier: GPL-2.0
#include "chunk.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "failure.h"
#include "bytes.h"

namespace rdma::isosurface {
namespace {

constexpr std::uint32_t kMagic = 0x49534f43;  // "ISOC"

[[noreturn]] void wrong(const std::string& what) {
  throw Failure(Cause::kProtocol, "the peer sent " + what);
}

std::size_t pack(const Box& box, const std::vector<float>& samples, std::span<std::byte> memory) {
  Packer packer(memory);
  for (const Index& corner : {box.begin, box.end})
    for (const std::int32_t part : corner)
      packer.put(part);
  for (const float sample : samples)
    packer.put(sample);
  return packer.used();
}

// A box that is not empty and lies in `all`.
Box take_box(const Box& all, Unpacker& from) {
  Box box;
  for (Index* corner : {&box.begin, &box.end})
    for (std::int32_t& part : *corner)
      part = from.take<std::int32_t>();
  if (box.empty() || !all.contains(box))
    wrong("a block that lies outside the grid");
  return box;
}

// The samples of the brick's box, to the end.
void take_samples(Unpacker& from, Brick& brick) {
  const std::size_t count = brick.box.count();
  if (from.left() != count * sizeof(float))
    wrong("a block of " + std::to_string(count) + " samples in " + std::to_string(from.left()) +
          " bytes");
  brick.samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto sample = from.take<float>();
    if (!std::isfinite(sample))
      wrong("a sample that is no finite number");
    brick.samples.push_back(sample);
  }
}

bool fits_into_cell(const Triangle& triangle) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto [least, most] =
        std::minmax({triangle[0].place[axis], triangle[1].place[axis], triangle[2].place[axis]});
    if (most - least > kPlaces)
      return false;
  }
  return true;
}

}  // namespace

void Header::pack(std::span<std::byte> memory) const {
  Packer(memory).put(kMagic).put(static_cast<std::uint32_t>(kind)).put(sequence).put(payload);
}

Header Header::unpack(std::span<const std::byte> chunk) {
  Unpacker from(chunk);
  if (from.take<std::uint32_t>() != kMagic)
    wrong("a chunk that does not begin as one");
  const auto kind = from.take<std::uint32_t>();
  if (kind < static_cast<std::uint32_t>(Kind::kGrid) ||
      kind > static_cast<std::uint32_t>(Kind::kEnd))
    wrong("a chunk of the unknown kind " + std::to_string(kind));
  Header header;
  header.kind = static_cast<Kind>(kind);
  header.sequence = from.take<std::uint32_t>();
  header.payload = from.take<std::uint32_t>();
  if (header.payload != from.left())
    wrong("a chunk of " + std::to_string(from.left()) + " bytes whose header says " +
          std::to_string(header.payload));
  return header;
}

std::size_t pack(const Opening& opening, std::span<std::byte> memory) {
  Packer packer(memory);
  for (const std::int32_t points : opening.grid.points)
    packer.put(points);
  for (const double place : opening.grid.origin)
    packer.put(place);
  for (const double step : opening.grid.spacing)
    packer.put(step);
  packer.put(opening.blocks);
  return packer.used();
}

Opening unpack_opening(std::span<const std::byte> payload) {
  if (payload.size() != Opening::kBytes)
    wrong("an opening of " + std::to_string(payload.size()) + " bytes");
  Unpacker from(payload);
  Opening opening;
  for (std::int32_t& points : opening.grid.points)
    points = from.take<std::int32_t>();
  for (double& place : opening.grid.origin)
    place = from.take<double>();
  for (double& step : opening.grid.spacing)
    step = from.take<double>();
  opening.blocks = from.take<std::uint32_t>();
  try {
    opening.grid.check();
  } catch (const Failure& failure) {
    wrong(std::string("a grid that can't be: ") + failure.what());
  }
  if (const std::size_t cells = opening.grid.cells().count(); opening.blocks > cells)
    wrong("an opening of " + std::to_string(opening.blocks) + " blocks for " +
          std::to_string(cells) + " cells");
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
      for (const std::int32_t part : vertex.place)
        packer.put(part);
      for (const std::int16_t part : vertex.normal)
        packer.put(part);
    }
  }
  return packer.used();
}

void unpack_triangles(const Grid& grid, std::span<const std::byte> payload, Mesh& mesh) {
  if (payload.empty() || payload.size() % kTriangleBytes != 0)
    wrong(std::to_string(payload.size()) + " bytes of triangles, which are " +
          std::to_string(kTriangleBytes) + " each");
  for (Unpacker from(payload); from.left() > 0;) {
    Triangle triangle;
    for (Vertex& vertex : triangle) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        vertex.place[axis] = from.take<std::int32_t>();
        if (vertex.place[axis] < 0 || vertex.place[axis] > (grid.points[axis] - 1) * kPlaces)
          wrong("a triangle that lies outside the grid");
      }
      for (std::int16_t& part : vertex.normal)
        part = from.take<std::int16_t>();
    }
    if (!fits_into_cell(triangle))
      wrong("a triangle that is larger than a cell");
    mesh.push_back(triangle);
  }
}

}  // namespace rdma::isosurface
