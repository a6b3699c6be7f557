// SPDX-License-Identifier: GPL-2.0
// The least time of several rounds: whatever else the machine does only adds to one.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace rdma::prices {

// Returns the least of so many rounds, in nanoseconds.
template <typename Work>
double best_ns(int rounds, Work work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < rounds; i++) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count());
  }
  return least;
}

// The same for one of n operations.
template <typename Operation>
double best_each_ns(int rounds, int n, Operation operation) {
  return best_ns(rounds,
                 [&] {
                   for (int i = 0; i < n; i++) {
                     operation();
                   }
                 }) /
         n;
}

}  // namespace rdma::prices
