// SPDX-License-Identifier: GPL-2.0
// Bodies that pull each other, by Barnes and Hut. Each host has some bodies and makes the tree of
// all. Bodies are taken in bunches, under a lock: who has done its own helps the others.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel.h"
#include "octree.h"

namespace rdma::sharedmemory {

class Barnes : public Kernel {
 public:
  static constexpr std::size_t kMostBodies = std::size_t{1} << 22;

  // `bodies`, at least one for each host, over `steps` of time. Throws Failure (kInput) otherwise.
  Barnes(Layout& layout, int hosts, std::size_t bodies, std::size_t steps, std::uint64_t seed);

  void fill(World& world) override;
  void run(World& world) override;
  // Four numbers a body: where it is and its mass. Then the number of pulls that were added up.
  Result gather(World& world) override;

  static Body input(std::uint64_t seed, std::size_t count, std::size_t index);
  static constexpr double kStep = 0.01;  // of time

 private:
  static constexpr std::size_t kBunch = 16;  // bodies
  // Locks of Control.
  static constexpr std::size_t kNextLock = 0;
  static constexpr std::size_t kPullsLock = 1;

  void read_all(World& world);
  // Computes accelerations until nobody's bodies are left.
  void pull_all(World& world);
  // Takes the next bunch of a host's; its number, or kNone.
  std::size_t take(World& world, int host);
  void move(World& world);
  void add_pulls(World& world, std::uint64_t pulls);
  static constexpr std::size_t kNone = SIZE_MAX;

  std::size_t count_;
  std::size_t steps_;
  std::uint64_t seed_;
  Array<Body> bodies_;           // this host's
  Array<Vector> accelerations_;  // of this host's, by whoever took them
  Array<std::uint64_t> next_;    // the first of this host's bunches that nobody took
  Array<std::uint64_t> pulls_;   // on host 0: the sum of all
  Array<std::uint64_t> word_;    // where a word of another host is worked on
  Array<Body> all_;
  Array<Vector> results_;  // as `all_`, on their way
  std::vector<Vector> speeds_;
};

}  // namespace rdma::sharedmemory
