// SPDX-License-Identifier: GPL-2.0
// Messages between the first two ranks: latency, bandwidth and the LogP parameters by size; latency
// by how many of the messages use a buffer again, and behind queues.
#include <functional>

#include "experiment.h"
#include "pattern.h"
#include "statistics.h"

namespace rdma::mpibench {
namespace {

constexpr unsigned kWarmUp = 10;
constexpr std::uint64_t kBody = 77;  // the pattern behind the stamps of timed rounds

// The sizes of the figures in papers: 1 byte to 1 MiB.
std::vector<std::size_t> default_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size <= 1U << 20; size *= 4) sizes.push_back(size);
  return sizes;
}

// Has the two ranks that measure do so for each size, and the others wait.
void measure(const World& world, const std::vector<std::size_t>& sizes,
             const std::function<void(std::size_t size)>& of_size) {
  for (const std::size_t size : sizes) {
    if (world.measures()) of_size(size);
    world.barrier();
  }
}

// Both ranks are here.
void meet(const World& world) {
  signal(world.partner());
  await(world.partner());
}

// The buffers of a round: what is sent from, and received to. Both have the message's size.
struct Buffers {
  std::span<std::byte> out;
  std::span<std::byte> in;
};
using Choose = std::function<Buffers(unsigned round)>;

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

// Sends a message and waits for the answer, `rounds` times after a warm-up whose every byte is
// checked. In timed rounds the first bytes are checked, and all of the last message. Returns the
// round trips, in microseconds; those of rank 0 count.
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
    if (round == 0 || round + 1 == rounds) fill(buffers.out, self, kBody);
    stamp(buffers.out, round);
    const double begin = now_us();
    round_trip(world, buffers);
    samples.add(now_us() - begin);
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

// The same with one buffer each way.
Samples ping_pong(const World& world, unsigned rounds, std::size_t size) {
  std::vector<std::byte> out(size);
  std::vector<std::byte> in(size);
  return ping_pong(world, rounds, [&](unsigned) { return Buffers{out, in}; });
}

// How many messages gap_of() keeps on the way.
unsigned window_of(std::size_t size) {
  constexpr std::size_t kVolume = 1U << 20;
  return static_cast<unsigned>(
      std::clamp<std::size_t>(kVolume / std::max<std::size_t>(size, 1), 4, 64));
}

// How long the first of `window` messages of `size` bytes takes until the last is confirmed,
// divided by `window`: the gap g, in microseconds. The median of `rounds` windows on rank 0, which
// sends.
double gap_of(const World& world, std::size_t size, unsigned rounds) {
  const unsigned window = window_of(size);
  std::vector<std::byte> memory(window * size);
  std::vector<MPI_Request> requests(window);
  const auto slot = [&](unsigned index) { return std::span(memory).subspan(index * size, size); };
  Samples samples;
  fill(memory, 0, kBody);
  for (unsigned round = 0; round < rounds; round++) {
    if (world.rank() == 0) {
      for (unsigned i = 0; i < window; i++) stamp(slot(i), round + i);
      await(1);  // its receives are posted
      const double begin = now_us();
      for (unsigned i = 0; i < window; i++) requests[i] = begin_send(slot(i), 1);
      wait_all(requests);
      await(1);
      samples.add((now_us() - begin) / window);
    } else {
      for (unsigned i = 0; i < window; i++) requests[i] = begin_receive(slot(i), 0);
      signal(0);
      wait_all(requests);
      signal(0);
      for (unsigned i = 0; i < window; i++)
        require(stamped(slot(i), round + i), "a message of a stream came out of its order");
    }
  }
  return world.rank() == 0 ? samples.median() : 0;
}

