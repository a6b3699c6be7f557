// SPDX-License-Identifier: GPL-2.0
// One compilation on another host, and what it took.
#pragma once

#include "command.h"
#include "file.h"
#include "hosts.h"
#include "link.h"

namespace rdma::rdistcc {

// What one job took, as a line of JSON in the file that $RDISTCC_STATS names.
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

// Runs the preprocessor into a file in memory. Returns its status; what it says goes to standard
// error.
int preprocess(const Command& command, const Descriptor& into);

// The host can't do it: it is to be tried elsewhere. `down`: it was not reached, or was lost.
// `amiss`: something here is to be mended, as a limit, and the user has to hear of it.
struct Elsewhere : std::runtime_error {
  Elsewhere(const std::string& why, bool is_down, bool is_amiss = false)
      : std::runtime_error(why), down(is_down), amiss(is_amiss) {}
  bool down;
  bool amiss;
};

// Has the host compile what was preprocessed, writes the object, and passes on what the compiler
// said. Returns the compiler's status; if it is not 0 nothing is written and nothing passed on,
// since the reason may be the host's: its limits, or another compiler. Throws Elsewhere;
// Failure if the object can't be written.
int distribute(const Command& command, const Host& host, Transport transport,
               const Descriptor& preprocessed, Report& report);

}  // namespace rdma::rdistcc
