// SPDX-License-Identifier: GPL-2.0
// One run of a kernel on this host, from its input to the comparison of its result.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kernel.h"
#include "options.h"
#include "times.h"

namespace rdma::sharedmemory {

using Watch = std::function<void(const char* what, std::size_t done, std::size_t of)>;

struct Outcome {
  Times times;
  std::optional<Result> result;  // host 0 has it
  std::string difference;        // from one process's; empty if there is none, or nobody looked
};

// Runs the kernel on this host, together with the others unless it is alone. Throws Failure.
Outcome run(const Options& options, const Watch& watch = {});

// Says where two results differ first, or nothing.
std::string difference_of(const Result& result, const Result& reference);

}  // namespace rdma::sharedmemory
