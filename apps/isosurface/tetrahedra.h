// SPDX-License-Identifier: GPL-2.0
// Marching tetrahedra: the surface on which a volume's samples have a given value.
#pragma once

#include "grid.h"
#include "mesh.h"

namespace rdma::isosurface {

// So many triangles a cell has at most: two in each of its tetrahedra.
inline constexpr std::size_t kMostInCell = 12;

// Appends the triangles in these cells to the mesh. The brick has the points of points_for().
// Whatever blocks a volume is cut into, the triangles are the same, and neighbours share their
// corners exactly: a surface that does not meet the volume's border is closed, and has no triangle
// without an area. Samples must be finite.
void extract(const Grid& grid, const Brick& brick, const Box& cells, float value, Mesh& mesh);

}  // namespace rdma::isosurface
