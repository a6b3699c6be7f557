// SPDX-License-Identifier: GPL-2.0
// What the daemon does for one client: reads a source from the client's memory, compiles it in a
// directory of its own, and has the client read the object from this end's memory.
#pragma once

#include <atomic>
#include <map>

#include "link.h"
#include "message.h"
#include "process.h"

namespace rdma::rdistcc {

// What every job of a daemon is held to.
struct Rules {
  std::map<std::string, std::string> compilers;  // paths, by the names that clients may say
  std::string directory;                         // in which each job has one of its own
  std::uint64_t source_bytes = std::uint64_t{256} << 20;
  std::uint64_t object_bytes = std::uint64_t{512} << 20;
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;
  unsigned seconds = 300;  // for one compilation
  // For the source to come, and for the object to go.
  Limit transfer = std::chrono::seconds(60);
  uid_t user = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
};

// Each job's directory is called by this and six characters more.
inline constexpr std::string_view kJobs = "job-";

// Serves the client at the other end until it is done. `stopping` becomes true when the daemon
// ends, and then the job does. Returns a line for the log. Throws Failure when the client is
// lost or wrong.
std::string serve(Link& link, const Rules& rules, const std::atomic<bool>& stopping);

// Tells a client why nothing is done for it.
void refuse(Link& link, const std::string& why);

}  // namespace rdma::rdistcc
