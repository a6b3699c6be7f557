// SPDX-License-Identifier: GPL-2.0
// How often each thing began, in a file that all processes of the storm share: they are killed, and
// could not say it.
#pragma once

#include <fcntl.h>

#include <array>
#include <atomic>
#include <new>
#include <string>

#include "descriptor.h"
#include "pages.h"

namespace rdma::storm {

enum Count : std::size_t {
  kListens,   // servers that listened
  kAccepts,   // requests that a server accepted
  kConnects,  // clients that reached ESTABLISHED
  kMessages,  // completions without error
  kFailures,  // completions with an error
  kAttempts,  // sockets of strangers
  kRequests,  // MPA Requests of strangers
  kTogether,  // disconnects beside a destroy of the same queue pair
  kObjects,   // regions, windows, queues and queue pairs without a connection
  kCounts
};
inline constexpr std::array<const char*, kCounts> kNames = {"listens",  "accepts",  "connects",
                                                            "messages", "failures", "attempts",
                                                            "requests", "together", "objects"};

using Counts = std::array<std::atomic<std::uint64_t>, kCounts>;

// The counts of that file, which is made if it is not there; or of this process alone, without a
// name. Throws Failure.
inline Counts& counts(const std::string& file = "") {
  static Counts alone{};
  static Counts* chosen = &alone;
  if (file.empty())
    return *chosen;
  const Descriptor shared(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  must(ftruncate(shared.number(), sizeof(Counts)), "writing " + file);
  static const Pages pages(sizeof(Counts), MAP_SHARED, shared.number());
  chosen = std::launder(reinterpret_cast<Counts*>(pages.bytes()));
  return *chosen;
}

inline void count(Count which, std::uint64_t by = 1) {
  counts()[which].fetch_add(by, std::memory_order_relaxed);
}

}  // namespace rdma::storm
