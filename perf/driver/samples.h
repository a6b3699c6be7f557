// SPDX-License-Identifier: GPL-2.0
// Durations of many rounds, and what they say together.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "usage.h"

namespace rdma::perf {

class Samples {
 public:
  explicit Samples(std::size_t expected) { micros_.reserve(expected); }

  void add(Clock::duration duration) {
    micros_.push_back(std::chrono::duration<double, std::micro>(duration).count());
  }
  // The value that this share of the samples does not exceed, in microseconds.
  double quantile(double share) {
    if (micros_.empty()) {
      return 0;
    }
    std::sort(micros_.begin(), micros_.end());
    const auto last = static_cast<double>(micros_.size() - 1);
    return micros_[static_cast<std::size_t>(std::lround(share * last))];
  }
  double median() { return quantile(0.5); }
  double mean() const {
    return micros_.empty() ? 0
                           : std::accumulate(micros_.begin(), micros_.end(), 0.0) /
                                 static_cast<double>(micros_.size());
  }

 private:
  std::vector<double> micros_;
};

}  // namespace rdma::perf
