// SPDX-License-Identifier: GPL-2.0
// Latency by how many of the messages use a buffer that was used before. Where MPI sends from the
// memory of the program itself, a new buffer has to be registered with the device first.
#include <algorithm>

#include "experiment.h"
#include "pingpong.h"

namespace rdma::mpibench {

namespace {

// The percentages of messages that use the first buffer again.
constexpr unsigned kShares[] = {0, 25, 50, 75, 100};
constexpr std::size_t kMemory = 32U << 20;  // bytes of buffers each way

// Which buffer of the pool a round has: the first, or one that no round had before it. Of any
// hundred rounds, `share` have the first.
class Turns {
 public:
  explicit Turns(unsigned share) : share_(share) {}

  std::size_t of(unsigned round) {
    if ((round + 1) * share_ / 100 > round * share_ / 100) {
      return 0;
    }
    return round == 0 ? 0 : ++fresh_;
  }

 private:
  unsigned share_;
  std::size_t fresh_ = 0;
};

}  // namespace

void buffers(const Options& options, const World& world) {
  const std::vector<std::size_t> sizes =
      options.sizes.empty() ? std::vector<std::size_t>{4096, 65536, 262144, 1048576}
                            : options.sizes;
  for (const std::size_t size : sizes) {
    for (const unsigned share : kShares) {
      if (world.measures()) {
        const std::size_t most = kMemory / std::max<std::size_t>(size, 1);
        const auto rounds = static_cast<unsigned>(std::clamp<std::size_t>(
            rounds_of(options, size), 4, std::clamp<std::size_t>(most, 4, 400)));
        // Page by page apart, so that none shares a page with another.
        constexpr std::size_t kPage = 4096;
        const std::size_t stride = (size + kPage - 1) / kPage * kPage;
        std::vector<std::byte> out((rounds + 1) * stride + kPage);
        std::vector<std::byte> in((rounds + 1) * stride + kPage);
        Turns turns(share);
        unsigned begun = 0;  // the warm-up asks for the first buffer alone
        const Samples trips = ping_pong(world, rounds, [&](unsigned round) {
          const std::size_t at = round == begun ? turns.of(begun++) : 0;
          return Buffers{std::span(out).subspan(at * stride, size),
                         std::span(in).subspan(at * stride, size)};
        });
        if (world.rank() == 0) {
          world.write(Record()
                          .add("experiment", "buffers")
                          .add("size", static_cast<double>(size))
                          .add("reuse_percent", share)
                          .add("median_us", trips.median() / 2)
                          .add("mean_us", trips.mean() / 2));
        }
      }
      world.barrier();
    }
  }
}

}  // namespace rdma::mpibench
