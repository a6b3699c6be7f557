// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_CLOCK_HPP
#define WEFT_CLOCK_HPP

#include <stdint.h>
#include <time.h>

namespace weft {

// The clock of time stamps: one tick a nanosecond, in 64 bits.
constexpr clockid_t kCompletionClock = CLOCK_MONOTONIC_RAW;
constexpr uint64_t kCompletionClockKhz = 1000000;
constexpr uint64_t kCompletionClockMask = UINT64_MAX;

inline int64_t read_clock_ns(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

}  // namespace weft

#endif  // WEFT_CLOCK_HPP
