// SPDX-License-Identifier: GPL-2.0
// Processor time over a stretch of a run: this process's own, and that of the whole machine,
// since what softirqs do for a process is not charged to it.
#pragma once

#include <chrono>
#include <string>

namespace rdma::perf {

using Clock = std::chrono::steady_clock;

struct Usage {
  double seconds = 0;     // by the clock
  double user = 0;        // seconds of this process
  double system = 0;      // the same
  double machine = 0;     // seconds all processors were not idle
  double interrupts = 0;  // of these, in interrupts and softirqs
  long switches = 0;      // context switches of this process
  long reads = 0;         // system calls of this process, see calls.h; -1: not known
  long writes = 0;        // the same

  std::string line() const;
  static Usage parse(const std::string& line);
};

class Stopwatch {
 public:
  Stopwatch();
  // The usage since the construction.
  Usage stop() const;

 private:
  static Usage now();
  Clock::time_point begin_;
  Usage at_begin_;
};

}  // namespace rdma::perf
