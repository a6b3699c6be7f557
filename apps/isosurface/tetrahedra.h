// SPDX-License-Identifier: GPL-2.0
// Marching tetrahedra: the surface on which a volume's samples have a given value, as triangles in
// whole numbers, so that each host computes the same from them.
#pragma once

#include <tuple>

#include "grid.h"

namespace rdma::isosurface {

// Between two neighbours of the grid there are so many places.
inline constexpr std::int32_t kPlaces = 1 << 16;

struct Vertex {
  std::array<std::int32_t, 3> place{};   // kPlaces to a grid point
  std::array<std::int16_t, 3> normal{};  // of length 32767, to where samples are smaller; or zero
  bool operator==(const Vertex&) const = default;
  bool operator<(const Vertex& other) const {
    return std::tie(place, normal) < std::tie(other.place, other.normal);
  }
};

// Seen from where samples are smaller, its corners go round counterclockwise.
using Triangle = std::array<Vertex, 3>;
using Mesh = std::vector<Triangle>;

// So many triangles a cell has at most: two in each of its tetrahedra.
inline constexpr std::size_t kMostInCell = 12;

// Appends the triangles in these cells to the mesh. The brick has the points of points_for().
// Whatever blocks a volume is cut into, the triangles are the same, and neighbours share their
// corners exactly: a surface that does not meet the volume's border is closed, and has no triangle
// without an area. Samples must be finite.
void extract(const Grid& grid, const Brick& brick, const Box& cells, float value, Mesh& mesh);

}  // namespace rdma::isosurface
