// SPDX-License-Identifier: GPL-2.0
// Until when something is waited for, and what waiting took.
#ifndef WEFT_APPS_DEADLINE_H
#define WEFT_APPS_DEADLINE_H

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>

#include "link.h"

namespace apps {

class Deadline {
 public:
  explicit Deadline(Limit limit)
      : at_(limit > kLongest ? Clock::time_point::max() : Clock::now() + limit) {}

  bool over() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
  Clock::time_point at() const { return at_; }
  // The time left. Rounded up, so that nobody wakes before the end.
  Limit left() const {
    if (at_ == Clock::time_point::max()) {
      return kForever;
    }
    return std::max(Limit(0), std::chrono::ceil<Limit>(at_ - Clock::now()));
  }
  // The same for poll(2): -1 is for ever.
  int milliseconds() const {
    if (at_ == Clock::time_point::max()) {
      return -1;
    }
    return static_cast<int>(std::min<long long>(left().count(), std::numeric_limits<int>::max()));
  }

 private:
  static constexpr Limit kLongest = std::chrono::hours(24 * 365);
  Clock::time_point at_;
};

// What a deadline that is over ends with: this end waited for `what`.
inline Failure too_slow(const char* what, Limit limit) {
  return {Cause::kTimeout, "the peer let this end wait more than " + std::to_string(limit.count()) +
                               " ms for " + what};
}

// Adds the time of its own life to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(std::chrono::nanoseconds& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += Clock::now() - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::chrono::nanoseconds& sum_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace apps

#endif  // WEFT_APPS_DEADLINE_H
