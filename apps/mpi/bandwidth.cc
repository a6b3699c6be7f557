// SPDX-License-Identifier: GPL-2.0
// Bytes a second between two ranks: one way, both ways in turn, and both ways at once.
#include <algorithm>

#include "experiment.h"
#include "require.h"
#include "pattern.h"
#include "pingpong.h"

namespace rdma::mpibench {

namespace {

constexpr std::uint64_t kFirst = 5;  // the pattern of the first message of a window

// Both ranks send a window of messages and receive one, at the same time. Megabytes a second that
// both sent together, on rank 0; the median of the rounds. Every byte is checked, outside the time.
double at_once(const World& world, std::size_t size, unsigned rounds) {
  const unsigned window = window_of(size);
  const auto self = static_cast<unsigned>(world.rank());
  const auto partner = static_cast<unsigned>(world.partner());
  std::vector<std::byte> out(window * size);
  std::vector<std::byte> in(window * size);
  std::vector<MPI_Request> requests(2UL * window);
  Samples samples;
  for (unsigned round = 0; round < rounds; round++) {
    fill(out, self, kFirst + round);
    std::ranges::fill(in, std::byte{0});
    for (unsigned i = 0; i < window; i++) {
      MPI_Irecv(in.data() + i * size, static_cast<int>(size), MPI_BYTE, world.partner(), kData,
                MPI_COMM_WORLD, &requests[i]);
    }
    signal(world.partner());
    await(world.partner());
    const double begin = now_us();
    for (unsigned i = 0; i < window; i++) {
      MPI_Isend(out.data() + i * size, static_cast<int>(size), MPI_BYTE, world.partner(), kData,
                MPI_COMM_WORLD, &requests[window + i]);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    signal(world.partner());
    await(world.partner());
    samples.add(now_us() - begin);
    require(holds(in, partner, kFirst + round), "bytes of two streams at once are wrong");
  }
  return 2.0 * window * static_cast<double>(size) / samples.median();
}

}  // namespace

void bandwidth(const Options& options, const World& world) {
  for (const std::size_t size : options.sizes.empty() ? default_sizes() : options.sizes) {
    require(size > 0, "messages without bytes have no bandwidth");
    if (world.measures()) {
      const unsigned rounds = std::max(3U, rounds_of(options, size) / window_of(size));
      const auto bytes = static_cast<double>(size);
      const double gap = gap_of(world, size, rounds);
      std::vector<std::byte> out(size);
      std::vector<std::byte> in(size);
      const Samples trips =
          ping_pong(world, std::max(10U, rounds_of(options, size) / 4), [&](unsigned) {
            return Buffers{out, in};
          });
      const double both = at_once(world, size, rounds);
      if (world.rank() == 0) {
        world.write(Record()
                        .add("experiment", "bandwidth")
                        .add("size", bytes)
                        .add("oneway_mb_s", bytes / gap)
                        .add("in_turn_mb_s", 2 * bytes / trips.median())
                        .add("at_once_mb_s", both));
      }
    }
    world.barrier();
  }
}

}  // namespace rdma::mpibench
