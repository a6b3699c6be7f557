// SPDX-License-Identifier: GPL-2.0
// What is measured: a stretch of a run, with the system calls in it, and the durations of rounds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

namespace rdma::perf {

using Clock = std::chrono::steady_clock;

// Time by the clock, and how often this process entered the kernel, which is -1 if /proc/self/io
// can't be read. Calls on sockets are not counted.
struct Usage {
  double seconds = 0;
  long reads = 0;   // waits for events
  long writes = 0;  // commands, doorbells among them, by write() or ioctl()

  std::string line() const;
  static Usage parse(const std::string& line);
};

class Stopwatch {
 public:
  Stopwatch();
  // The usage since the construction.
  Usage stop() const;

 private:
  Usage at_begin_;
  Clock::time_point begin_;
};

// Durations of many rounds, and what they say together.
class Samples {
 public:
  explicit Samples(std::size_t expected) { micros_.reserve(expected); }

  void add(Clock::duration duration) {
    micros_.push_back(std::chrono::duration<double, std::micro>(duration).count());
  }
  // How long a step takes, with what it waits for.
  template <typename Step>
  void time(Step step) {
    const Clock::time_point begin = Clock::now();
    step();
    add(Clock::now() - begin);
  }
  // The value that this share of the samples does not exceed, in microseconds.
  double quantile(double share) {
    if (micros_.empty()) return 0;
    std::sort(micros_.begin(), micros_.end());
    const auto last = static_cast<double>(micros_.size() - 1);
    return micros_[static_cast<std::size_t>(std::lround(share * last))];
  }
  double median() { return quantile(0.5); }

 private:
  std::vector<double> micros_;
};

}  // namespace rdma::perf
