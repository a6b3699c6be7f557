// SPDX-License-Identifier: GPL-2.0
#include "lu.h"

#include "barrier.h"
#include "failure.h"
#include "random.h"

namespace rdma::sharedmemory {
namespace {

std::size_t count_of(std::size_t size, std::size_t block) {
  if (block == 0 || size == 0 || size % block != 0) {
    throw Failure(Cause::kInput, "lu: --size " + std::to_string(size) +
                                     " is no multiple of --block " + std::to_string(block));
  }
  return size / block;
}

// The larger side of the rectangle of hosts that is nearest to a square.
std::size_t longer_side(std::size_t hosts) {
  std::size_t shorter = 1;
  for (std::size_t i = 1; i * i <= hosts; ++i) {
    if (hosts % i == 0) {
      shorter = i;
    }
  }
  return hosts / shorter;
}

}  // namespace

Lu::Lu(Layout& layout, int hosts, std::size_t size, std::size_t block, std::uint64_t seed)
    : size_(size),
      side_(block),
      area_(block * block),
      count_(count_of(size, block)),
      down_(static_cast<std::size_t>(hosts) / longer_side(static_cast<std::size_t>(hosts))),
      across_(longer_side(static_cast<std::size_t>(hosts))),
      columns_((count_ + across_ - 1) / across_),
      seed_(seed) {
  const std::size_t rows = (count_ + down_ - 1) / down_;
  blocks_ = layout.map<double>(rows * columns_ * area_);
  diagonal_ = layout.map<double>(area_);
  left_ = layout.map<double>(count_ * area_);
  top_ = layout.map<double>(count_ * area_);
}

double Lu::input(std::uint64_t seed, std::size_t size, std::size_t row, std::size_t column) {
  const double random = random_unit(seed, row * size + column);
  return row == column ? random + static_cast<double>(size) : random;
}

void Lu::fill(World& world) {
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t j = 0; j < count_; ++j) {
      if (owner(i, j) != world.rank()) {
        continue;
      }
      const Block mine = world.of(place(i, j));
      for (std::size_t e = 0; e < area_; ++e) {
        mine[e] = input(seed_, size_, i * side_ + e / side_, j * side_ + e % side_);
      }
    }
  }
}

void Lu::want(World& world, std::size_t i, std::size_t j, const Array<double>& cache,
              std::size_t index) const {
  if (owner(i, j) != world.rank()) {
    world.read(owner(i, j), place(i, j), cache.at(index * area_, area_));
  }
}

Lu::Block Lu::block(World& world, std::size_t i, std::size_t j, const Array<double>& cache,
                    std::size_t index) const {
  return world.of(owner(i, j) == world.rank() ? place(i, j) : cache.at(index * area_, area_));
}

void Lu::factor(Block diagonal) const {
  for (std::size_t k = 0; k < side_; ++k) {
    for (std::size_t i = k + 1; i < side_; ++i) {
      const double times = diagonal[i * side_ + k] /= diagonal[k * side_ + k];
      for (std::size_t j = k + 1; j < side_; ++j) {
        diagonal[i * side_ + j] -= times * diagonal[k * side_ + j];
      }
    }
  }
}

// L * X = block, for L below the diagonal.
void Lu::solve_row(Block block, Block diagonal) const {
  for (std::size_t k = 0; k < side_; ++k) {
    for (std::size_t i = k + 1; i < side_; ++i) {
      const double times = diagonal[i * side_ + k];
      for (std::size_t j = 0; j < side_; ++j) {
        block[i * side_ + j] -= times * block[k * side_ + j];
      }
    }
  }
}

// X * U = block, for U above the diagonal and on it.
void Lu::solve_column(Block block, Block diagonal) const {
  for (std::size_t i = 0; i < side_; ++i) {
    for (std::size_t k = 0; k < side_; ++k) {
      const double times = block[i * side_ + k] /= diagonal[k * side_ + k];
      for (std::size_t j = k + 1; j < side_; ++j) {
        block[i * side_ + j] -= times * diagonal[k * side_ + j];
      }
    }
  }
}

void Lu::subtract(Block block, Block left, Block top) const {
  for (std::size_t i = 0; i < side_; ++i) {
    for (std::size_t k = 0; k < side_; ++k) {
      const double times = left[i * side_ + k];
      for (std::size_t j = 0; j < side_; ++j) {
        block[i * side_ + j] -= times * top[k * side_ + j];
      }
    }
  }
}

void Lu::border(World& world, std::size_t k) {
  bool needed = false;
  for (std::size_t i = k + 1; i < count_; ++i) {
    needed |= owner(i, k) == world.rank() || owner(k, i) == world.rank();
  }
  if (!needed) {
    return;
  }
  want(world, k, k, diagonal_, 0);
  world.fence();
  const Block diagonal = block(world, k, k, diagonal_, 0);
  for (std::size_t i = k + 1; i < count_; ++i) {
    if (owner(i, k) == world.rank()) {
      solve_column(world.of(place(i, k)), diagonal);
    }
    if (owner(k, i) == world.rank()) {
      solve_row(world.of(place(k, i)), diagonal);
    }
  }
}

// All blocks that come from others are under way at once.
void Lu::inside(World& world, std::size_t k) {
  const auto rank = static_cast<std::size_t>(world.rank());
  const std::size_t row = rank / across_;
  const std::size_t column = rank % across_;
  for (std::size_t i = k + 1; i < count_; ++i) {
    if (i % down_ == row) {
      want(world, i, k, left_, i);
    }
    if (i % across_ == column) {
      want(world, k, i, top_, i);
    }
  }
  world.fence();
  for (std::size_t i = k + 1; i < count_; ++i) {
    for (std::size_t j = k + 1; j < count_; ++j) {
      if (owner(i, j) == world.rank()) {
        subtract(world.of(place(i, j)), block(world, i, k, left_, i), block(world, k, j, top_, j));
      }
    }
  }
}

// A block is not changed any more after step k has passed it, so its readers need not be waited
// for.
void Lu::run(World& world) {
  for (std::size_t k = 0; k < count_; ++k) {
    if (owner(k, k) == world.rank()) {
      factor(world.of(place(k, k)));
    }
    barrier(world);
    border(world, k);
    barrier(world);
    inside(world, k);
    world.progress("column of blocks", k + 1, count_);
  }
}

Result Lu::gather(World& world) {
  Result result = Result::with_room<double>(size_ * size_);
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t j = 0; j < count_; ++j) {
      want(world, i, j, left_, j);
    }
    world.fence();
    for (std::size_t j = 0; j < count_; ++j) {
      const Block each = block(world, i, j, left_, j);
      for (std::size_t row = 0; row < side_; ++row) {
        result.put((i * side_ + row) * size_ + j * side_,
                   std::span<const double>(each.subspan(row * side_, side_)));
      }
    }
  }
  return result;
}

}  // namespace rdma::sharedmemory
