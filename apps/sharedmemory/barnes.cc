// SPDX-License-Identifier: GPL-2.0
// Bodies that pull each other, by Barnes and Hut. Each host has some bodies and makes the tree of
// all. Bodies are taken in bunches, under a lock: a host that has done its own helps the others.
#include "options.h"

namespace rdma::sharedmemory {
namespace {

constexpr std::size_t kMostBodies = std::size_t{1} << 22;
constexpr double kStep = 0.01;      // of time
constexpr std::size_t kBunch = 16;  // bodies
// Locks of Control.
constexpr std::size_t kNextLock = 0;
constexpr std::size_t kPullsLock = 1;

class Barnes : public Kernel {
 public:
  Barnes(Layout& layout, int hosts, const Options& options)
      : count_(options.size), steps_(options.steps), seed_(options.seed) {
    refuse_if(count_ < static_cast<std::size_t>(hosts) || count_ > kMostBodies, Cause::kInput,
              "barnes: --size is a number of bodies from ", hosts, " to ", kMostBodies, ", not ",
              count_);
    const std::size_t most = Part::most(count_, hosts);
    bodies_ = layout.map<Body>(most);
    accelerations_ = layout.map<Vector>(most);
    next_ = layout.map<std::uint64_t>(1);
    pulls_ = layout.map<std::uint64_t>(1);
    word_ = layout.map<std::uint64_t>(1);
    all_ = layout.map<Body>(count_);
    results_ = layout.map<Vector>(count_);
  }

  void fill(World& world) override {
    const Part part = world.part(count_);
    const auto mine = world.of(bodies_);
    speeds_.resize(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      mine[i] = barnes_input(seed_, count_, part.first + i);
      // All turn about an axis.
      speeds_[i] = {-mine[i].at.y / 2, mine[i].at.x / 2, 0};
    }
  }

  void run(World& world) override {
    for (std::size_t step = 0; step < steps_; ++step) {
      read_all(world);
      pull_all(world);
      world.barrier();
      move(world);
      world.barrier();
      world.progress("step of time", step + 1, steps_);
    }
  }

  // Four numbers a body: where it is and its mass. Then the number of pulls that were added up.
  Result gather(World& world) override {
    constexpr std::size_t kNumbers = sizeof(Body) / sizeof(double);
    Result result = Result::with_room<double>(count_ * kNumbers + 1);
    read_all(world);
    result.put(0, world.of(all_));
    world.fetch(0, pulls_.all(), word_.all());
    double pulls = static_cast<double>(world.of(word_)[0]);
    result.put(count_ * kNumbers, std::span(&pulls, 1));
    return result;
  }

 private:
  void read_all(World& world) {
    for (int step = 0; step < world.hosts(); ++step) {
      const int host = world.host_after(step);
      const Part part = world.part(count_, host);
      world.read(host, bodies_.at(0, part.size()), all_.at(part.first, part.size()));
    }
    world.fence();
  }

  // Takes the next bunch of a host's bodies; its number, if one is left.
  std::optional<std::size_t> take(World& world, int host) {
    std::optional<std::size_t> taken;
    world.update(host, kNextLock, next_.all(), word_, [&](std::uint64_t& next) {
      if (next < (world.part(count_, host).size() + kBunch - 1) / kBunch) taken = next++;
      return taken.has_value();
    });
    return taken;
  }

  // Computes accelerations until nobody's bodies are left, and adds the pulls to host 0's sum.
  void pull_all(World& world) {
    const Octree tree(world.of(all_));
    std::uint64_t pulls = 0;
    for (int step = 0; step < world.hosts(); ++step) {
      const int host = world.host_after(step);
      const Part part = world.part(count_, host);
      while (const auto bunch = take(world, host)) {
        const std::size_t first = *bunch * kBunch;
        const std::size_t some = std::min(kBunch, part.size() - first);
        const auto results = results_.at(part.first + first, some);
        for (std::size_t i = 0; i < some; ++i)
          world.of(results)[i] = tree.acceleration(part.first + first + i, pulls);
        world.write(host, results, accelerations_.at(first, some));
      }
    }
    world.update(0, kPullsLock, pulls_.all(), word_, [&](std::uint64_t& sum) {
      sum += pulls;
      return true;
    });
  }

  void move(World& world) {
    const auto bodies = world.of(bodies_);
    const auto accelerations = world.of(accelerations_);
    for (std::size_t i = 0; i < speeds_.size(); ++i) {
      speeds_[i].add(kStep, accelerations[i]);
      bodies[i].at.add(kStep, speeds_[i]);
    }
    world.of(next_)[0] = 0;
  }

  std::size_t count_;
  std::size_t steps_;
  std::uint64_t seed_;
  Array<Body> bodies_;           // this host's
  Array<Vector> accelerations_;  // of this host's, by the hosts that took them
  Array<std::uint64_t> next_;    // the first of this host's bunches that nobody took
  Array<std::uint64_t> pulls_;   // on host 0: the sum of all
  Array<std::uint64_t> word_;    // where a word of another host is worked on
  Array<Body> all_;
  Array<Vector> results_;  // as `all_`, on their way
  std::vector<Vector> speeds_;
};

}  // namespace

Body barnes_input(std::uint64_t seed, std::size_t count, std::size_t index) {
  constexpr std::size_t kNumbers = 3;
  const auto coordinate = [&](std::size_t number) {
    // The sum of several is denser in the middle.
    double sum = -1.5;
    for (std::size_t i = 0; i < kNumbers; ++i)
      sum += random_unit(seed, (index * kNumbers + number) * kNumbers + i);
    return sum;
  };
  return {{coordinate(0), coordinate(1), coordinate(2)}, 1.0 / static_cast<double>(count)};
}

std::unique_ptr<Kernel> make_barnes(Layout& layout, int hosts, const Options& options) {
  return std::make_unique<Barnes>(layout, hosts, options);
}

}  // namespace rdma::sharedmemory
