// SPDX-License-Identifier: GPL-2.0
// How much of a transfer is hidden behind computing of one end, and what the other end waits for
// while it computes.

#include "experiment.h"
#include "pattern.h"
#include "statistics.h"
#include "window.h"

namespace rdma::mpibench {
namespace {

constexpr unsigned kMostRounds = 50;
constexpr unsigned kFewestRounds = 5;

unsigned few_rounds(const Options& options, std::size_t size) {
  return std::clamp(options.rounds_for(size) / 4, kFewestRounds, kMostRounds);
}

// Transfers of one size from rank 0 (sending) or to it, in which rank 0 computes for `microseconds`
// between the beginning and MPI_Wait(). Returns the times until both ends have the whole of it.
Samples transfers(const World& world, bool sending, std::size_t size, unsigned rounds,
                  std::string_view how, double microseconds) {
  const int sender = sending ? 0 : 1;
  std::vector<std::byte> bytes(size);
  Samples samples;
  for (unsigned round = 0; round < rounds; round++) {
    const bool sends = world.rank() == sender;
    if (sends) fill(bytes, static_cast<unsigned>(sender), round);
    if (world.rank() == 1) {
      await(0);
      if (sends) {
        send(bytes, 0, kData);
      } else {
        receive(bytes, 0, kData);
        signal(0);
      }
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      const double begin = now_us();
      if (sends) {
        signal(1);
        request = begin_send(bytes, 1);
      } else {
        request = begin_receive(bytes, 1);
        signal(1);
      }
      if (microseconds > 0) compute(how, microseconds);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (sends) await(1);
      samples.add(now_us() - begin);
    }
    require(sends || holds(bytes, static_cast<unsigned>(sender), round),
            "an overlapped message arrived with wrong bytes");
  }
  return samples;
}

// How long computing for so long really takes: a sleep ends late.
double really(std::string_view how, double microseconds) {
  constexpr unsigned kTries = 9;
  Samples samples;
  for (unsigned i = 0; i < kTries; i++) {
    const double begin = now_us();
    compute(how, microseconds);
    samples.add(now_us() - begin);
  }
  return samples.median();
}

// Rank 0 gets ready for a transfer of rank 1's and then computes for `delay` microseconds. Returns
// how long rank 1 needed for it. By a put, rank 0's memory is ready all the time.
Samples waited(const Options& options, const World& world, bool put, std::size_t size,
               unsigned rounds, unsigned delay) {
  constexpr double kHeadStart = 300;  // microseconds until rank 0 is away
  Window<std::byte> window(size);
  std::vector<std::byte> bytes(size);
  Samples samples;
  for (unsigned round = 0; round < rounds; round++) {
    world.barrier();
    if (world.rank() == 0) {
      MPI_Request request = put ? MPI_REQUEST_NULL : begin_receive(bytes, 1);
      signal(1);
      compute(options.compute, kHeadStart + delay);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (world.rank() == 1) {
      fill(bytes, 1, round);
      await(0);
      compute(options.compute, kHeadStart / 2);
      const double begin = now_us();
      if (put) {
        const Access access(window.get());
        MPI_Put(bytes.data(), static_cast<int>(size), MPI_BYTE, 0, 0, static_cast<int>(size),
                MPI_BYTE, window.get());
        access.flush(0);
        samples.add(now_us() - begin);
      } else {
        send(bytes, 0, kData);
        samples.add(now_us() - begin);
      }
    }
    world.barrier();
    bool good = true;
    if (world.rank() == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.get());
      good = holds(put ? window.values() : std::span<std::byte>(bytes), 1, round);
      MPI_Win_unlock(0, window.get());
    }
    world.agree(good, "what a computing rank was sent arrived with wrong bytes");
  }
  return samples;
}

}  // namespace

void overlapping(const Options& options, const World& world) {
  for (const auto& operation : options.operations_of({"send", "receive"})) {
    const bool sending = operation == "send";
    for (const std::size_t size : options.sizes_or({1024, 16384, 262144, 1048576})) {
      if (world.measures()) {
        const unsigned rounds = few_rounds(options, size);
        transfers(world, sending, size, kFewestRounds, options.compute, 0);  // warm-up
        const Samples alone = transfers(world, sending, size, rounds, options.compute, 0);
        const double wanted = world.rank() == 0 ? alone.median() : 0;
        const Samples both = transfers(world, sending, size, rounds, options.compute, wanted);
        if (world.rank() == 0) {
          const double computing = really(options.compute, wanted);
          world.write("overlap", "operation", operation, "size", size, "transfer_us",
                      alone.median(), "computing_us", computing, "both_us", both.median(),
                      "overlap_percent", 100 * overlap(alone.median(), computing, both.median()));
        }
      }
      world.barrier();
    }
  }
}

void progress(const Options& options, const World& world) {
  const std::vector<unsigned> delays =
      options.delays.empty() ? std::vector<unsigned>{0, 1000, 5000, 20000} : options.delays;
  for (const auto& operation : options.operations_of({"send", "put"})) {
    for (const std::size_t size : options.sizes_or({1024, 262144})) {
      for (const unsigned delay : delays) {
        const Samples samples = waited(options, world, operation == "put", size,
                                       std::min(few_rounds(options, size), 10U), delay);
        double median = world.rank() == 1 ? samples.median() : 0;
        MPI_Bcast(&median, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
        world.write("progress", "operation", operation, "size", size, "delay_us", delay,
                    "partner_us", median);
      }
    }
  }
}

}  // namespace rdma::mpibench
