// SPDX-License-Identifier: GPL-2.0
// Two programs on all ranks, by messages or by one-sided calls, whose results must be those of one
// process: halo to the last bit. And a sum over all ranks.
#include <algorithm>

#include "experiment.h"
#include "grid.h"
#include "window.h"

namespace rdma::mpibench {
namespace {

using Word = std::int64_t;

// The rows of this rank, twice: one holds this step, the other the next. A row of a neighbour's
// lies above and below each.
class Plate {
 public:
  Plate(const World& world, unsigned edge)
      : world_(world),
        columns_(edge),
        first_(share(world.rank()).first),
        rows_(share(world.rank()).second - first_),
        // As large on each rank, so that each knows where the others' rows lie.
        half_((static_cast<std::size_t>(edge) / static_cast<std::size_t>(world.size()) + 3) *
              columns_),
        window_(2 * half_) {
    for (std::size_t row = 1; row <= rows_; row++)
      for (std::size_t column = 0; column < columns_; column++)
        now()[row * columns_ + column] = heat_at_first(first_ + row - 1, column);
  }

  void step() {
    jacobi_step(now(), next(), rows_, columns_, up() == MPI_PROC_NULL, down() == MPI_PROC_NULL);
    odd_ = !odd_;
  }

  // Brings the neighbours' rows, for the next step.
  void exchange_by_messages() {
    const auto count = static_cast<int>(columns_);
    MPI_Sendrecv(row(1), count, MPI_DOUBLE, up(), kData, row(rows_ + 1), count, MPI_DOUBLE, down(),
                 kData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(rows_), count, MPI_DOUBLE, down(), kData, row(0), count, MPI_DOUBLE, up(),
                 kData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void exchange_by_puts() {
    const auto count = static_cast<int>(columns_);
    MPI_Win_fence(0, window_.get());
    if (up() != MPI_PROC_NULL) {
      const auto [first, last] = share(up());
      MPI_Put(row(1), count, MPI_DOUBLE, up(), place(last - first + 1), count, MPI_DOUBLE,
              window_.get());
    }
    if (down() != MPI_PROC_NULL)
      MPI_Put(row(rows_), count, MPI_DOUBLE, down(), place(0), count, MPI_DOUBLE, window_.get());
    MPI_Win_fence(0, window_.get());
  }

  std::span<double> own_rows() { return now().subspan(columns_, rows_ * columns_); }

 private:
  int up() const { return world_.rank() == 0 ? MPI_PROC_NULL : world_.rank() - 1; }
  int down() const {
    return world_.rank() + 1 == world_.size() ? MPI_PROC_NULL : world_.rank() + 1;
  }
  std::pair<std::size_t, std::size_t> share(int rank) const {
    return share_of(columns_, static_cast<std::size_t>(world_.size()),
                    static_cast<std::size_t>(rank));
  }
  std::span<double> now() { return window_.values().subspan(odd_ ? half_ : 0, half_); }
  std::span<double> next() { return window_.values().subspan(odd_ ? 0 : half_, half_); }
  double* row(std::size_t index) { return &now()[index * columns_]; }
  // Where a row of this step lies in any rank's window.
  MPI_Aint place(std::size_t index) const {
    return static_cast<MPI_Aint>((odd_ ? half_ : 0) + index * columns_);
  }

  const World& world_;
  std::size_t columns_;
  std::size_t first_;
  std::size_t rows_;
  std::size_t half_;
  Window<double> window_;
  bool odd_ = false;
};

// The same by one process.
std::vector<double> alone(unsigned edge, unsigned steps) {
  const std::size_t columns = edge;
  std::vector<double> now((columns + 2) * columns);
  for (std::size_t row = 0; row < columns; row++)
    for (std::size_t column = 0; column < columns; column++)
      now[(row + 1) * columns + column] = heat_at_first(row, column);
  std::vector<double> next = now;
  for (unsigned step = 0; step < steps; step++) {
    jacobi_step(now, next, columns, columns, true, true);
    std::swap(now, next);
  }
  return {now.begin() + static_cast<std::ptrdiff_t>(columns),
          now.end() - static_cast<std::ptrdiff_t>(columns)};
}

constexpr Word kNoMore = -1;
constexpr Word kSteps = 20000;  // of a task

// A task: the steps of many numbers to 1 by Collatz's rule, added up. Its result depends on each
// step.
Word work(Word task) {
  Word steps = 0;
  for (Word start = task * 50 + 1; steps < kSteps + task % 100; start++) {
    for (Word n = start; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) steps++;
    steps++;
  }
  return steps * 1000003 + task;
}

struct Result {
  Word task;
  Word value;
};

// Rank 0 of the farm by messages: an empty result asks for the first task.
void deal(const World& world, std::span<Word> results) {
  Word next = 0;
  const auto count = static_cast<Word>(results.size());
  for (int working = world.size() - 1; working > 0;) {
    Result result{};
    MPI_Status status;
    MPI_Recv(&result, 2, MPI_INT64_T, MPI_ANY_SOURCE, kData, MPI_COMM_WORLD, &status);
    if (result.task != kNoMore) {
      require(result.task >= 0 && result.task < count, "a worker did a task that there is not");
      results[static_cast<std::size_t>(result.task)] = result.value;
    }
    const Word task = next < count ? next++ : kNoMore;
    working -= task == kNoMore ? 1 : 0;
    MPI_Send(&task, 1, MPI_INT64_T, status.MPI_SOURCE, kControl, MPI_COMM_WORLD);
  }
}

void work_by_messages() {
  Result result{kNoMore, 0};
  while (true) {
    Word task = kNoMore;
    MPI_Sendrecv(&result, 2, MPI_INT64_T, 0, kData, &task, 1, MPI_INT64_T, 0, kControl,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (task == kNoMore) return;
    result = {task, work(task)};
  }
}

// The window's first word counts the tasks that were taken; the results are behind it.
void work_by_calls(const Window<Word>& window, Word count) {
  const Access access(window.get());
  const Word one = 1;
  while (true) {
    Word task = 0;
    MPI_Fetch_and_op(&one, &task, MPI_INT64_T, 0, 0, MPI_SUM, window.get());
    access.flush(0);
    if (task >= count) return;
    const Word value = work(task);
    MPI_Put(&value, 1, MPI_INT64_T, 0, 1 + task, 1, MPI_INT64_T, window.get());
    access.flush(0);
  }
}

Word addend(unsigned round, std::size_t at, int rank) {
  return static_cast<Word>(round * 7919UL + at) * (rank + 1);
}

// Sums once, and says whether the sums are right: rank r adds r + 1 times what rank 0 does.
bool sum_once(std::vector<Word>& own, std::vector<Word>& sum, unsigned round, const World& world) {
  const Word times = static_cast<Word>(world.size()) * (world.size() + 1) / 2;
  for (std::size_t at = 0; at < own.size(); at++) own[at] = addend(round, at, world.rank());
  MPI_Allreduce(own.data(), sum.data(), static_cast<int>(own.size()), MPI_INT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  for (std::size_t at = 0; at < sum.size(); at++)
    if (sum[at] != addend(round, at, 0) * times) return false;
  return true;
}

}  // namespace

// A 2-D Jacobi iteration: each rank has rows of a plate, and gets the row above and the row below
// its own from its neighbours in each step, by messages or by puts.
void halo(const Options& options, const World& world) {
  require(static_cast<unsigned>(world.size()) <= options.grid,
          "halo has fewer rows than there are ranks: make --grid larger");
  const bool puts = options.by == "onesided";
  Plate plate(world, options.grid);
  world.barrier();
  const double begin = now_us();
  for (unsigned step = 0; step < options.steps; step++) {
    if (puts)
      plate.exchange_by_puts();
    else
      plate.exchange_by_messages();
    plate.step();
  }
  world.barrier();
  const double took = now_us() - begin;

  const std::vector<double> wanted = alone(options.grid, options.steps);
  const auto [first, last] = share_of(options.grid, static_cast<std::size_t>(world.size()),
                                      static_cast<std::size_t>(world.rank()));
  const std::span<double> mine = plate.own_rows();
  const bool good =
      mine.size() == (last - first) * options.grid &&
      std::ranges::equal(mine, std::span(wanted).subspan(first * options.grid, mine.size()));
  world.agree(good, "halo: the plate of all ranks is not that of one process");
  world.write("halo", "by", options.by, "ranks", world.size(), "grid", options.grid, "steps",
              options.steps, "step_us", took / options.steps);
}

// Tasks dealt out to all ranks but the first: by messages, when a rank says that it is idle; or by
// one-sided calls, where each rank takes the next task's number from a counter of rank 0's and puts
// its result into rank 0's memory, which does nothing.
void farm(const Options& options, const World& world) {
  const auto count = static_cast<Word>(options.tasks);
  Window<Word> window(options.tasks + 1);
  const std::span<Word> results = window.values().subspan(1);
  world.barrier();
  const double begin = now_us();
  if (options.by == "onesided") {
    if (world.rank() != 0) work_by_calls(window, count);
  } else if (world.rank() == 0) {
    deal(world, results);
  } else {
    work_by_messages();
  }
  world.barrier();
  const double took = now_us() - begin;
  bool good = true;
  if (world.rank() == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.get());
    for (Word task = 0; task < count; task++)
      good = good && results[static_cast<std::size_t>(task)] == work(task);
    MPI_Win_unlock(0, window.get());
  }
  world.agree(good, "farm: the results of the workers are not those of one process");
  world.write("farm", "by", options.by, "ranks", world.size(), "tasks", options.tasks, "task_us",
              took / options.tasks);
}

// How long a sum over all ranks takes, by the bytes that each adds: the mean of many in a row.
void allreduce(const Options& options, const World& world) {
  constexpr unsigned kWarmUp = 5;
  constexpr std::size_t kWord = sizeof(Word);
  for (const std::size_t size : options.sizes_or({8, 1024, 65536})) {
    require(size > 0 && size % kWord == 0, "sums are of words: take sizes that are multiples of 8");
    std::vector<Word> own(size / kWord);
    std::vector<Word> sum(size / kWord);
    const unsigned rounds = options.rounds_for(size);
    bool good = true;
    for (unsigned round = 0; round < kWarmUp; round++)
      good = sum_once(own, sum, round, world) && good;
    // One behind the other, with nothing between: a start together would leave one rank ahead of
    // the other, and its message there already.
    world.barrier();
    const double begin = now_us();
    for (unsigned round = 0; round < rounds; round++) {
      MPI_Allreduce(own.data(), sum.data(), static_cast<int>(own.size()), MPI_INT64_T, MPI_SUM,
                    MPI_COMM_WORLD);
    }
    const double took = now_us() - begin;
    good = sum_once(own, sum, kWarmUp, world) && good;
    world.agree(good, "sums of " + std::to_string(size) + " bytes are wrong");
    world.write("allreduce", "size", size, "mean_us", took / rounds);
  }
}

}  // namespace rdma::mpibench
