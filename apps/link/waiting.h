// SPDX-License-Identifier: GPL-2.0
// What waiting took, and what it ends with.
#pragma once

#include "deadline.h"

namespace rdma {

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

}  // namespace rdma
