// SPDX-License-Identifier: GPL-2.0
// The parameters of the LogP model by size.
#include <algorithm>
#include <chrono>
#include <thread>

#include "experiment.h"
#include "require.h"
#include "pattern.h"
#include "pingpong.h"

namespace rdma::mpibench {

namespace {

constexpr unsigned kWarmUp = 10;
constexpr unsigned kMostRounds = 200;

struct Overheads {
  Samples send;
  Samples receive;
  Samples trip;
};

// Every second round rank 0 stays away until the answer must be here, and then takes it: what that
// takes is or. It does not go on by itself where MPI makes no progress outside its calls, which is
// part of what or means there.
Overheads overheads(const World& world, std::size_t size, unsigned rounds) {
  std::vector<std::byte> out(size);
  std::vector<std::byte> in(size);
  fill(out, static_cast<unsigned>(world.rank()), size);
  Overheads found;
  for (unsigned round = 0; round < kWarmUp + 2 * rounds; round++) {
    if (world.rank() == 1) {
      receive(in, 0, kData);
      require(holds(in, 0, size), "a message arrived with wrong bytes");
      send(out, 0, kData);
      continue;
    }
    const bool late = round >= kWarmUp && round % 2 == 1;
    MPI_Request request = MPI_REQUEST_NULL;
    const double begin = now_us();
    MPI_Isend(out.data(), static_cast<int>(size), MPI_BYTE, 1, kData, MPI_COMM_WORLD, &request);
    const double posted = now_us();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (late) {
      constexpr double kPatience = 4;
      constexpr double kLeast = 300;
      std::this_thread::sleep_for(
          std::chrono::duration<double, std::micro>(kLeast + kPatience * found.trip.median()));
    }
    const double waiting = now_us();
    receive(in, 1, kData);
    const double done = now_us();
    require(holds(in, 1, size), "an answer arrived with wrong bytes");
    if (round < kWarmUp) {
      continue;
    }
    found.send.add(posted - begin);
    (late ? found.receive : found.trip).add(done - (late ? waiting : begin));
  }
  return found;
}

}  // namespace

void logp(const Options& options, const World& world) {
  for (const std::size_t size : options.sizes.empty() ? default_sizes() : options.sizes) {
    if (world.measures()) {
      const unsigned rounds = std::min(rounds_of(options, size), kMostRounds);
      const Overheads found = overheads(world, size, rounds);
      const double gap = gap_of(world, size, std::max(3U, rounds / window_of(size)));
      if (world.rank() == 0) {
        const LogP of =
            logp_of(found.send.median(), found.receive.median(), gap, found.trip.median());
        world.write(Record()
                        .add("experiment", "logp")
                        .add("size", static_cast<double>(size))
                        .add("os_us", of.send_overhead)
                        .add("or_us", of.receive_overhead)
                        .add("gap_us", of.gap)
                        .add("latency_us", of.latency));
      }
    }
    world.barrier();
  }
}

}  // namespace rdma::mpibench
