// SPDX-License-Identifier: GPL-2.0
// Latency when each message is matched behind a queue: of messages that have arrived and that
// nobody has asked for, or of receives that wait for other messages.
#include <algorithm>

#include "experiment.h"
#include "require.h"
#include "pattern.h"
#include "pingpong.h"

namespace rdma::mpibench {

namespace {

constexpr std::size_t kFillerBytes = 8;

// Messages or receives that fill a queue of the partner's, or of this rank's.
class Filler {
 public:
  explicit Filler(unsigned length) : memory_(length * kFillerBytes), requests_(length) {}

  void send_all(const World& world) {
    for (unsigned i = 0; i < requests_.size(); i++) {
      fill(slot(i), static_cast<unsigned>(world.rank()), i);
      send(slot(i), world.partner(), kFiller);
    }
  }
  void post_all(const World& world) {
    for (unsigned i = 0; i < requests_.size(); i++) {
      MPI_Irecv(slot(i).data(), kFillerBytes, MPI_BYTE, world.partner(), kFiller, MPI_COMM_WORLD,
                &requests_[i]);
    }
  }
  // Waits for all that post_all() asked for, and checks it.
  void take_all(const World& world) {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (unsigned i = 0; i < requests_.size(); i++) {
      require(holds(slot(i), static_cast<unsigned>(world.partner()), i),
              "a queued message came out of its order");
    }
  }

 private:
  std::span<std::byte> slot(unsigned index) {
    return std::span(memory_).subspan(index * kFillerBytes, kFillerBytes);
  }
  std::vector<std::byte> memory_;
  std::vector<MPI_Request> requests_;
};

// Both ranks' queues are `length` long while messages of `size` go to and fro.
Samples behind(const World& world, bool arrived, unsigned length, std::size_t size,
               unsigned rounds) {
  std::vector<std::byte> out(size);
  std::vector<std::byte> in(size);
  Filler queued(length);
  Filler sent(length);
  const Choose choose = [&](unsigned) { return Buffers{out, in}; };
  if (arrived) {
    sent.send_all(world);
  } else {
    queued.post_all(world);
  }
  // Messages of one sender do not overtake each other: behind this one all of them have come.
  signal(world.partner());
  await(world.partner());
  Samples trips = ping_pong(world, rounds, choose);
  // No rank takes its queue down while the other still measures.
  signal(world.partner());
  await(world.partner());
  if (arrived) {
    queued.post_all(world);
  } else {
    sent.send_all(world);
  }
  queued.take_all(world);
  return trips;
}

void by_length(const Options& options, const World& world, bool arrived) {
  const std::vector<unsigned> lengths =
      options.lengths.empty() ? std::vector<unsigned>{0, 16, 64, 256, 1024} : options.lengths;
  const std::vector<std::size_t> sizes =
      options.sizes.empty() ? std::vector<std::size_t>{16, 4096} : options.sizes;
  for (const std::size_t size : sizes) {
    for (const unsigned length : lengths) {
      if (world.measures()) {
        const Samples trips =
            behind(world, arrived, length, size, std::min(rounds_of(options, size), 300U));
        if (world.rank() == 0) {
          world.write(Record()
                          .add("experiment", arrived ? "unexpected" : "posted")
                          .add("size", static_cast<double>(size))
                          .add("length", length)
                          .add("median_us", trips.median() / 2));
        }
      }
      world.barrier();
    }
  }
}

}  // namespace

void unexpected(const Options& options, const World& world) {
  by_length(options, world, true);
}

void posted(const Options& options, const World& world) {
  by_length(options, world, false);
}

}  // namespace rdma::mpibench
