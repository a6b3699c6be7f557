// SPDX-License-Identifier: GPL-2.0
#include "ocean.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "barrier.h"
#include "failure.h"
#include "lock.h"
#include "random.h"

namespace rdma::sharedmemory {
namespace {

constexpr std::size_t kSweeps = 2;     // before a coarse grid, and after it
constexpr std::size_t kRowsEach = 2;   // that a host needs of a grid which is shared
constexpr std::size_t kWorstLock = 0;  // of Control
constexpr std::size_t kMostCells = std::size_t{1} << 15;

// Waves of which the right side and the solution are sums.
struct Wave {
  double across;
  double down;
};
constexpr std::array<Wave, 3> kWaves{{{1, 1}, {3, 2}, {5, 4}}};

// The sum over all waves of their height times weight(wave).
template <typename Weight>
double waves(std::uint64_t seed, double x, double y, Weight weight) {
  double sum = 0;
  for (std::size_t i = 0; i < kWaves.size(); ++i) {
    const Wave& wave = kWaves[i];
    sum += (random_unit(seed, i) + 0.5) * weight(wave) *
           std::sin(wave.across * std::numbers::pi * x) *
           std::sin(wave.down * std::numbers::pi * y);
  }
  return sum;
}

}  // namespace

double Ocean::force(std::uint64_t seed, double x, double y) {
  return waves(seed, x, y, [](const Wave& wave) {
    return (wave.across * wave.across + wave.down * wave.down) * std::numbers::pi *
           std::numbers::pi;
  });
}

double Ocean::solution(std::uint64_t seed, double x, double y) {
  return waves(seed, x, y, [](const Wave&) { return 1.0; });
}

double Ocean::Grid::square() const {
  const auto cells = static_cast<double>(inner + 1);
  return 1 / (cells * cells);
}

Part Ocean::Grid::rows(int host) const {
  if (host >= hosts) {
    return {};
  }
  const Part part = Part::of(inner, hosts, host);
  return {part.first + 1, part.last + 1};
}

Slice<double> Ocean::Grid::place(const Array<double>& array, int host, std::size_t row) const {
  return array.at((row + 1 - rows(host).first) * width(), width());
}

Ocean::Ocean(Layout& layout, int hosts, std::size_t cells, std::size_t cycles, std::uint64_t seed)
    : cycles_(cycles), seed_(seed) {
  const auto least = 2 * kRowsEach * static_cast<std::size_t>(hosts);
  if (!std::has_single_bit(cells) || cells < least || cells > kMostCells) {
    throw Failure(Cause::kInput,
                  "ocean: --size is a number of cells a side that is a power of 2 from " +
                      std::to_string(std::bit_ceil(least)) + " to " + std::to_string(kMostCells) +
                      ", not " + std::to_string(cells));
  }
  for (std::size_t side = cells; side > 1; side /= 2) {
    Grid grid;
    grid.inner = side - 1;
    grid.hosts = grid.inner < kRowsEach * static_cast<std::size_t>(hosts) ? 1 : hosts;
    const std::size_t room = (Part::most(grid.inner, grid.hosts) + 2) * grid.width();
    grid.values = layout.map<double>(room);
    grid.right = layout.map<double>(room);
    grid.residual = layout.map<double>(room);
    grids_.push_back(grid);
  }
  const std::size_t width = grids_.front().width();
  out_ = layout.map<double>(2 * width);
  inbox_ = layout.map<double>(4 * width);
  rows_ = layout.map<double>((Part::most(grids_.front().inner, hosts) + 2) * width);
  worst_ = layout.map<double>(cycles);
  number_ = layout.map<double>(1);
}

void Ocean::fill(World& world) {
  const Grid& grid = grids_.front();
  const Part rows = grid.rows(world.rank());
  const auto cells = static_cast<double>(grid.inner + 1);
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    const auto right = world.of(grid.place(grid.right, world.rank(), i));
    for (std::size_t j = 1; j <= grid.inner; ++j) {
      right[j] = force(seed_, static_cast<double>(j) / cells, static_cast<double>(i) / cells);
    }
  }
}

