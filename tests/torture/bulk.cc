// SPDX-License-Identifier: GPL-2.0
// Transfers whose every byte is verified, over a wire that may do what it likes.
#include <cstdio>

#include "parts.h"
#include "transfer.h"

namespace rdma::torture {

namespace {

// A lossy wire makes TCP wait; not for as long as that.
constexpr std::chrono::seconds kPatience{180};

}  // namespace

void bulk(const Options& options) {
  const Connector connector = connector_of(options);
  Shape shape;
  shape.arena = kArena;
  std::mt19937_64 random(options.seed);
  const std::uint64_t wanted = options.megabytes << 20;
  std::uint64_t bytes = 0;
  std::uint64_t transfers = 0;
  std::uint64_t connections = 0;
  std::uint64_t said = 0;
  std::string why;
  const Deadline least{std::chrono::seconds(options.least)};
  const auto enough = [&] { return bytes >= wanted && least.over(); };
  while (why.empty() && !enough()) {
    try {
      const Pair pair = connector.connect(shape);
      ++connections;
      while (!enough()) {
        const bool back = random() % 2 != 0;
        Endpoint& from = back ? *pair.server : *pair.client;
        Endpoint& to = back ? *pair.client : *pair.server;
        const Way way = any_way(random);
        try {
          transfer(from, to, way, random, kPatience);
        } catch (const Broken& broken) {
          check_around(to.memory(), way.target, "the target's");
          if (!options.breaks) {
            throw Failure(broken.what());
          }
          std::printf("# connection %llu broke: %s\n", static_cast<unsigned long long>(connections),
                      broken.what());
          break;
        }
        to.memory().check(way.target, "the target's");
        bytes += way.source[0].length;
        if (++transfers % 64 == 0) {
          from.memory().check({}, "the source's");
          to.memory().check({}, "the target's");
        }
        if (bytes >> 24 != said) {
          said = bytes >> 24;
          std::printf("# %llu of %llu MB\n", static_cast<unsigned long long>(bytes >> 20),
                      static_cast<unsigned long long>(options.megabytes));
          std::fflush(stdout);
        }
      }
    } catch (const Failure& failure) {
      why = failure.what();
    }
  }
  report("verified transfers" + (options.only.empty() ? "" : ": " + options.only), transfers,
         std::to_string(bytes >> 20) + " MB over " + std::to_string(connections) +
             " connections, no wrong byte",
         why);
}

}  // namespace rdma::torture
