// SPDX-License-Identifier: GPL-2.0
// Being away from MPI for a while.
#pragma once

#include <chrono>
#include <thread>

#include "options.h"
#include "world.h"

namespace rdma::mpibench {

// Spends the time, in microseconds, without a call of MPI: by computing, or asleep, which stands
// for computing where both ranks share one processor.
inline void compute(Computing how, double microseconds) {
  if (how == Computing::kSleep) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(microseconds));
    return;
  }
  const double end = now_us() + microseconds;
  while (now_us() < end) {
  }
}

}  // namespace rdma::mpibench
