// SPDX-License-Identifier: GPL-2.0
// How long a sum over all ranks takes, by the bytes that each adds: the mean of many in a row.

#include "experiment.h"

namespace rdma::mpibench {
namespace {

using Word = std::int64_t;
constexpr std::size_t kWord = sizeof(Word);
constexpr unsigned kWarmUp = 5;

Word addend(unsigned round, std::size_t at, int rank) {
  return static_cast<Word>(round * 7919UL + at) * (rank + 1);
}

// Sums once, and says whether the sums are right: rank r adds r + 1 times what rank 0 does.
bool sum_once(std::vector<Word>& own, std::vector<Word>& sum, unsigned round, const World& world) {
  const Word times = static_cast<Word>(world.size()) * (world.size() + 1) / 2;
  for (std::size_t at = 0; at < own.size(); at++) {
    own[at] = addend(round, at, world.rank());
  }
  MPI_Allreduce(own.data(), sum.data(), static_cast<int>(own.size()), MPI_INT64_T, MPI_SUM,
                MPI_COMM_WORLD);
  for (std::size_t at = 0; at < sum.size(); at++) {
    if (sum[at] != addend(round, at, 0) * times) {
      return false;
    }
  }
  return true;
}

}  // namespace

void allreduce(const Options& options, const World& world) {
  for (const std::size_t size : options.sizes_or({8, 1024, 65536})) {
    require(size > 0 && size % kWord == 0, "sums are of words: take sizes that are multiples of 8");
    std::vector<Word> own(size / kWord);
    std::vector<Word> sum(size / kWord);
    const unsigned rounds = options.rounds_for(size);
    bool good = true;
    for (unsigned round = 0; round < kWarmUp; round++) {
      good = sum_once(own, sum, round, world) && good;
    }
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
