// SPDX-License-Identifier: GPL-2.0
// Triangles of a surface, in whole numbers, so that each host computes the same from them.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

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

}  // namespace rdma::isosurface
