// SPDX-License-Identifier: GPL-2.0
// A part of a square plate whose heat is sought by Jacobi's iteration.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

namespace rdma::mpibench {

// Rows [first, last) of `rows` that rank `rank` of `ranks` has: as equal as can be, none empty as
// long as there are no more ranks than rows.
constexpr std::pair<std::size_t, std::size_t> share_of(std::size_t rows, std::size_t ranks,
                                                       std::size_t rank) {
  return {rows * rank / ranks, rows * (rank + 1) / ranks};
}

// The plate's heat before the first step: its upper edge is hot, its left edge warm.
constexpr double heat_at_first(std::size_t row, std::size_t column) {
  return row == 0 ? 100.0 + static_cast<double>(column % 7) : (column == 0 ? 50.0 : 0.0);
}

// One step: each of `rows` rows of `columns` values from the four neighbours of each. `old` and
// `next` hold one row more above and one below. Where an edge of the plate is, the value stays: the
// first and last column, the first row if `top`, the last if `bottom`.
inline void jacobi_step(std::span<const double> old, std::span<double> next, std::size_t rows,
                        std::size_t columns, bool top, bool bottom) {
  for (std::size_t row = 1; row <= rows; row++) {
    const bool edge = (top && row == 1) || (bottom && row == rows);
    for (std::size_t column = 0; column < columns; column++) {
      const std::size_t at = row * columns + column;
      next[at] = edge || column == 0 || column + 1 == columns
                     ? old[at]
                     : 0.25 * (old[at - columns] + old[at + columns] + old[at - 1] + old[at + 1]);
    }
  }
}

}  // namespace rdma::mpibench
