// SPDX-License-Identifier: GPL-2.0
// What an ocean model spends its time on: Poisson's equation on a square, by several grids of which
// each has half the cells a side, and red-black Gauss-Seidel on each. Each host has some rows; its
// first and last go to its neighbours after each half sweep. Small grids are host 0's alone.
#include <bit>
#include <cmath>
#include <numbers>

#include "options.h"

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
  using std::numbers::pi;
  double sum = 0;
  for (std::size_t i = 0; i < kWaves.size(); ++i) {
    const auto [across, down] = kWaves[i];
    sum += (random_unit(seed, i) + 0.5) * weight(kWaves[i]) * std::sin(across * pi * x) *
           std::sin(down * pi * y);
  }
  return sum;
}

// The right side at a point of the unit square.
double force(std::uint64_t seed, double x, double y) {
  return waves(seed, x, y, [](const Wave& wave) {
    return (wave.across * wave.across + wave.down * wave.down) * std::numbers::pi *
           std::numbers::pi;
  });
}

// One grid. Rows and columns 1 to `inner` are computed; 0 and `inner` + 1 are the border, zero.
// A share has the rows of one host, with a row of the neighbour before and after.
struct Grid {
  std::size_t inner = 0;
  int hosts = 1;  // that have rows of it, from host 0 on
  Array<double> values;
  Array<double> right;  // the right side
  Array<double> residual;

  std::size_t width() const { return inner + 2; }
  double square() const {  // of a cell's side
    const auto cells = static_cast<double>(inner + 1);
    return 1 / (cells * cells);
  }
  // Rows [first, last) of a host.
  Part rows(int host) const {
    if (host >= hosts) return {};
    const Part part = Part::of(inner, hosts, host);
    return {part.first + 1, part.last + 1};
  }
  int owner(std::size_t row) const { return Part::owner(inner, hosts, row - 1); }
  // Row number `row` of a host's share, which may be a neighbour's.
  Slice<double> place(const Array<double>& array, int host, std::size_t row) const {
    return array.at((row + 1 - rows(host).first) * width(), width());
  }
  bool is_shared() const { return hosts > 1; }
};

class Ocean : public Kernel {
 public:
  Ocean(Layout& layout, int hosts, const Options& options)
      : cycles_(options.steps), seed_(options.seed) {
    const std::size_t cells = options.size;
    const auto least = 2 * kRowsEach * static_cast<std::size_t>(hosts);
    refuse_if(!std::has_single_bit(cells) || cells < least || cells > kMostCells, Cause::kInput,
              "ocean: --size is a number of cells a side that is a power of 2 from ",
              std::bit_ceil(least), " to ", kMostCells, ", not ", cells);
    for (std::size_t side = cells; side > 1; side /= 2) {
      Grid grid;
      grid.inner = side - 1;
      grid.hosts = grid.inner < kRowsEach * static_cast<std::size_t>(hosts) ? 1 : hosts;
      const std::size_t room = (Part::most(grid.inner, grid.hosts) + 2) * grid.width();
      for (Array<double>* array : {&grid.values, &grid.right, &grid.residual})
        *array = layout.map<double>(room);
      grids_.push_back(grid);
    }
    const std::size_t width = grids_.front().width();
    out_ = layout.map<double>(2 * width);
    inbox_ = layout.map<double>(4 * width);
    rows_ = layout.map<double>((Part::most(grids_.front().inner, hosts) + 2) * width);
    worst_ = layout.map<double>(cycles_);
    number_ = layout.map<double>(1);
  }

  void fill(World& world) override {
    const Grid& grid = grids_.front();
    const auto cells = static_cast<double>(grid.inner + 1);
    each_row(world, grid, [&](std::size_t i, auto, auto, auto, auto right) {
      for (std::size_t j = 1; j <= grid.inner; ++j)
        right[j] = force(seed_, static_cast<double>(j) / cells, static_cast<double>(i) / cells);
    });
  }

  void run(World& world) override {
    for (std::size_t i = 0; i < cycles_; ++i) {
      cycle(world, 0);
      note_worst(world, i);
      world.progress("cycle", i + 1, cycles_);
    }
  }

  // The inner points row by row, then the largest residual after each cycle.
  Result gather(World& world) override {
    const Grid& grid = grids_.front();
    Result result = Result::with_room<double>(grid.inner * grid.inner + cycles_);
    const auto scratch = rows_.at(0, grid.width());
    for (std::size_t i = 1; i <= grid.inner; ++i) {
      world.fetch(grid.owner(i), grid.place(grid.values, grid.owner(i), i), scratch);
      result.put((i - 1) * grid.inner, world.of(scratch).subspan(1, grid.inner));
    }
    for (std::size_t i = 0; i < cycles_; ++i) {
      world.fetch(0, worst_.at(i, 1), number_.all());
      result.put(grid.inner * grid.inner + i, world.of(number_));
    }
    return result;
  }

 private:
  // Calls work(i, before, row, after, right) for each row of this host: its number, the values of
  // the row before, its own and the next one's, and its right side.
  template <typename Work>
  void each_row(World& world, const Grid& grid, Work work) const {
    const int rank = world.rank();
    const Part rows = grid.rows(rank);
    const auto values = [&](std::size_t i) { return world.of(grid.place(grid.values, rank, i)); };
    for (std::size_t i = rows.first; i < rows.last; ++i)
      work(i, values(i - 1), values(i), values(i + 1), world.of(grid.place(grid.right, rank, i)));
  }

