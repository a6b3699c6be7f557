// SPDX-License-Identifier: GPL-2.0
#include "grid.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "failure.h"

namespace rdma::isosurface {

std::size_t Box::count() const {
  if (empty())
    return 0;
  const Index edges = size();
  return static_cast<std::size_t>(edges[0]) * static_cast<std::size_t>(edges[1]) *
         static_cast<std::size_t>(edges[2]);
}

Box Box::common(const Box& other) const {
  Box both;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    both.begin[axis] = std::max(begin[axis], other.begin[axis]);
    both.end[axis] = std::min(end[axis], other.end[axis]);
  }
  return both;
}

void Grid::check() const {
  std::size_t samples = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (points[axis] < 2 || points[axis] > kMostPoints)
      throw Failure(Cause::kInput, "a volume has 2 to " + std::to_string(kMostPoints) +
                                       " points along each axis, and this one " +
                                       std::to_string(points[axis]) + " along " + "xyz"[axis]);
    samples *= static_cast<std::size_t>(points[axis]);
    if (!std::isfinite(origin[axis]) || !std::isfinite(spacing[axis]) || spacing[axis] < 1e-30 ||
        spacing[axis] > 1e30)
      throw Failure(Cause::kInput, std::string("the volume's origin or spacing along ") +
                                       "xyz"[axis] +
                                       " is no number that can be drawn; spacings are positive");
  }
  if (samples > kMostSamples)
    throw Failure(Cause::kInput, "the volume has " + std::to_string(samples) +
                                     " samples; at most " + std::to_string(kMostSamples) +
                                     " fit: make it smaller");
}

namespace {

// Copies the rows of `box`, which both contain.
void copy_rows(const Brick& from, const Box& box, Brick& into) {
  const auto length = static_cast<std::ptrdiff_t>(box.size()[0]);
  for (std::int32_t z = box.begin[2]; z < box.end[2]; ++z) {
    for (std::int32_t y = box.begin[1]; y < box.end[1]; ++y) {
      const float* row = from.samples.data() + from.offset(box.begin[0], y, z);
      std::copy(row, row + length, into.samples.data() + into.offset(box.begin[0], y, z));
    }
  }
}

}  // namespace

Brick cut(const Brick& from, const Box& box) {
  Brick part{box, std::vector<float>(box.count())};
  copy_rows(from, box, part);
  return part;
}

void paste(const Brick& from, Brick& into) {
  const Box both = from.box.common(into.box);
  if (!both.empty())
    copy_rows(from, both, into);
}

std::vector<Box> blocks(const Box& box, std::int32_t edge) {
  std::vector<Box> all;
  for (std::int32_t z = box.begin[2]; z < box.end[2]; z += edge)
    for (std::int32_t y = box.begin[1]; y < box.end[1]; y += edge)
      for (std::int32_t x = box.begin[0]; x < box.end[0]; x += edge)
        all.push_back(Box{{x, y, z}, {x + edge, y + edge, z + edge}}.common(box));
  return all;
}

Box points_for(const Grid& grid, const Box& cells) {
  Box wanted;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    wanted.begin[axis] = cells.begin[axis] - 1;
    wanted.end[axis] = cells.end[axis] + 2;
  }
  return wanted.common(grid.all());
}

}  // namespace rdma::isosurface
