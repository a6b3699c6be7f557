// SPDX-License-Identifier: GPL-2.0
// Until when something is waited for.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "failure.h"

namespace rdma {

using Clock = std::chrono::steady_clock;
using Limit = std::chrono::milliseconds;
inline constexpr Limit kForever = Limit::max();

class Deadline {
 public:
  explicit Deadline(Limit limit)
      : at_(limit > kLongest ? Clock::time_point::max() : Clock::now() + limit) {}

  bool forever() const { return at_ == Clock::time_point::max(); }
  bool over() const { return !forever() && Clock::now() >= at_; }
  Clock::time_point at() const { return at_; }
  // The time left. Rounded up, so that nobody wakes before the end.
  Limit left() const {
    return forever() ? kForever : std::max(Limit(0), std::chrono::ceil<Limit>(at_ - Clock::now()));
  }
  // The same for poll(2): -1 is for ever.
  int milliseconds() const {
    return forever() ? -1
                     : static_cast<int>(
                           std::min<long long>(left().count(), std::numeric_limits<int>::max()));
  }

 private:
  static constexpr Limit kLongest = std::chrono::hours(24 * 365);
  Clock::time_point at_;
};

// Waits until the descriptor is readable (or as `events` of poll(2) say); false when time is up.
inline bool wait_ready(int descriptor, const Deadline& deadline, short events = POLLIN) {
  while (true) {
    pollfd wanted{.fd = descriptor, .events = events, .revents = 0};
    const int count = poll(&wanted, 1, deadline.milliseconds());
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) fail_errno("poll");
    if (deadline.over()) return false;
  }
}

}  // namespace rdma
