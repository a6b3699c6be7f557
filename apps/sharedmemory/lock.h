// SPDX-License-Identifier: GPL-2.0
// A lock: a word in a host's share, which is 0, or one more than the number of the host that has
// it.
#pragma once

#include <cstddef>

#include "world.h"

namespace rdma::sharedmemory {

class Lock {
 public:
  // Lock `number`, below Control::kLocks, in the share of host `home`.
  Lock(World& world, int home, std::size_t number);

  // Takes it, and waits while another host has it. Throws Failure (kLost) if any host has ended,
  // for that may be the one that has it.
  void acquire();
  // Gives it back. What this host wrote while it had the lock is there for the next one.
  void release();

 private:
  World& world_;
  int home_;
  Slice<std::uint64_t> word_;
};

}  // namespace rdma::sharedmemory