// Both ranks send a window of messages and receive one, at the same time. Megabytes a second that
// both sent together, on rank 0; the median of the rounds. Every byte is checked, outside the time.
double at_once(const World& world, std::size_t size, unsigned rounds) {
  constexpr std::uint64_t kFirst = 5;  // the pattern of the first message of a window
  const unsigned window = window_of(size);
  std::vector<std::byte> out(window * size);
  std::vector<std::byte> in(window * size);
  std::vector<MPI_Request> requests(2UL * window);
  Samples samples;
  for (unsigned round = 0; round < rounds; round++) {
    fill(out, static_cast<unsigned>(world.rank()), kFirst + round);
    std::ranges::fill(in, std::byte{0});
    for (unsigned i = 0; i < window; i++)
      requests[i] = begin_receive(std::span(in).subspan(i * size, size), world.partner());
    meet(world);
    const double begin = now_us();
    for (unsigned i = 0; i < window; i++)
      requests[window + i] = begin_send(std::span(out).subspan(i * size, size), world.partner());
    wait_all(requests);
    meet(world);
    samples.add(now_us() - begin);
    require(holds(in, static_cast<unsigned>(world.partner()), kFirst + round),
            "bytes of two streams at once are wrong");
  }
  return 2.0 * window * static_cast<double>(size) / samples.median();
}

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
    const double begin = now_us();
    MPI_Request request = begin_send(out, 1);
    const double posted = now_us();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (late) {
      constexpr double kPatience = 4;
      constexpr double kLeast = 300;
      compute("sleep", kLeast + kPatience * found.trip.median());
    }
    const double waiting = now_us();
    receive(in, 1, kData);
    const double done = now_us();
    require(holds(in, 1, size), "an answer arrived with wrong bytes");
    if (round < kWarmUp) continue;
    found.send.add(posted - begin);
    (late ? found.receive : found.trip).add(done - (late ? waiting : begin));
  }
  return found;
}

// Round trips of messages of which that percentage uses a buffer again.
Samples reusing(const Options& options, const World& world, std::size_t size, unsigned share) {
  constexpr std::size_t kMemory = 32U << 20;  // bytes of buffers each way
  const std::size_t most = kMemory / std::max<std::size_t>(size, 1);
  const auto rounds = static_cast<unsigned>(
      std::clamp<std::size_t>(options.rounds_for(size), 4, std::clamp<std::size_t>(most, 4, 400)));
  // Page by page apart, so that none shares a page with another.
  constexpr std::size_t kPage = 4096;
  const std::size_t stride = (size + kPage - 1) / kPage * kPage;
  std::vector<std::byte> out((rounds + 1) * stride + kPage);
  std::vector<std::byte> in((rounds + 1) * stride + kPage);
  std::size_t fresh = 0;
  return ping_pong(world, rounds, [&](unsigned round) {
    // Of any hundred rounds, `share` have the first buffer, as the warm-up, whose rounds are 0; the
    // others have one that no round had before.
    const bool again = (round + 1) * share / 100 > round * share / 100;
    const std::size_t at = round == 0 || again ? 0 : ++fresh;
    return Buffers{std::span(out).subspan(at * stride, size),
                   std::span(in).subspan(at * stride, size)};
  });
}

// Messages or receives that fill a queue of the partner's, or of this rank's.
class Filler {
 public:
  explicit Filler(unsigned length) : memory_(length * kBytes), requests_(length) {}

  void send_all(const World& world) {
    for (unsigned i = 0; i < requests_.size(); i++) {
      fill(slot(i), static_cast<unsigned>(world.rank()), i);
      send(slot(i), world.partner(), kFiller);
    }
  }
  void post_all(const World& world) {
    for (unsigned i = 0; i < requests_.size(); i++)
      requests_[i] = begin_receive(slot(i), world.partner(), kFiller);
  }
  // Waits for all that post_all() asked for, and checks it.
  void take_all(const World& world) {
    wait_all(requests_);
    for (unsigned i = 0; i < requests_.size(); i++) {
      require(holds(slot(i), static_cast<unsigned>(world.partner()), i),
              "a queued message came out of its order");
    }
  }

 private:
  static constexpr std::size_t kBytes = 8;

  std::span<std::byte> slot(unsigned index) {
    return std::span(memory_).subspan(index * kBytes, kBytes);
  }
  std::vector<std::byte> memory_;
  std::vector<MPI_Request> requests_;
};

