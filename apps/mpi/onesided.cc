// SPDX-License-Identifier: GPL-2.0
// What one-sided calls of rank 0 on rank 1's memory take, each with the flush that completes it.

#include "experiment.h"
#include "statistics.h"
#include "window.h"

namespace rdma::mpibench {
namespace {

using Word = std::int64_t;
constexpr std::size_t kWord = sizeof(Word);
constexpr Word kStart = 1000;

Word word_of(unsigned round, std::size_t at) { return static_cast<Word>(round * 7919UL + at); }

// One call on `words`, and its flush. Rank 1's window begins with them.
void call(std::string_view operation, std::vector<Word>& words, const Window<Word>& window,
          const Access& access) {
  const auto count = static_cast<int>(words.size());
  if (operation == "put") {
    MPI_Put(words.data(), count, MPI_INT64_T, 1, 0, count, MPI_INT64_T, window.get());
  } else if (operation == "get") {
    MPI_Get(words.data(), count, MPI_INT64_T, 1, 0, count, MPI_INT64_T, window.get());
  } else if (operation == "accumulate") {
    MPI_Accumulate(words.data(), count, MPI_INT64_T, 1, 0, count, MPI_INT64_T, MPI_SUM,
                   window.get());
  } else {
    const Word one = 1;
    MPI_Fetch_and_op(&one, words.data(), MPI_INT64_T, 1, 0, MPI_SUM, window.get());
  }
  access.flush(1);
}

// What rank 1's word must be after `rounds` calls.
Word expected(std::string_view operation, unsigned rounds, std::size_t at) {
  if (operation == "put") return word_of(rounds - 1, at);
  if (operation == "accumulate") {
    Word sum = kStart;
    for (unsigned round = 0; round < rounds; round++) sum += word_of(round, at);
    return sum;
  }
  return operation == "fetch" && at == 0 ? kStart + rounds : kStart;
}

Samples measure(const World& world, std::string_view operation, std::size_t count,
                unsigned rounds) {
  Window<Word> window(count);
  std::ranges::fill(window.values(), kStart);
  world.barrier();
  Samples samples;
  bool good = true;
  if (world.rank() == 0) {
    const Access access(window.get());
    std::vector<Word> words(count);
    for (unsigned round = 0; round < rounds; round++) {
      for (std::size_t at = 0; at < count; at++)
        words[at] = operation == "get" ? -1 : word_of(round, at);
      const double begin = now_us();
      call(operation, words, window, access);
      samples.add(now_us() - begin);
      if (operation == "get")
        good = good && std::ranges::all_of(words, [](Word word) { return word == kStart; });
      else if (operation == "fetch")
        good = good && words[0] == kStart + round;
    }
  }
  world.barrier();
  if (world.rank() == 1) {
    // What others did by one-sided calls is seen by this rank's own reads behind a lock.
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window.get());
    for (std::size_t at = 0; at < count; at++)
      good = good && window.values()[at] == expected(operation, rounds, at);
    MPI_Win_unlock(1, window.get());
  }
  world.agree(good, "one-sided " + std::string(operation) + " of " + std::to_string(count * kWord) +
                        " bytes left wrong words");
  return samples;
}

}  // namespace

void onesided(const Options& options, const World& world) {
  const std::vector<std::size_t> sizes = options.sizes_or({8, 64, 1024, 16384, 262144, 1048576});
  for (const auto& operation : options.operations_of({"put", "get", "accumulate", "fetch"})) {
    for (const std::size_t size : sizes) {
      require(size > 0 && size % kWord == 0,
              "one-sided calls are measured on words: take sizes that are multiples of 8");
      if (operation == "fetch" && size != sizes.front()) continue;  // it has one size
      const std::size_t count = operation == "fetch" ? 1 : size / kWord;
      const Samples samples =
          measure(world, operation, count, std::min(options.rounds_for(size), 300U));
      if (world.rank() == 0) {
        world.write("onesided", "operation", operation, "size", count * kWord, "median_us",
                    samples.median(), "p99_us", samples.quantile(0.99), "mean_us", samples.mean());
      }
    }
  }
}

}  // namespace rdma::mpibench
