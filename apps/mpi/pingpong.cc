// SPDX-License-Identifier: GPL-2.0
#include "pingpong.h"

#include <algorithm>

#include "require.h"
#include "pattern.h"

namespace rdma::mpibench {

namespace {

constexpr unsigned kWarmUp = 10;
constexpr std::uint64_t kBody = 77;  // the pattern behind the stamps of timed rounds

// One round: rank 0 speaks first.
void round_trip(const World& world, const Buffers& buffers) {
  if (world.rank() == 0) {
    send(buffers.out, 1, kData);
    receive(buffers.in, 1, kData);
  } else {
    receive(buffers.in, 0, kData);
    send(buffers.out, 0, kData);
  }
}

}  // namespace

std::vector<std::size_t> default_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size <= 1U << 20; size *= 4) {
    sizes.push_back(size);
  }
  return sizes;
}

unsigned rounds_of(const Options& options, std::size_t size) {
  constexpr std::size_t kVolume = 64U << 20;
  return options.rounds > 0 ? options.rounds
                            : static_cast<unsigned>(std::clamp<std::size_t>(
                                  kVolume / std::max<std::size_t>(size, 1), 20, 1000));
}

Samples ping_pong(const World& world, unsigned rounds, const Choose& choose) {
  const auto self = static_cast<unsigned>(world.rank());
  const auto partner = static_cast<unsigned>(world.partner());
  for (unsigned round = 0; round < kWarmUp; round++) {
    const Buffers buffers = choose(0);
    fill(buffers.out, self, round);
    fill(buffers.in, self, round + 1);
    round_trip(world, buffers);
    require(holds(buffers.in, partner, round), "a message of the warm-up arrived with wrong bytes");
  }
  Samples samples;
  for (unsigned round = 0; round < rounds; round++) {
    const Buffers buffers = choose(round);
    if (round == 0 || round + 1 == rounds) {
      fill(buffers.out, self, kBody);
    }
    stamp(buffers.out, round);
    const double begin = now_us();
    round_trip(world, buffers);
    if (self == 0) {
      samples.add(now_us() - begin);
    }
    require(stamped(buffers.in, round), "a message arrived with the number of another");
    if (round + 1 == rounds) {
      std::vector<std::byte> wanted(buffers.in.size());
      fill(wanted, partner, kBody);
      stamp(wanted, round);
      require(std::ranges::equal(buffers.in, wanted), "the last message arrived with wrong bytes");
    }
  }
  return samples;
}

unsigned window_of(std::size_t size) {
  constexpr std::size_t kVolume = 1U << 20;
  return static_cast<unsigned>(
      std::clamp<std::size_t>(kVolume / std::max<std::size_t>(size, 1), 4, 64));
}

double gap_of(const World& world, std::size_t size, unsigned rounds) {
  const unsigned window = window_of(size);
  std::vector<std::byte> memory(window * size);
  std::vector<MPI_Request> requests(window);
  const auto slot = [&](unsigned index) { return std::span(memory).subspan(index * size, size); };
  Samples samples;
  fill(memory, 0, kBody);
  for (unsigned round = 0; round < rounds; round++) {
    if (world.rank() == 0) {
      for (unsigned i = 0; i < window; i++) {
        stamp(slot(i), round + i);
      }
      await(1);  // its receives are posted
      const double begin = now_us();
      for (unsigned i = 0; i < window; i++) {
        MPI_Isend(slot(i).data(), static_cast<int>(size), MPI_BYTE, 1, kData, MPI_COMM_WORLD,
                  &requests[i]);
      }
      MPI_Waitall(static_cast<int>(window), requests.data(), MPI_STATUSES_IGNORE);
      await(1);
      samples.add((now_us() - begin) / window);
    } else {
      for (unsigned i = 0; i < window; i++) {
        MPI_Irecv(slot(i).data(), static_cast<int>(size), MPI_BYTE, 0, kData, MPI_COMM_WORLD,
                  &requests[i]);
      }
      signal(0);
      MPI_Waitall(static_cast<int>(window), requests.data(), MPI_STATUSES_IGNORE);
      signal(0);
      for (unsigned i = 0; i < window; i++) {
        require(stamped(slot(i), round + i), "a message of a stream came out of its order");
      }
    }
  }
  return world.rank() == 0 ? samples.median() : 0;
}

}  // namespace rdma::mpibench
