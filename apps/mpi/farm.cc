// SPDX-License-Identifier: GPL-2.0
// Tasks dealt out to all ranks but the first: by messages, when a rank says that it is idle; or by
// one-sided calls, where each rank takes the next task's number from a counter of rank 0's and puts
// its result into rank 0's memory, which does nothing.
#include <algorithm>
#include <cstdint>

#include "experiment.h"
#include "require.h"
#include "window.h"

namespace rdma::mpibench {

namespace {

using Word = std::int64_t;
constexpr Word kNoMore = -1;
constexpr Word kSteps = 20000;  // of a task

// A task: the steps of many numbers to 1 by Collatz's rule, added up. Its result depends on each
// step.
Word work(Word task) {
  Word steps = 0;
  for (Word start = task * 50 + 1; steps < kSteps + task % 100; start++) {
    for (Word n = start; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1) {
      steps++;
    }
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
    if (task == kNoMore) {
      return;
    }
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
    if (task >= count) {
      return;
    }
    const Word value = work(task);
    MPI_Put(&value, 1, MPI_INT64_T, 0, 1 + task, 1, MPI_INT64_T, window.get());
    access.flush(0);
  }
}

}  // namespace

void farm(const Options& options, const World& world) {
  const auto count = static_cast<Word>(options.tasks);
  Window<Word> window(options.tasks + 1);
  const std::span<Word> results = window.values().subspan(1);
  world.barrier();
  const double begin = now_us();
  if (options.by == "onesided") {
    if (world.rank() != 0) {
      work_by_calls(window, count);
    }
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
    for (Word task = 0; task < count; task++) {
      good = good && results[static_cast<std::size_t>(task)] == work(task);
    }
    MPI_Win_unlock(0, window.get());
  }
  world.agree(good, "farm: the results of the workers are not those of one process");
  world.write(Record()
                  .add("experiment", "farm")
                  .add("by", options.by)
                  .add("ranks", world.size())
                  .add("tasks", options.tasks)
                  .add("task_us", took / options.tasks));
}

}  // namespace rdma::mpibench
