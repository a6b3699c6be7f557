// SPDX-License-Identifier: GPL-2.0
// One compilation on another host.
#pragma once

#include "command.h"
#include "file.h"
#include "hosts.h"
#include "link.h"
#include "report.h"

namespace rdma::rdistcc {

// Runs the preprocessor into a file in memory. Returns its status; what it says goes to standard
// error.
int preprocess(const Command& command, const Descriptor& into);

// The host can't do it: it is to be tried elsewhere. `down`: it was not reached, or was lost.
// `amiss`: something here is to be mended, as a limit, and the user has to hear of it.
class Elsewhere : public std::runtime_error {
 public:
  Elsewhere(const std::string& why, bool down, bool amiss = false)
      : std::runtime_error(why), down_(down), amiss_(amiss) {}
  bool down() const { return down_; }
  bool amiss() const { return amiss_; }

 private:
  bool down_;
  bool amiss_;
};

// Has the host compile what was preprocessed, writes the object, and passes on what the compiler
// said. Returns the compiler's status; if it is not 0 nothing is written and nothing passed on,
// since the reason may be the host's: its limits, or another compiler. Throws Elsewhere;
// Failure if the object can't be written.
int distribute(const Command& command, const Host& host, Transport transport,
               const Descriptor& preprocessed, Report& report);

}  // namespace rdma::rdistcc