// Both ranks' queues are `length` long while messages of `size` go to and fro: queues of messages
// that have arrived and that nobody has asked for, or of receives that wait for other messages.
Samples behind(const World& world, bool arrived, unsigned length, std::size_t size,
               unsigned rounds) {
  Filler queued(length);
  Filler sent(length);
  if (arrived)
    sent.send_all(world);
  else
    queued.post_all(world);
  // Messages of one sender do not overtake each other: behind this one all of them have come.
  meet(world);
  Samples trips = ping_pong(world, rounds, size);
  // No rank takes its queue down while the other still measures.
  meet(world);
  if (arrived)
    queued.post_all(world);
  else
    sent.send_all(world);
  queued.take_all(world);
  return trips;
}

void by_length(const Options& options, const World& world, bool arrived) {
  const std::vector<unsigned> lengths =
      options.lengths.empty() ? std::vector<unsigned>{0, 16, 64, 256, 1024} : options.lengths;
  measure(world, options.sizes_or({16, 4096}), [&](std::size_t size) {
    for (const unsigned length : lengths) {
      const Samples trips =
          behind(world, arrived, length, size, std::min(options.rounds_for(size), 300U));
      world.write(arrived ? "unexpected" : "posted", "size", size, "length", length, "median_us",
                  trips.median() / 2);
    }
  });
}

}  // namespace

void latency(const Options& options, const World& world) {
  measure(world, options.sizes_or(default_sizes()), [&](std::size_t size) {
    const Samples trips = ping_pong(world, options.rounds_for(size), size);
    world.write("latency", "size", size, "median_us", trips.median() / 2, "p99_us",
                trips.quantile(0.99) / 2, "mean_us", trips.mean() / 2, "rounds", trips.count());
  });
}

void bandwidth(const Options& options, const World& world) {
  measure(world, options.sizes_or(default_sizes()), [&](std::size_t size) {
    require(size > 0, "messages without bytes have no bandwidth");
    const unsigned rounds = std::max(3U, options.rounds_for(size) / window_of(size));
    const auto bytes = static_cast<double>(size);
    const double gap = gap_of(world, size, rounds);
    const Samples trips = ping_pong(world, std::max(10U, options.rounds_for(size) / 4), size);
    const double both = at_once(world, size, rounds);
    world.write("bandwidth", "size", bytes, "oneway_mb_s", bytes / gap, "in_turn_mb_s",
                2 * bytes / trips.median(), "at_once_mb_s", both);
  });
}

void logp(const Options& options, const World& world) {
  constexpr unsigned kMostRounds = 200;
  measure(world, options.sizes_or(default_sizes()), [&](std::size_t size) {
    const unsigned rounds = std::min(options.rounds_for(size), kMostRounds);
    const Overheads found = overheads(world, size, rounds);
    const double gap = gap_of(world, size, std::max(3U, rounds / window_of(size)));
    if (world.rank() == 0) {
      const LogP of =
          logp_of(found.send.median(), found.receive.median(), gap, found.trip.median());
      world.write("logp", "size", size, "os_us", of.send_overhead, "or_us", of.receive_overhead,
                  "gap_us", of.gap, "latency_us", of.latency);
    }
  });
}

// Where MPI sends from the memory of the program itself, a new buffer has to be registered with the
// device first.
void buffers(const Options& options, const World& world) {
  measure(world, options.sizes_or({4096, 65536, 262144, 1048576}), [&](std::size_t size) {
    for (const unsigned share : {0, 25, 50, 75, 100}) {
      const Samples trips = reusing(options, world, size, share);
      world.write("buffers", "size", size, "reuse_percent", share, "median_us", trips.median() / 2,
                  "mean_us", trips.mean() / 2);
    }
  });
}

void unexpected(const Options& options, const World& world) { by_length(options, world, true); }

void posted(const Options& options, const World& world) { by_length(options, world, false); }

}  // namespace rdma::mpibench
