// SPDX-License-Identifier: GPL-2.0
#include "tetrahedra.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>

namespace rdma::isosurface {
namespace {

Mesh surface_of(const Volume& volume, float value) {
  Mesh mesh;
  extract(volume.grid, volume.brick, volume.grid.cells(), value, mesh);
  return mesh;
}

// Six times the volume that the triangle makes with the origin, in grid cells.
double wedge(const Triangle& triangle) {
  std::array<std::array<double, 3>, 3> p{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      p[i][axis] = static_cast<double>(triangle[i].place[axis]) / kPlaces;
  return p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) -
         p[0][1] * (p[1][0] * p[2][2] - p[1][2] * p[2][0]) +
         p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0]);
}

// Each edge must be in two triangles, once in each direction.
void expect_closed(const Mesh& mesh) {
  std::map<std::pair<Index, Index>, int> edges;
  for (const Triangle& triangle : mesh)
    for (std::size_t i = 0; i < 3; ++i) ++edges[{triangle[i].place, triangle[(i + 1) % 3].place}];
  for (const auto& [edge, count] : edges) {
    ASSERT_EQ(count, 1);
    ASSERT_NE(edge.first, edge.second);
    ASSERT_TRUE(edges.contains({edge.second, edge.first}));
  }
}

TEST(Tetrahedra, ABallIsClosedAndAsLargeAsItIs) {
  const Volume volume = make_field("ball", {33, 33, 33});
  const Mesh mesh = surface_of(volume, 0.25F);
  ASSERT_FALSE(mesh.empty());
  expect_closed(mesh);
  double sum = 0;
  for (const Triangle& triangle : mesh) sum += wedge(triangle);
  const double radius = 0.75 * 16;
  EXPECT_NEAR(sum / 6, 4 * std::numbers::pi / 3 * std::pow(radius, 3), 0.02 * sum / 6);
}

TEST(Tetrahedra, NormalsPointAwayFromTheBall) {
  for (const Triangle& triangle : surface_of(make_field("ball", {17, 17, 17}), 0.5F)) {
    for (const Vertex& vertex : triangle) {
      double length = 0;
      double along = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double out = static_cast<double>(vertex.place[axis]) / kPlaces - 8;
        length += out * out;
        along += out * vertex.normal[axis];
      }
      EXPECT_GT(along / std::sqrt(length) / 32767, 0.97);
    }
  }
}

// Samples drawn from a few, with a border that is outside.
Volume any_samples(const std::vector<float>& choices, std::mt19937& random) {
  Volume volume;
  volume.grid.points = {8, 9, 10};
  volume.brick.box = volume.grid.all();
  volume.brick.samples.assign(volume.brick.box.count(), choices[0]);
  for_each({{1, 1, 1}, {7, 8, 9}}, [&](const Index& at) {
    volume.brick.samples[volume.brick.offset(at)] = choices[random() % choices.size()];
  });
  return volume;
}

// Each way that a cell can be cut; samples that are equal to the value; and crossings in the middle
// between two places, which round differently from either end of their edge.
TEST(Tetrahedra, AnySamplesMakeAClosedSurface) {
  std::mt19937 random(7);
  for (int round = 0; round < 10; ++round) {
    expect_closed(surface_of(any_samples({-2, -1, 0, 1, 2}, random), 0));
    expect_closed(surface_of(any_samples({-3, 131069}, random), 0));
  }
}

TEST(Tetrahedra, BlocksMakeTheSameTriangles) {
  const Volume volume = make_field("gyroid", {20, 17, 13});
  Mesh whole = surface_of(volume, 0.1F);
  std::sort(whole.begin(), whole.end());
  for (const std::int32_t edge : {1, 5, 8}) {
    Mesh parts;
    for (const Box& cells : blocks(volume.grid.cells(), edge))
      extract(volume.grid, cut(volume.brick, points_for(volume.grid, cells)), cells, 0.1F, parts);
    std::sort(parts.begin(), parts.end());
    EXPECT_EQ(parts, whole) << edge;
  }
}

TEST(Tetrahedra, WhereNothingCrossesThereIsNothing) {
  EXPECT_TRUE(surface_of(make_field("ball", {9, 9, 9}), 2).empty());
  EXPECT_TRUE(surface_of(make_field("ball", {9, 9, 9}), -2).empty());
}

}  // namespace
}  // namespace rdma::isosurface