  void cycle(World& world, std::size_t level) {
    const Grid& grid = grids_[level];
    if (world.rank() >= grid.hosts) return;
    if (level + 1 == grids_.size()) {
      sweep(world, grid);  // one point: that is its solution
      return;
    }
    const Grid& coarse = grids_[level + 1];
    for (std::size_t i = 0; i < kSweeps; ++i) sweep(world, grid);
    compute_residual(world, grid);
    restrict_to(world, grid, coarse);
    cycle(world, level + 1);
    correct_from(world, grid, coarse);
    for (std::size_t i = 0; i < kSweeps; ++i) sweep(world, grid);
  }

  void sweep(World& world, const Grid& grid) {
    const double square = grid.square();
    for (const std::size_t colour : {0, 1}) {
      each_row(world, grid, [&](std::size_t i, auto before, auto row, auto after, auto right) {
        for (std::size_t j = 1 + (i + 1 + colour) % 2; j <= grid.inner; j += 2)
          row[j] = (before[j] + after[j] + row[j - 1] + row[j + 1] + square * right[j]) / 4;
      });
      exchange(world, grid, grid.values);
    }
  }

  // Returns the largest on this host.
  double compute_residual(World& world, const Grid& grid) const {
    const double square = grid.square();
    double worst = 0;
    each_row(world, grid, [&](std::size_t i, auto before, auto row, auto after, auto right) {
      const auto residual = world.of(grid.place(grid.residual, world.rank(), i));
      for (std::size_t j = 1; j <= grid.inner; ++j) {
        residual[j] =
            right[j] - (4 * row[j] - before[j] - after[j] - row[j - 1] - row[j + 1]) / square;
        worst = std::max(worst, std::abs(residual[j]));
      }
    });
    return worst;
  }

  // The residual, averaged, is the right side of the coarse grid, whose values begin with zero.
  void restrict_to(World& world, const Grid& fine, const Grid& coarse) {
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
      world.write(coarse.owner(i), made, coarse.place(coarse.right, coarse.owner(i), i));
    }
    if (fine.is_shared()) world.barrier();
  }

  // Adds the coarse grid's values to the fine grid's, and in between their average.
  void correct_from(World& world, const Grid& fine, const Grid& coarse) {
    const Part rows = fine.rows(world.rank());
    if (fine.is_shared()) world.barrier();
    const std::size_t first = rows.first / 2;
    const auto coarse_row = [&](std::size_t i) {
      return rows_.at((i - first) * coarse.width(), coarse.width());
    };
    for (std::size_t i = first; 2 * i <= rows.last; ++i)
      if (i == 0 || i > coarse.inner)
        std::ranges::fill(world.of(coarse_row(i)), 0.0);
      else
        world.read(coarse.owner(i), coarse.place(coarse.values, coarse.owner(i), i), coarse_row(i));
    world.fence();
    each_row(world, fine, [&](std::size_t i, auto, auto row, auto, auto) {
      const auto above = world.of(coarse_row(i / 2));
      const auto below = world.of(coarse_row((i + 1) / 2));
      for (std::size_t j = 1; j <= fine.inner; ++j)
        row[j] += (above[j / 2] + above[(j + 1) / 2] + below[j / 2] + below[(j + 1) / 2]) / 4;
    });
    exchange(world, fine, fine.values);
  }

  // Gives the first and last of this host's rows to its neighbours, and takes theirs. Rows wait
  // here in one of two places each, for a neighbour may be ahead by one turn; it can't be by two,
  // since it waits for this host's rows.
  void exchange(World& world, const Grid& grid, const Array<double>& array) {
    if (!grid.is_shared()) return;
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
    std::vector<Side> sides;
    if (rank > 0) sides.push_back({rank - 1, rows.first, rows.first - 1, 0});
    if (rank + 1 < grid.hosts) sides.push_back({rank + 1, rows.last - 1, rows.last, 1});
    for (const Side& side : sides) {
      world.settle(side.host);  // the rows of the last turn have left `out_`
      const auto out = out_.at(side.number * width, width);
      std::ranges::copy(world.of(grid.place(array, rank, side.own)), world.of(out).begin());
      world.write_notify(side.host, out, inbox_.at((2 * turn + 1 - side.number) * width, width));
    }
    for (const Side& side : sides) {
      world.await(side.host);
      std::ranges::copy(world.of(inbox_.at((2 * turn + side.number) * width, width)),
                        world.of(grid.place(array, rank, side.theirs)).begin());
    }
  }

  void note_worst(World& world, std::size_t cycle) {
    const double worst = compute_residual(world, grids_.front());
    world.update(0, kWorstLock, worst_.at(cycle, 1), number_, [&](double& number) {
      const bool worse = worst > number;
      number = worst;
      return worse;
    });
  }

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

}  // namespace

double ocean_solution(std::uint64_t seed, double x, double y) {
  return waves(seed, x, y, [](const Wave&) { return 1.0; });
}

std::unique_ptr<Kernel> make_ocean(Layout& layout, int hosts, const Options& options) {
  return std::make_unique<Ocean>(layout, hosts, options);
}

}  // namespace rdma::sharedmemory
