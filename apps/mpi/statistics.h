// SPDX-License-Identifier: GPL-2.0
// What many durations say together.
#pragma once

#include <cstddef>
#include <vector>

namespace rdma::mpibench {

// Durations in microseconds.
class Samples {
 public:
  void add(double microseconds) { values_.push_back(microseconds); }
  std::size_t count() const { return values_.size(); }
  // The value that a share (0 to 1) of the samples does not exceed, by the nearest rank. Throws
  // Failure if there is no sample, or if the share is not one.
  double quantile(double share) const;
  double median() const { return quantile(0.5); }
  double mean() const;

 private:
  std::vector<double> values_;
};

// How much of the shorter of two activities was hidden behind the longer, from 0 to 1: alone they
// take `first` and `second`, together `both` (any unit of time, the same for all). 0 if one of them
// takes no time.
double overlap(double first, double second, double both);

// The parameters of the LogP model for one message size, in microseconds.
struct LogP {
  double send_overhead;     // os: the processor's time to send
  double receive_overhead;  // or: to take a message that has arrived
  double gap;               // g: between messages when as many as possible are sent
  double latency;           // L: what remains of half a round trip; not below 0
};
LogP logp_of(double send, double receive, double gap, double round_trip);

}  // namespace rdma::mpibench
