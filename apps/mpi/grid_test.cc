// SPDX-License-Identifier: GPL-2.0
#include "grid.h"

#include <gtest/gtest.h>

#include <vector>

namespace rdma::mpibench {
namespace {

TEST(Share, all_rows_are_somebodys_and_as_equal_as_can_be) {
  for (std::size_t rows = 1; rows < 40; rows++) {
    for (std::size_t ranks = 1; ranks <= rows; ranks++) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < ranks; rank++) {
        const auto [first, last] = share_of(rows, ranks, rank);
        EXPECT_EQ(first, next);
        EXPECT_GE(last - first, rows / ranks);
        EXPECT_LE(last - first, rows / ranks + 1);
        next = last;
      }
      EXPECT_EQ(next, rows);
    }
  }
}

TEST(Jacobi, inner_values_are_the_mean_of_four_and_edges_stay) {
  // Three rows of three, and a row of a neighbour's above and below.
  const std::vector<double> old{0, 0, 0, 4, 8, 4, 1, 5, 3, 2, 6, 2, 0, 0, 0};
  std::vector<double> next(old.size());
  jacobi_step(old, next, 3, 3, true, true);
  EXPECT_EQ(next[7], 0.25 * (8 + 6 + 1 + 3));
  for (const std::size_t edge : {3, 4, 5, 6, 8, 9, 10, 11}) {
    EXPECT_EQ(next[edge], old[edge]) << edge;
  }
}

TEST(Jacobi, a_part_takes_the_neighbours_rows) {
  const std::vector<double> old{0, 40, 0, 0, 8, 0, 0, 20, 0};
  std::vector<double> next(old.size());
  jacobi_step(old, next, 1, 3, false, false);
  EXPECT_EQ(next[4], 0.25 * (40 + 20));
}

}  // namespace
}  // namespace rdma::mpibench
