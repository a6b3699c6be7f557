// SPDX-License-Identifier: GPL-2.0
#include "octree.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rdma::sharedmemory {
namespace {

std::size_t eighth_of(const Vector& at, const Vector& centre) {
  return (at.x >= centre.x ? 1U : 0U) + (at.y >= centre.y ? 2U : 0U) + (at.z >= centre.z ? 4U : 0U);
}

Vector middle_of(std::size_t eighth, const Vector& centre, double half) {
  const double step = half / 2;
  return {centre.x + ((eighth & 1U) != 0 ? step : -step),
          centre.y + ((eighth & 2U) != 0 ? step : -step),
          centre.z + ((eighth & 4U) != 0 ? step : -step)};
}

void pull(const Vector& at, const Body& other, Vector& sum) {
  const Vector way = at.to(other.at);
  const double square = way.square() + Octree::kSoftening * Octree::kSoftening;
  sum.add(other.mass / (square * std::sqrt(square)), way);
}

}  // namespace

Octree::Octree(std::span<const Body> bodies)
    : bodies_(bodies.begin(), bodies.end()), order_(bodies.size()), sorted_(bodies.size()) {
  std::iota(order_.begin(), order_.end(), 0U);
  double half = 0;
  for (const Body& each : bodies_)
    half = std::max({half, std::abs(each.at.x), std::abs(each.at.y), std::abs(each.at.z)});
  cubes_.resize(1);
  make(0, {}, half, 0, bodies.size(), 0);
}

std::array<std::size_t, Octree::kEighths + 1> Octree::sort(Vector centre, std::size_t first,
                                                           std::size_t count) {
  std::array<std::size_t, kEighths + 1> begin{};
  const auto from = order_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto to = from + static_cast<std::ptrdiff_t>(count);
  for (auto each = from; each != to; ++each) ++begin[eighth_of(bodies_[*each].at, centre) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  auto next = begin;
  for (auto each = from; each != to; ++each)
    sorted_[first + next[eighth_of(bodies_[*each].at, centre)]++] = *each;
  std::copy_n(sorted_.begin() + static_cast<std::ptrdiff_t>(first), count, from);
  return begin;
}

void Octree::make(std::size_t cube, Vector centre, double half, std::size_t first,
                  std::size_t count, int depth) {
  Cube made;
  made.side = 2 * half;
  made.first = static_cast<std::uint32_t>(first);
  made.count = static_cast<std::uint32_t>(count);
  Body& whole = made.whole;
  for (std::size_t i = first; i < first + count; ++i) {
    const Body& each = bodies_[order_[i]];
    whole.mass += each.mass;
    whole.at.add(each.mass, each.at);
  }
  if (whole.mass > 0)
    whole.at = {whole.at.x / whole.mass, whole.at.y / whole.mass, whole.at.z / whole.mass};
  if (count > kLeaf && depth < kDeepest) {
    const auto begin = sort(centre, first, count);
    made.cut = true;
    made.first = static_cast<std::uint32_t>(cubes_.size());
    made.count = 0;
    for (std::size_t i = 0; i < kEighths; ++i) made.count += begin[i + 1] > begin[i] ? 1 : 0;
    std::size_t child = cubes_.size();
    cubes_.resize(cubes_.size() + made.count);
    for (std::size_t i = 0; i < kEighths; ++i) {
      if (begin[i + 1] > begin[i]) {
        make(child++, middle_of(i, centre, half), half / 2, first + begin[i],
             begin[i + 1] - begin[i], depth + 1);
      }
    }
  }
  cubes_[cube] = made;
}

Vector Octree::acceleration(std::size_t index, std::uint64_t& interactions) const {
  const Vector at = bodies_[index].at;
  Vector sum;
  std::vector<std::uint32_t> open{0};
  while (!open.empty()) {
    const Cube& cube = cubes_[open.back()];
    open.pop_back();
    if (!cube.cut) {
      for (std::uint32_t i = cube.first; i < cube.first + cube.count; ++i) {
        if (order_[i] != index) {
          pull(at, bodies_[order_[i]], sum);
          ++interactions;
        }
      }
    } else if (cube.side * cube.side < kOpening * kOpening * at.to(cube.whole.at).square()) {
      pull(at, cube.whole, sum);
      ++interactions;
    } else {
      for (std::uint32_t i = 0; i < cube.count; ++i) open.push_back(cube.first + i);
    }
  }
  return sum;
}

}  // namespace rdma::sharedmemory
