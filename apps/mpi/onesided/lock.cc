// SPDX-License-Identifier: GPL-2.0
#include "lock.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

namespace rdma::onesided {

namespace {

constexpr std::uint64_t kAlone = 1ULL << 63;

// Waits longer from time to time, so that those who wait do not keep the holder's host busy.
class Patience {
 public:
  void wait() {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, kLongest);
  }

 private:
  static constexpr std::chrono::microseconds kLongest{2000};
  std::chrono::microseconds pause_{20};
};

}  // namespace

void lock_shared(Target& target) {
  Patience patience;
  while ((target.fetch_add(Word::kLock, 1) & kAlone) != 0) {
    unlock_shared(target);
    patience.wait();
  }
}

void unlock_shared(Target& target) {
  target.fetch_add(Word::kLock, ~0ULL);
}

void lock_alone(Target& target) {
  Patience patience;
  while (target.compare_swap(Word::kLock, 0, kAlone) != 0) {
    patience.wait();
  }
}

void unlock_alone(Target& target) {
  target.fetch_add(Word::kLock, kAlone);
}

Accumulating::Accumulating(Target& target)
    : target_(target), failures_(std::uncaught_exceptions()) {
  Patience patience;
  while (target_.compare_swap(Word::kAccumulate, 0, 1) != 0) {
    patience.wait();
  }
}

Accumulating::~Accumulating() noexcept(false) {
  // After a failure the run ends, and the link may be gone.
  if (std::uncaught_exceptions() == failures_) {
    target_.compare_swap(Word::kAccumulate, 1, 0);
  }
}

}  // namespace rdma::onesided
