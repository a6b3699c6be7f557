// SPDX-License-Identifier: GPL-2.0
// Programs that are started: where their output goes, and what bounds them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "descriptor.h"

namespace rdma::rdistcc {

// The status of a program that can't be run, as a shell has it.
inline constexpr int kCannotRun = 127;

// How a program is kept from harming its host.
struct Confinement {
  std::string directory;                // where it works, and has its temporary files
  std::uint64_t seconds = 0;            // of processor time
  std::uint64_t file_bytes = 0;         // of each file that it writes
  std::uint64_t memory_bytes = 0;       // of address space
  uid_t user = static_cast<uid_t>(-1);  // -1: the caller's
  gid_t group = static_cast<gid_t>(-1);
};

struct Start {
  std::vector<std::string> command;  // the program, by path or by a name of PATH, and its arguments
  int output = -1;  // descriptors for its standard output and error; -1: the caller's
  int error = -1;
  // With it the program is in a process group of its own, has a bare environment and no input, and
  // ends with the thread that started it, and so do those that it has started.
  std::optional<Confinement> confinement;
};

class Process {
 public:
  // Throws Failure (kSystem). A program that can't be run ends with status kCannotRun.
  explicit Process(const Start& start);
  // Kills it, and its group if it has one, unless it has ended.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Waits for its end; false if it still runs after that time.
  bool wait(std::chrono::milliseconds limit);
  // After wait() has returned true: as a shell tells it, 128 and the signal for one that was
  // killed.
  int status() const { return status_; }

 private:
  pid_t pid_ = -1;
  bool group_ = false;
  bool ended_ = false;
  int status_ = 0;
  Descriptor descriptor_;
};

}  // namespace rdma::rdistcc
