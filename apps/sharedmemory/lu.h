// SPDX-License-Identifier: GPL-2.0
// LU factorisation of a dense matrix, block by block and without pivots. Blocks are dealt out to
// the hosts in two dimensions; a host reads the blocks of the others that its own need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel.h"

namespace rdma::sharedmemory {

class Lu : public Kernel {
 public:
  // `size` rows and columns, a multiple of `block`. Throws Failure (kInput) otherwise.
  Lu(Layout& layout, int hosts, std::size_t size, std::size_t block, std::uint64_t seed);

  void fill(World& world) override;
  void run(World& world) override;
  // The matrix, row by row: L without its diagonal of ones below, U above.
  Result gather(World& world) override;

  // An element of the input: its diagonal outweighs its rows, so that no pivots are needed.
  static double input(std::uint64_t seed, std::size_t size, std::size_t row, std::size_t column);

 private:
  using Block = std::span<double>;

  int owner(std::size_t i, std::size_t j) const {
    return static_cast<int>((i % down_) * across_ + j % across_);
  }
  // Where block i, j lies in its owner's share.
  Slice<double> place(std::size_t i, std::size_t j) const {
    return blocks_.at((i / down_ * columns_ + j / across_) * area_, area_);
  }
  // Begins to read block i, j into place `index` of `cache`, if it is another host's.
  void want(World& world, std::size_t i, std::size_t j, const Array<double>& cache,
            std::size_t index) const;
  // Block i, j: its own place, or that in `cache`.
  Block block(World& world, std::size_t i, std::size_t j, const Array<double>& cache,
              std::size_t index) const;
  void factor(Block diagonal) const;
  void solve_row(Block block, Block diagonal) const;
  void solve_column(Block block, Block diagonal) const;
  void subtract(Block block, Block left, Block top) const;
  // What depends on the diagonal block k, and then on that.
  void border(World& world, std::size_t k);
  void inside(World& world, std::size_t k);

  std::size_t size_;   // rows
  std::size_t side_;   // rows of a block
  std::size_t area_;   // elements of a block
  std::size_t count_;  // blocks in a row
  std::size_t down_;   // the hosts are down_ by across_
  std::size_t across_;
  std::size_t columns_;  // blocks in a row of a share
  std::uint64_t seed_;
  Array<double> blocks_;
  Array<double> diagonal_;  // another host's, of this step
  Array<double> left_;      // [i]: block i, k of this step
  Array<double> top_;       // [j]: block k, j
};

}  // namespace rdma::sharedmemory
