// SPDX-License-Identifier: GPL-2.0
// What an ocean model spends its time on: Poisson's equation on a square, by several grids of which
// each has half the cells a side, and red-black Gauss-Seidel on each. Each host has some rows; its
// first and last go to its neighbours after each half sweep. Small grids are host 0's alone.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernel.h"

namespace rdma::sharedmemory {

class Ocean : public Kernel {
 public:
  // `cells` a side, a power of 2 that is at least four for each host, and `cycles` down to the
  // smallest grid and up. Throws Failure (kInput) otherwise.
  Ocean(Layout& layout, int hosts, std::size_t cells, std::size_t cycles, std::uint64_t seed);

  void fill(World& world) override;
  void run(World& world) override;
  // The inner points row by row, then the largest residual after each cycle.
  Result gather(World& world) override;

  // The right side at a point of the unit square, and what solves the equation without a grid.
  static double force(std::uint64_t seed, double x, double y);
  static double solution(std::uint64_t seed, double x, double y);

 private:
  // One grid. Rows and columns 1 to `inner` are computed; 0 and `inner` + 1 are the border, zero.
  // A share has the rows of one host, with a row of the neighbour before and after.
  struct Grid {
    std::size_t inner = 0;
    int hosts = 1;  // that have rows of it, from host 0 on
    Array<double> values;
    Array<double> right;  // the right side
    Array<double> residual;

    std::size_t width() const { return inner + 2; }
    double square() const;  // of a cell's side
    // Rows [first, last) of a host.
    Part rows(int host) const;
    // Row number `row` of a host's share, which may be a neighbour's.
    Slice<double> place(const Array<double>& array, int host, std::size_t row) const;
    bool is_shared() const { return hosts > 1; }
  };

  void cycle(World& world, std::size_t level);
  void sweep(World& world, const Grid& grid);
  void half_sweep(World& world, const Grid& grid, std::size_t colour) const;
  void compute_residual(World& world, const Grid& grid) const;
  void restrict_to(World& world, const Grid& fine, const Grid& coarse);
  void correct_from(World& world, const Grid& fine, const Grid& coarse);
  // Gives the first and last of this host's rows to its neighbours, and takes theirs.
  void exchange(World& world, const Grid& grid, const Array<double>& array);
  void note_worst(World& world, std::size_t cycle);

  std::size_t cycles_;
  std::uint64_t seed_;
  std::size_t turn_ = 0;  // exchanges so far
  std::vector<Grid> grids_;
  Array<double> out_;     // [2]: rows on their way to the neighbour before and after
  Array<double> inbox_;   // [2][2]: of even and odd turns, the rows of those
  Array<double> rows_;    // rows of a coarse grid, on their way from or to their host
  Array<double> worst_;   // on host 0: [cycle], the largest residual
  Array<double> number_;  // where a number of host 0's is worked on
};

}  // namespace rdma::sharedmemory
