// SPDX-License-Identifier: GPL-2.0
#include "barnes.h"

#include <algorithm>

#include "barrier.h"
#include "failure.h"
#include "lock.h"
#include "random.h"

namespace rdma::sharedmemory {

Barnes::Barnes(Layout& layout, int hosts, std::size_t bodies, std::size_t steps, std::uint64_t seed)
    : count_(bodies), steps_(steps), seed_(seed) {
  if (bodies < static_cast<std::size_t>(hosts) || bodies > kMostBodies) {
    throw Failure(Cause::kInput, "barnes: --size is a number of bodies from " +
                                     std::to_string(hosts) + " to " + std::to_string(kMostBodies) +
                                     ", not " + std::to_string(bodies));
  }
  const std::size_t most = Part::most(bodies, hosts);
  bodies_ = layout.map<Body>(most);
  accelerations_ = layout.map<Vector>(most);
  next_ = layout.map<std::uint64_t>(1);
  pulls_ = layout.map<std::uint64_t>(1);
  word_ = layout.map<std::uint64_t>(1);
  all_ = layout.map<Body>(bodies);
  results_ = layout.map<Vector>(bodies);
}

Body Barnes::input(std::uint64_t seed, std::size_t count, std::size_t index) {
  constexpr std::size_t kNumbers = 3;
  const auto coordinate = [&](std::size_t number) {
    // The sum of several is denser in the middle.
    double sum = -1.5;
    for (std::size_t i = 0; i < kNumbers; ++i) {
      sum += random_unit(seed, (index * kNumbers + number) * kNumbers + i);
    }
    return sum;
  };
  return {{coordinate(0), coordinate(1), coordinate(2)}, 1.0 / static_cast<double>(count)};
}

void Barnes::fill(World& world) {
  const Part part = Part::of(count_, world.hosts(), world.rank());
  const auto mine = world.of(bodies_);
  speeds_.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    mine[i] = input(seed_, count_, part.first + i);
    // All turn about an axis.
    speeds_[i] = {-mine[i].at.y / 2, mine[i].at.x / 2, 0};
  }
}

void Barnes::read_all(World& world) {
  for (int step = 0; step < world.hosts(); ++step) {
    const int host = (world.rank() + step) % world.hosts();
    const Part part = Part::of(count_, world.hosts(), host);
    world.read(host, bodies_.at(0, part.size()), all_.at(part.first, part.size()));
  }
  world.fence();
}

std::size_t Barnes::take(World& world, int host) {
  const std::size_t bodies = Part::of(count_, world.hosts(), host).size();
  Lock lock(world, host, kNextLock);
  lock.acquire();
  world.read(host, next_.all(), word_.all());
  world.fence();
  std::uint64_t& word = world.of(word_)[0];
  const std::uint64_t taken = word;
  const bool some = taken < (bodies + kBunch - 1) / kBunch;
  if (some) {
    word = taken + 1;
    world.write(host, word_.all(), next_.all());
  }
  lock.release();
  return some ? taken : kNone;
}

void Barnes::pull_all(World& world) {
  const Octree tree(world.of(all_));
  std::uint64_t pulls = 0;
  for (int step = 0; step < world.hosts(); ++step) {
    const int host = (world.rank() + step) % world.hosts();
    const Part part = Part::of(count_, world.hosts(), host);
    for (auto bunch = take(world, host); bunch != kNone; bunch = take(world, host)) {
      const std::size_t first = bunch * kBunch;
      const std::size_t some = std::min(kBunch, part.size() - first);
      const auto results = results_.at(part.first + first, some);
      for (std::size_t i = 0; i < some; ++i) {
        world.of(results)[i] = tree.acceleration(part.first + first + i, pulls);
      }
      world.write(host, results, accelerations_.at(first, some));
    }
  }
  add_pulls(world, pulls);
}

void Barnes::add_pulls(World& world, std::uint64_t pulls) {
  Lock lock(world, 0, kPullsLock);
  lock.acquire();
  world.read(0, pulls_.all(), word_.all());
  world.fence();
  world.of(word_)[0] += pulls;
  world.write(0, word_.all(), pulls_.all());
  lock.release();
}

void Barnes::move(World& world) {
  const auto bodies = world.of(bodies_);
  const auto accelerations = world.of(accelerations_);
  for (std::size_t i = 0; i < speeds_.size(); ++i) {
    Vector& speed = speeds_[i];
    speed.x += kStep * accelerations[i].x;
    speed.y += kStep * accelerations[i].y;
    speed.z += kStep * accelerations[i].z;
    Vector& at = bodies[i].at;
    at.x += kStep * speed.x;
    at.y += kStep * speed.y;
    at.z += kStep * speed.z;
  }
  world.of(next_)[0] = 0;
}

void Barnes::run(World& world) {
  for (std::size_t step = 0; step < steps_; ++step) {
    read_all(world);
    pull_all(world);
    barrier(world);
    move(world);
    barrier(world);
    world.progress("step of time", step + 1, steps_);
  }
}

Result Barnes::gather(World& world) {
  constexpr std::size_t kNumbers = sizeof(Body) / sizeof(double);
  Result result = Result::with_room<double>(count_ * kNumbers + 1);
  read_all(world);
  result.put(0, std::span<const Body>(world.of(all_)));
  world.read(0, pulls_.all(), word_.all());
  world.fence();
  const std::vector<double> pulls{static_cast<double>(world.of(word_)[0])};
  result.put(count_ * kNumbers, std::span<const double>(pulls));
  return result;
}

}  // namespace rdma::sharedmemory
