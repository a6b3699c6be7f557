// SPDX-License-Identifier: GPL-2.0
// What many durations say together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "failure.h"

namespace rdma::mpibench {

// Durations in microseconds.
class Samples {
 public:
  void add(double microseconds) { values_.push_back(microseconds); }
  std::size_t count() const { return values_.size(); }
  // The value that a share (0 to 1) of the samples does not exceed, by the nearest rank. Throws
  // Failure if there is no sample, or if the share is not one.
  double quantile(double share) const {
    require(!values_.empty(), "nothing was measured, so there is no quantile");
    require(share >= 0 && share <= 1, "a share is from 0 to 1");
    std::vector<double> sorted = values_;
    const double rank = std::ceil(share * static_cast<double>(sorted.size()));
    const std::size_t at = rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at),
                     sorted.end());
    return sorted[at];
  }
  double median() const { return quantile(0.5); }
  double mean() const {
    require(!values_.empty(), "nothing was measured, so there is no mean");
    return std::accumulate(values_.begin(), values_.end(), 0.0) /
           static_cast<double>(values_.size());
  }

 private:
  std::vector<double> values_;
};

// How much of the shorter of two activities was hidden behind the longer, from 0 to 1: alone they
// take `first` and `second`, together `both` (any unit of time, the same for all). 0 if one of them
// takes no time.
inline double overlap(double first, double second, double both) {
  const double shorter = std::min(first, second);
  return shorter <= 0 ? 0 : std::clamp((first + second - both) / shorter, 0.0, 1.0);
}

// The parameters of the LogP model for one message size, in microseconds.
struct LogP {
  double send_overhead;     // os: the processor's time to send
  double receive_overhead;  // or: to take a message that has arrived
  double gap;               // g: between messages when as many as possible are sent
  double latency;           // L: what remains of half a round trip; not below 0
};
inline LogP logp_of(double send, double receive, double gap, double round_trip) {
  return {send, receive, gap, std::max(0.0, round_trip / 2 - send - receive)};
}

}  // namespace rdma::mpibench
