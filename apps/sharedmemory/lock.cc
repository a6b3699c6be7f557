// SPDX-License-Identifier: GPL-2.0
#include "lock.h"

#include <algorithm>

#include "failure.h"

namespace rdma::sharedmemory {
namespace {

// A few tries at once, since most locks are held for less than the way there and back. Then pauses
// that double, up to the longest.
constexpr int kAtOnce = 3;
constexpr Limit kFirstPause{1};
constexpr Limit kLongestPause{8};

}  // namespace

Lock::Lock(World& world, int home, std::size_t number)
    : world_(world), home_(home), word_(world.control().locks.at(number * Control::kStride, 1)) {}

void Lock::acquire() {
  const Times::Doing locks(world_.times(), Activity::kLocks);
  const auto mine = static_cast<std::uint64_t>(world_.rank()) + 1;
  auto pause = kFirstPause;
  for (int tries = 1; world_.compare_swap(home_, word_, 0, mine) != 0; ++tries) {
    if (tries >= kAtOnce) {
      world_.pause(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
  }
}

void Lock::release() {
  world_.fence();
  const Times::Doing locks(world_.times(), Activity::kLocks);
  const auto mine = static_cast<std::uint64_t>(world_.rank()) + 1;
  if (world_.compare_swap(home_, word_, mine, 0) != mine) {
    throw Failure(Cause::kInput, "a lock is given back that this host has not");
  }
}

}  // namespace rdma::sharedmemory
