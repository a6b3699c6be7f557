// SPDX-License-Identifier: GPL-2.0
// What one job took, as a line of JSON in the file that $RDISTCC_STATS names.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rdma::rdistcc {

struct Report {
  using Seconds = std::chrono::duration<double>;

  std::string source;
  std::string host;  // where it was compiled; empty: here
  std::string transport;
  std::string why;  // for a job that was done here
  int status = 0;   // of the job
  Seconds preprocessing{};
  Seconds connecting{};    // to the daemon, until the link was usable
  Seconds registering{};   // memory, at both ends
  Seconds transferring{};  // source and object, and what the compiler said
  Seconds compiling{};     // at the other host
  Seconds whole{};
  std::uint64_t bytes_out = 0;  // of the preprocessed source
  std::uint64_t bytes_in = 0;   // of the object and what the compiler said

  // One object of JSON, with times in seconds: of these and of the processor, which `user` and
  // `system` are of this client and what it started.
  std::string json() const;
  // Adds the line to the file. A report that can't be written is no failure of the job.
  void append_to(const char* path) const;
};

}  // namespace rdma::rdistcc
