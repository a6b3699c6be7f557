// SPDX-License-Identifier: GPL-2.0
// Where a volume's samples are: a grid of points, boxes of it, and bricks, which are boxes with
// their samples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sentence.h"

namespace rdma::isosurface {

// A point of the grid, or how many points there are along x, y and z.
using Index = std::array<std::int32_t, 3>;

// Points (or cells) from `begin` up to, but without, `end`.
struct Box {
  Index begin{};
  Index end{};

  Index size() const { return {end[0] - begin[0], end[1] - begin[1], end[2] - begin[2]}; }
  bool empty() const { return end[0] <= begin[0] || end[1] <= begin[1] || end[2] <= begin[2]; }
  // How many points are in it.
  std::size_t count() const;
  bool contains(const Box& other) const { return common(other) == other; }
  // What is in both; empty() if nothing is.
  Box common(const Box& other) const;
  bool operator==(const Box&) const = default;
};

// Calls work(point) for each point of the box, or for each `step`-th along each axis; x first.
template <typename Work>
void for_each(const Box& box, Work work, std::int32_t step = 1) {
  for (std::int32_t z = box.begin[2]; z < box.end[2]; z += step)
    for (std::int32_t y = box.begin[1]; y < box.end[1]; y += step)
      for (std::int32_t x = box.begin[0]; x < box.end[0]; x += step) work(Index{x, y, z});
}

struct Grid {
  static constexpr std::int32_t kMostPoints = 1024;                  // along each axis
  static constexpr std::size_t kMostSamples = std::size_t{1} << 27;  // 512 MiB of them

  Index points{};                          // along x, y, z
  std::array<double, 3> origin{};          // of point (0, 0, 0), in the file's units
  std::array<double, 3> spacing{1, 1, 1};  // between neighbours

  // Throws Failure (kInput) if there are fewer than two points along an axis, or more than the
  // limits, or a spacing or origin that is no place.
  void check() const;
  Box all() const { return {{}, points}; }
  // The cells lie between the points, so that there is one fewer along each axis.
  Box cells() const { return {{}, {points[0] - 1, points[1] - 1, points[2] - 1}}; }
  bool operator==(const Grid&) const = default;
};

// Samples of the points of a box; x changes fastest, then y.
struct Brick {
  Box box;
  std::vector<float> samples;

  float at(const Index& point) const { return samples[offset(point)]; }
  std::size_t offset(const Index& point) const {
    const Index size = box.size();
    return (static_cast<std::size_t>(point[2] - box.begin[2]) * static_cast<std::size_t>(size[1]) +
            static_cast<std::size_t>(point[1] - box.begin[1])) *
               static_cast<std::size_t>(size[0]) +
           static_cast<std::size_t>(point[0] - box.begin[0]);
  }
  bool operator==(const Brick&) const = default;
};

struct Volume {
  Grid grid;
  Brick brick;  // of all points
};

// The part of a brick that lies in `box`, which it must contain.
Brick cut(const Brick& from, const Box& box);
// Copies what both bricks have from one to the other.
void paste(const Brick& from, Brick& into);

// Blocks of `edge` points along each axis, but for the last ones, that fill the box; x first.
std::vector<Box> blocks(const Box& box, std::int32_t edge);
// The points that the surface in these cells and its normals depend on: the corners of the cells,
// and one more around them where the grid goes on.
Box points_for(const Grid& grid, const Box& cells);

// A volume of `points`, to try the program on, with the samples of a formula, over -1 to 1 along
// each axis:
//   gyroid            sin X cos Y + sin Y cos Z + sin Z cos X, with X = 3 pi x ...
//   marschner-lobb    the test signal of Marschner and Lobb (1994), 0 to 1
//   ball              1 - the distance to the middle
// Throws Failure (kInput) if there is no such formula or size.
Volume make_field(std::string_view formula, const Index& points);

}  // namespace rdma::isosurface
