// SPDX-License-Identifier: GPL-2.0
// Each cell is cut into the six tetrahedra around its diagonal from corner 0 to corner 7 (bit 0 of
// a corner's number is x, bit 1 y, bit 2 z), one for each order of the axes on the way there. All
// cells are cut alike, so that neighbours cut the face between them alike.
#include "tetrahedra.h"

#include <algorithm>
#include <cmath>

namespace rdma::isosurface {
namespace {

using Vector = std::array<double, 3>;

struct Tetrahedron {
  std::array<unsigned, 4> corners;
  bool mirrored;  // its corners go round the other way than those of the first
};

constexpr std::array<Tetrahedron, 6> kTetrahedra{{{{0, 1, 3, 7}, false},
                                                  {{0, 2, 6, 7}, false},
                                                  {{0, 4, 5, 7}, false},
                                                  {{0, 1, 5, 7}, true},
                                                  {{0, 2, 3, 7}, true},
                                                  {{0, 4, 6, 7}, true}}};

// How the corners of a tetrahedron are renumbered, by an even permutation, so that those that are
// inside come first: by the set of those inside. Sets of three are the same as the one outside.
constexpr std::array<std::array<unsigned, 4>, 16> kOrder{{
    {0, 1, 2, 3},  // none
    {0, 1, 2, 3},  // 0
    {1, 0, 3, 2},  // 1
    {0, 1, 2, 3},  // 0 1
    {2, 0, 1, 3},  // 2
    {0, 2, 3, 1},  // 0 2
    {1, 2, 0, 3},  // 1 2
    {3, 0, 2, 1},  // all but 3
    {3, 0, 2, 1},  // 3
    {0, 3, 1, 2},  // 0 3
    {1, 3, 2, 0},  // 1 3
    {2, 0, 1, 3},  // all but 2
    {2, 3, 0, 1},  // 2 3
    {1, 0, 3, 2},  // all but 1
    {0, 1, 2, 3},  // all but 0
    {0, 1, 2, 3},  // all
}};

class Cell {
 public:
  Cell(const Grid& grid, const Brick& brick, const Index& at, float value)
      : grid_(grid), brick_(brick), at_(at), value_(value) {
    for (unsigned corner = 0; corner < 8; ++corner) {
      samples_[corner] = brick.at(point_of(corner));
      inside_ |= (samples_[corner] >= value ? 1U : 0U) << corner;
    }
  }

  void extract(Mesh& mesh) const {
    if (inside_ == 0 || inside_ == 0xff) return;
    for (const Tetrahedron& tetrahedron : kTetrahedra) extract(tetrahedron, mesh);
  }

 private:
  Index point_of(unsigned corner) const {
    return {at_[0] + static_cast<std::int32_t>(corner & 1U),
            at_[1] + static_cast<std::int32_t>(corner >> 1U & 1U),
            at_[2] + static_cast<std::int32_t>(corner >> 2U)};
  }

  void extract(const Tetrahedron& tetrahedron, Mesh& mesh) const {
    unsigned set = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned in = inside_ >> tetrahedron.corners[i] & 1U;
      set |= in << i;
      count += in;
    }
    if (count == 0 || count == 4) return;
    std::array<unsigned, 4> corner{};
    for (unsigned i = 0; i < 4; ++i) corner[i] = tetrahedron.corners[kOrder[set][i]];
    const auto between = [&](unsigned a, unsigned b) { return crossing(corner[a], corner[b]); };
    if (count == 2) {
      const std::array<Vertex, 4> quad{between(0, 2), between(0, 3), between(1, 3), between(1, 2)};
      add(quad[0], quad[1], quad[2], tetrahedron.mirrored, mesh);
      add(quad[0], quad[2], quad[3], tetrahedron.mirrored, mesh);
    } else {
      add(between(0, 1), between(0, 2), between(0, 3), tetrahedron.mirrored != (count == 3), mesh);
    }
  }

  static void add(const Vertex& a, const Vertex& b, const Vertex& c, bool mirrored, Mesh& mesh) {
    mesh.push_back(mirrored ? Triangle{a, c, b} : Triangle{a, b, c});
  }

  // Where the surface crosses the edge between two corners. It is computed from the lower corner
  // for every tetrahedron alike, and never at a corner: there, the crossings of several edges would
  // be one, and triangles would lose their area.
  Vertex crossing(unsigned one, unsigned other) const {
    const unsigned low = std::min(one, other);
    const unsigned high = std::max(one, other);
    const double step = (double{value_} - samples_[low]) / (double{samples_[high]} - samples_[low]);
    const auto places =
        static_cast<std::int32_t>(std::clamp(std::floor(step * kPlaces + 0.5), 1.0, kPlaces - 1.0));
    const Index from = point_of(low);
    const Index to = point_of(high);
    Vertex vertex;
    for (std::size_t axis = 0; axis < 3; ++axis)
      vertex.place[axis] = from[axis] * kPlaces + (to[axis] - from[axis]) * places;
    vertex.normal = normal(from, to, static_cast<double>(places) / kPlaces);
    return vertex;
  }

  // Against the gradient, which is interpolated between the two points.
  std::array<std::int16_t, 3> normal(const Index& from, const Index& to, double step) const {
    const Vector first = gradient(from);
    const Vector second = gradient(to);
    Vector sum{};
    double largest = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      sum[axis] = first[axis] + (second[axis] - first[axis]) * step;
      largest = std::max(largest, std::fabs(sum[axis]));
    }
    if (!(largest > 0) || !std::isfinite(largest)) return {};
    double square = 0;
    for (double& part : sum) {
      part /= largest;  // so that no square is too small or too large for a number
      square += part * part;
    }
    const auto part = [&](std::size_t axis) {
      return static_cast<std::int16_t>(std::floor(-sum[axis] / std::sqrt(square) * 32767 + 0.5));
    };
    return {part(0), part(1), part(2)};
  }

  // From both neighbours along each axis, or at the volume's border from one and the point itself.
  Vector gradient(const Index& point) const {
    Vector slope{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Index before = point;
      Index after = point;
      before[axis] = std::max(point[axis] - 1, 0);
      after[axis] = std::min(point[axis] + 1, grid_.points[axis] - 1);
      slope[axis] = (double{brick_.at(after)} - brick_.at(before)) /
                    (grid_.spacing[axis] * (after[axis] - before[axis]));
    }
    return slope;
  }

  const Grid& grid_;
  const Brick& brick_;
  Index at_;
  float value_;
  std::array<float, 8> samples_{};
  unsigned inside_ = 0;  // a bit for each corner
};

}  // namespace

void extract(const Grid& grid, const Brick& brick, const Box& cells, float value, Mesh& mesh) {
  for_each(cells, [&](const Index& at) { Cell(grid, brick, at, value).extract(mesh); });
}

}  // namespace rdma::isosurface
