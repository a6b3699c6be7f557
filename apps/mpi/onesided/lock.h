// SPDX-License-Identifier: GPL-2.0
// Who may do what at a target: the locks of MPI_Win_lock(), and the one of accumulating calls.
#pragma once

#include "target.h"

namespace rdma::onesided {

// The lock's word counts those that share it. Its highest bit says that one has it alone; one that
// wants to share and finds the bit takes itself away again, so the count may be more for a moment.
// Both wait until they have it, and forever if its holder never lets it go.
void lock_shared(Target& target);
void unlock_shared(Target& target);
void lock_alone(Target& target);
void unlock_alone(Target& target);

// The right to accumulate at a target, until it goes: what was put in the meantime is there before
// the next one has it.
class Accumulating {
 public:
  explicit Accumulating(Target& target);
  ~Accumulating() noexcept(false);
  Accumulating(const Accumulating&) = delete;
  Accumulating& operator=(const Accumulating&) = delete;

 private:
  Target& target_;
  int failures_;  // exceptions under way when it began
};

}  // namespace rdma::onesided