// Rows wait here in one of two places each, for a neighbour may be ahead by one turn; it can't be
// by two, since it waits for this host's rows.
void Ocean::exchange(World& world, const Grid& grid, const Array<double>& array) {
  if (!grid.is_shared()) {
    return;
  }
  const std::size_t width = grid.width();
  const int rank = world.rank();
  const Part rows = grid.rows(rank);
  const std::size_t turn = turn_++ % 2;
  struct Side {
    int host;
    std::size_t own;     // the row that goes there
    std::size_t theirs;  // the row that comes from there
    std::size_t number;  // 0 before, 1 after
  };
  const std::array<Side, 2> sides{
      {{rank - 1, rows.first, rows.first - 1, 0}, {rank + 1, rows.last - 1, rows.last, 1}}};
  const auto exists = [&](const Side& side) { return side.host >= 0 && side.host < grid.hosts; };
  for (const Side& side : sides) {
    if (!exists(side)) {
      continue;
    }
    world.settle(side.host);  // the rows of the last turn have left `out_`
    const auto out = out_.at(side.number * width, width);
    std::ranges::copy(world.of(grid.place(array, rank, side.own)), world.of(out).begin());
    world.write_notify(side.host, out, inbox_.at((2 * turn + 1 - side.number) * width, width));
  }
  for (const Side& side : sides) {
    if (exists(side)) {
      world.await(side.host);
      std::ranges::copy(world.of(inbox_.at((2 * turn + side.number) * width, width)),
                        world.of(grid.place(array, rank, side.theirs)).begin());
    }
  }
}

void Ocean::half_sweep(World& world, const Grid& grid, std::size_t colour) const {
  const int rank = world.rank();
  const Part rows = grid.rows(rank);
  const double square = grid.square();
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    const auto before = world.of(grid.place(grid.values, rank, i - 1));
    const auto row = world.of(grid.place(grid.values, rank, i));
    const auto after = world.of(grid.place(grid.values, rank, i + 1));
    const auto right = world.of(grid.place(grid.right, rank, i));
    for (std::size_t j = 1 + (i + 1 + colour) % 2; j <= grid.inner; j += 2) {
      row[j] = (before[j] + after[j] + row[j - 1] + row[j + 1] + square * right[j]) / 4;
    }
  }
}

void Ocean::sweep(World& world, const Grid& grid) {
  for (std::size_t colour = 0; colour < 2; ++colour) {
    half_sweep(world, grid, colour);
    exchange(world, grid, grid.values);
  }
}

void Ocean::compute_residual(World& world, const Grid& grid) const {
  const int rank = world.rank();
  const Part rows = grid.rows(rank);
  const double square = grid.square();
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    const auto before = world.of(grid.place(grid.values, rank, i - 1));
    const auto row = world.of(grid.place(grid.values, rank, i));
    const auto after = world.of(grid.place(grid.values, rank, i + 1));
    const auto right = world.of(grid.place(grid.right, rank, i));
    const auto residual = world.of(grid.place(grid.residual, rank, i));
    for (std::size_t j = 1; j <= grid.inner; ++j) {
      residual[j] =
          right[j] - (4 * row[j] - before[j] - after[j] - row[j - 1] - row[j + 1]) / square;
    }
  }
}

// The residual, averaged, is the right side of the coarse grid, whose values begin with zero.
void Ocean::restrict_to(World& world, const Grid& fine, const Grid& coarse) {
  const int rank = world.rank();
  const Part rows = fine.rows(rank);
  exchange(world, fine, fine.residual);
  std::ranges::fill(world.of(coarse.values), 0.0);
  world.fence();  // `rows_` is free
  for (std::size_t i = (rows.first + 1) / 2; 2 * i < rows.last && i <= coarse.inner; ++i) {
    const auto before = world.of(fine.place(fine.residual, rank, 2 * i - 1));
    const auto row = world.of(fine.place(fine.residual, rank, 2 * i));
    const auto after = world.of(fine.place(fine.residual, rank, 2 * i + 1));
    const auto made = rows_.at((i - rows.first / 2) * coarse.width(), coarse.width());
    const auto right = world.of(made);
    right.front() = right.back() = 0;
    for (std::size_t j = 1; j <= coarse.inner; ++j) {
      const std::size_t k = 2 * j;
      right[j] = (4 * row[k] + 2 * (row[k - 1] + row[k + 1] + before[k] + after[k]) +
                  before[k - 1] + before[k + 1] + after[k - 1] + after[k + 1]) /
                 16;
    }
    const int host = Part::owner(coarse.inner, coarse.hosts, i - 1);
    world.write(host, made, coarse.place(coarse.right, host, i));
  }
  if (fine.is_shared()) {
    barrier(world);
  }
}

