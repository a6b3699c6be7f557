// SPDX-License-Identifier: GPL-2.0
#include "grid.h"

#include <gtest/gtest.h>

#include <limits>

#include "temporary.h"

namespace rdma::isosurface {
namespace {

TEST(Grid, BlocksFillTheBoxOnce) {
  const Box box{{0, 2, 5}, {7, 9, 11}};
  std::size_t points = 0;
  const auto all = blocks(box, 4);
  for (const Box& one : all) {
    EXPECT_TRUE(box.contains(one));
    points += one.count();
    for (const Box& other : all) EXPECT_TRUE(one == other || one.common(other).empty());
  }
  EXPECT_EQ(points, box.count());
}

TEST(Grid, PointsForCellsHaveOneMoreAroundThem) {
  const Grid grid{{20, 20, 20}, {}, {1, 1, 1}};
  EXPECT_EQ(points_for(grid, {{4, 4, 4}, {8, 8, 8}}), (Box{{3, 3, 3}, {10, 10, 10}}));
  EXPECT_EQ(points_for(grid, grid.cells()), grid.all());
}

TEST(Grid, CutAndPasteGiveTheWholeAgain) {
  const Volume volume = make_field("gyroid", {9, 7, 5});
  Brick copy{volume.grid.all(), std::vector<float>(volume.brick.samples.size(), -7)};
  for (const Box& box : blocks(volume.grid.all(), 3)) paste(cut(volume.brick, box), copy);
  EXPECT_EQ(copy.samples, volume.brick.samples);
}

TEST(Grid, RefusesWhatCantBeDrawn) {
  const auto said = [](Index points, double spacing) {
    return failure_of([&] { Grid{points, {}, {1, spacing, 1}}.check(); });
  };
  EXPECT_EQ(said({2, 2, 2}, 1), "nothing");
  EXPECT_EQ(said({2, 1, 2}, 1),
            "a volume has 2 to 1024 points along each axis, and this one 1 along y");
  EXPECT_NE(said({2, 2, 1025}, 1), "nothing");
  EXPECT_NE(said({1024, 1024, 1024}, 1), "nothing");
  EXPECT_NE(said({2, 2, 2}, 0), "nothing");
  EXPECT_NE(said({2, 2, 2}, -1), "nothing");
  EXPECT_NE(said({2, 2, 2}, std::numeric_limits<double>::quiet_NaN()), "nothing");
}

TEST(Field, FormulasHaveTheirKnownValues) {
  // Odd sizes have a point in the middle.
  EXPECT_FLOAT_EQ(make_field("ball", {3, 3, 3}).brick.at({1, 1, 1}), 1);
  EXPECT_FLOAT_EQ(make_field("ball", {3, 3, 3}).brick.at({2, 1, 1}), 0);
  EXPECT_NEAR(make_field("gyroid", {5, 5, 5}).brick.at({2, 2, 2}), 0, 1e-6);
  // In the middle, by the formula: (1 - 0 + 0.25 * (1 + cos 12 pi)) / 2.5.
  EXPECT_NEAR(make_field("marschner-lobb", {3, 3, 3}).brick.at({1, 1, 1}), 0.6, 1e-6);
  EXPECT_NE(failure_of([] { make_field("cube", {3, 3, 3}); }), "nothing");
}

}  // namespace
}  // namespace rdma::isosurface
