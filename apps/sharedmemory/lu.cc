// SPDX-License-Identifier: GPL-2.0
// LU factorisation of a dense matrix, block by block and without pivots. Blocks are dealt out to
// the hosts in two dimensions; a host reads the blocks of the others that its own need.
#include "options.h"

namespace rdma::sharedmemory {
namespace {

// Blocks in a row.
std::size_t count_of(std::size_t size, std::size_t block) {
  refuse_if(block == 0 || size == 0 || size % block != 0, Cause::kInput, "lu: --size ", size,
            " is no multiple of --block ", block);
  return size / block;
}

// The shorter side of the rectangle of hosts that is nearest to a square.
std::size_t shorter_side(std::size_t hosts) {
  std::size_t shorter = 1;
  for (std::size_t i = 1; i * i <= hosts; ++i)
    if (hosts % i == 0) shorter = i;
  return shorter;
}

class Lu : public Kernel {
 public:
  Lu(Layout& layout, int hosts, const Options& options)
      : size_(options.size),
        side_(options.block),
        area_(side_ * side_),
        count_(count_of(size_, side_)),
        down_(shorter_side(static_cast<std::size_t>(hosts))),
        across_(static_cast<std::size_t>(hosts) / down_),
        columns_((count_ + across_ - 1) / across_),
        seed_(options.seed),
        blocks_(layout.map<double>((count_ + down_ - 1) / down_ * columns_ * area_)),
        diagonal_(layout.map<double>(area_)),
        left_(layout.map<double>(count_ * area_)),
        top_(layout.map<double>(count_ * area_)) {}

  void fill(World& world) override {
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j < count_; ++j) {
        if (owner(i, j) != world.rank()) continue;
        const Block mine = world.of(place(i, j));
        for (std::size_t e = 0; e < area_; ++e)
          mine[e] = lu_input(seed_, size_, i * side_ + e / side_, j * side_ + e % side_);
      }
    }
  }

  // A block is not changed any more after step k has passed it, so its readers need not be waited
  // for.
  void run(World& world) override {
    for (std::size_t k = 0; k < count_; ++k) {
      if (owner(k, k) == world.rank()) factor(world.of(place(k, k)));
      world.barrier();
      border(world, k);
      world.barrier();
      inside(world, k);
      world.progress("column of blocks", k + 1, count_);
    }
  }

  // The matrix, row by row: L without its diagonal of ones below, U above.
  Result gather(World& world) override {
    Result result = Result::with_room<double>(size_ * size_);
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j < count_; ++j) want(world, i, j, left_, j);
      world.fence();
      for (std::size_t j = 0; j < count_; ++j) {
        const Block each = block(world, i, j, left_, j);
        for (std::size_t row = 0; row < side_; ++row)
          result.put((i * side_ + row) * size_ + j * side_, each.subspan(row * side_, side_));
      }
    }
    return result;
  }

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
            std::size_t index) const {
    if (owner(i, j) != world.rank())
      world.read(owner(i, j), place(i, j), cache.at(index * area_, area_));
  }
  // Block i, j: its own place, or that in `cache`.
  Block block(World& world, std::size_t i, std::size_t j, const Array<double>& cache,
              std::size_t index) const {
    return world.of(owner(i, j) == world.rank() ? place(i, j) : cache.at(index * area_, area_));
  }

  // Subtracts so many times the elements of a row from those of another, from column `first` on.
  void subtract(Block row, double times, Block other, std::size_t first) const {
    for (std::size_t j = first; j < side_; ++j) row[j] -= times * other[j];
  }
  Block row(Block block, std::size_t number) const { return block.subspan(number * side_, side_); }

  void factor(Block diagonal) const {
    for (std::size_t k = 0; k < side_; ++k)
      for (std::size_t i = k + 1; i < side_; ++i)
        subtract(row(diagonal, i), row(diagonal, i)[k] /= row(diagonal, k)[k], row(diagonal, k),
                 k + 1);
  }
  // L * X = block, for L below the diagonal.
  void solve_row(Block block, Block diagonal) const {
    for (std::size_t k = 0; k < side_; ++k)
      for (std::size_t i = k + 1; i < side_; ++i)
        subtract(row(block, i), row(diagonal, i)[k], row(block, k), 0);
  }
  // X * U = block, for U above the diagonal and on it.
  void solve_column(Block block, Block diagonal) const {
    for (std::size_t i = 0; i < side_; ++i)
      for (std::size_t k = 0; k < side_; ++k)
        subtract(row(block, i), row(block, i)[k] /= row(diagonal, k)[k], row(diagonal, k), k + 1);
  }
  void subtract_product(Block block, Block left, Block top) const {
    for (std::size_t i = 0; i < side_; ++i)
      for (std::size_t k = 0; k < side_; ++k)
        subtract(row(block, i), row(left, i)[k], row(top, k), 0);
  }

  // What depends on the diagonal block k.
  void border(World& world, std::size_t k) {
    bool needed = false;
    for (std::size_t i = k + 1; i < count_; ++i)
      needed |= owner(i, k) == world.rank() || owner(k, i) == world.rank();
    if (!needed) return;
    want(world, k, k, diagonal_, 0);
    world.fence();
    const Block diagonal = block(world, k, k, diagonal_, 0);
    for (std::size_t i = k + 1; i < count_; ++i) {
      if (owner(i, k) == world.rank()) solve_column(world.of(place(i, k)), diagonal);
      if (owner(k, i) == world.rank()) solve_row(world.of(place(k, i)), diagonal);
    }
  }

  // What depends on that. All blocks that come from others are under way at once.
  void inside(World& world, std::size_t k) {
    const auto rank = static_cast<std::size_t>(world.rank());
    for (std::size_t i = k + 1; i < count_; ++i) {
      if (i % down_ == rank / across_) want(world, i, k, left_, i);
      if (i % across_ == rank % across_) want(world, k, i, top_, i);
    }
    world.fence();
    for (std::size_t i = k + 1; i < count_; ++i)
      for (std::size_t j = k + 1; j < count_; ++j)
        if (owner(i, j) == world.rank())
          subtract_product(world.of(place(i, j)), block(world, i, k, left_, i),
                           block(world, k, j, top_, j));
  }

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

}  // namespace

double lu_input(std::uint64_t seed, std::size_t size, std::size_t row, std::size_t column) {
  const double random = random_unit(seed, row * size + column);
  return row == column ? random + static_cast<double>(size) : random;
}

std::unique_ptr<Kernel> make_lu(Layout& layout, int hosts, const Options& options) {
  return std::make_unique<Lu>(layout, hosts, options);
}

}  // namespace rdma::sharedmemory
