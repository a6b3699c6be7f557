// SPDX-License-Identifier: GPL-2.0
#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "require.h"

namespace rdma::mpibench {

double Samples::quantile(double share) const {
  require(!values_.empty(), "nothing was measured, so there is no quantile");
  require(share >= 0 && share <= 1, "a share is from 0 to 1");
  std::vector<double> sorted = values_;
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const std::size_t at = rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(at), sorted.end());
  return sorted[at];
}

double Samples::mean() const {
  require(!values_.empty(), "nothing was measured, so there is no mean");
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

double overlap(double first, double second, double both) {
  const double shorter = std::min(first, second);
  return shorter <= 0 ? 0 : std::clamp((first + second - both) / shorter, 0.0, 1.0);
}

LogP logp_of(double send, double receive, double gap, double round_trip) {
  return {send, receive, gap, std::max(0.0, round_trip / 2 - send - receive)};
}

}  // namespace rdma::mpibench
