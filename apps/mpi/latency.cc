// SPDX-License-Identifier: GPL-2.0
// Half a round trip, by the size of the message.
#include "experiment.h"
#include "pingpong.h"

namespace rdma::mpibench {

void latency(const Options& options, const World& world) {
  for (const std::size_t size : options.sizes.empty() ? default_sizes() : options.sizes) {
    if (world.measures()) {
      std::vector<std::byte> out(size);
      std::vector<std::byte> in(size);
      const Samples trips = ping_pong(world, rounds_of(options, size), [&](unsigned) {
        return Buffers{out, in};
      });
      if (world.rank() == 0) {
        world.write(Record()
                        .add("experiment", "latency")
                        .add("size", static_cast<double>(size))
                        .add("median_us", trips.median() / 2)
                        .add("p99_us", trips.quantile(0.99) / 2)
                        .add("mean_us", trips.mean() / 2)
                        .add("rounds", static_cast<double>(trips.count())));
      }
    }
    world.barrier();
  }
}

}  // namespace rdma::mpibench