// Adds the coarse grid's values to the fine grid's, and in between their average.
void Ocean::correct_from(World& world, const Grid& fine, const Grid& coarse) {
  const int rank = world.rank();
  const Part rows = fine.rows(rank);
  if (fine.is_shared()) {
    barrier(world);
  }
  const std::size_t first = rows.first / 2;
  const auto coarse_row = [&](std::size_t i) {
    return rows_.at((i - first) * coarse.width(), coarse.width());
  };
  for (std::size_t i = first; 2 * i <= rows.last; ++i) {
    if (i == 0 || i > coarse.inner) {
      std::ranges::fill(world.of(coarse_row(i)), 0.0);
    } else {
      const int host = Part::owner(coarse.inner, coarse.hosts, i - 1);
      world.read(host, coarse.place(coarse.values, host, i), coarse_row(i));
    }
  }
  world.fence();
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    const auto row = world.of(fine.place(fine.values, rank, i));
    const auto above = world.of(coarse_row(i / 2));
    const auto below = world.of(coarse_row((i + 1) / 2));
    for (std::size_t j = 1; j <= fine.inner; ++j) {
      row[j] += (above[j / 2] + above[(j + 1) / 2] + below[j / 2] + below[(j + 1) / 2]) / 4;
    }
  }
  exchange(world, fine, fine.values);
}

void Ocean::cycle(World& world, std::size_t level) {
  const Grid& grid = grids_[level];
  if (world.rank() >= grid.hosts) {
    return;
  }
  if (level + 1 == grids_.size()) {
    sweep(world, grid);  // one point: that is its solution
    return;
  }
  const Grid& coarse = grids_[level + 1];
  for (std::size_t i = 0; i < kSweeps; ++i) {
    sweep(world, grid);
  }
  compute_residual(world, grid);
  restrict_to(world, grid, coarse);
  cycle(world, level + 1);
  correct_from(world, grid, coarse);
  for (std::size_t i = 0; i < kSweeps; ++i) {
    sweep(world, grid);
  }
}

void Ocean::note_worst(World& world, std::size_t cycle) {
  const Grid& grid = grids_.front();
  const Part rows = grid.rows(world.rank());
  compute_residual(world, grid);
  double worst = 0;
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    const auto residual = world.of(grid.place(grid.residual, world.rank(), i));
    for (std::size_t j = 1; j <= grid.inner; ++j) {
      worst = std::max(worst, std::abs(residual[j]));
    }
  }
  Lock lock(world, 0, kWorstLock);
  lock.acquire();
  world.read(0, worst_.at(cycle, 1), number_.all());
  world.fence();
  double& number = world.of(number_)[0];
  if (worst > number) {
    number = worst;
    world.write(0, number_.all(), worst_.at(cycle, 1));
  }
  lock.release();
}

void Ocean::run(World& world) {
  for (std::size_t i = 0; i < cycles_; ++i) {
    cycle(world, 0);
    note_worst(world, i);
    world.progress("cycle", i + 1, cycles_);
  }
}

Result Ocean::gather(World& world) {
  const Grid& grid = grids_.front();
  Result result = Result::with_room<double>(grid.inner * grid.inner + cycles_);
  const auto scratch = rows_.at(0, grid.width());
  for (std::size_t i = 1; i <= grid.inner; ++i) {
    const int host = Part::owner(grid.inner, grid.hosts, i - 1);
    world.read(host, grid.place(grid.values, host, i), scratch);
    world.fence();
    result.put((i - 1) * grid.inner,
               std::span<const double>(world.of(scratch).subspan(1, grid.inner)));
  }
  for (std::size_t i = 0; i < cycles_; ++i) {
    world.read(0, worst_.at(i, 1), number_.all());
    world.fence();
    result.put(grid.inner * grid.inner + i, std::span<const double>(world.of(number_)));
  }
  return result;
}

}  // namespace rdma::sharedmemory
