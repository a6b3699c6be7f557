// SPDX-License-Identifier: GPL-2.0
// One run of a kernel on this host, from its input to the comparison of its result.
#pragma once

#include "options.h"

namespace rdma::sharedmemory {

struct Outcome {
  Times times;
  std::optional<Result> result;  // host 0 has it
  std::string difference;        // from one process's; empty if there is none, or nobody looked
};

// Runs the kernel on this host, together with the others unless it is alone. Throws Failure.
Outcome run(const Options& options, const Watch& watch = {});

// Host 0's processor changes words that its device changes as well. Throws Failure (kDevice) unless
// the device that has `address` is atomic to the processor (IBV_ATOMIC_GLOB).
void check_device(const Address& address);

// Says where two results differ first, or nothing.
std::string difference_of(const Result& result, const Result& reference);

}  // namespace rdma::sharedmemory
