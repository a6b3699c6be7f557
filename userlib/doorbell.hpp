// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_DOORBELL_HPP
#define WEFT_DOORBELL_HPP

#include <errno.h>
#include <sched.h>

namespace weft {

// The first refusal of a doorbell, kept: a positive errno value, or 0.
class DoorbellError {
 public:
  int get() const { return __atomic_load_n(&error_, __ATOMIC_RELAXED); }
  void set(int error) { __atomic_store_n(&error_, error, __ATOMIC_RELAXED); }

 private:
  int error_;
};

// Enters the kernel. An interrupted or momentarily short-of-memory call is tried
// again, since the work requests are in the ring already and must not be reported
// as failed when a later doorbell could start them.
//
// Any other refusal is final: the device is gone, or the queue is unknown to the
// kernel. The work requests of this call are then reported as not posted, and so
// is whatever is posted later, without a look at the ring: it stays so until the
// queue pair is reset.
template <typename Queue>
int ring_doorbell(Queue* queue, int (*doorbell)(Queue*), DoorbellError* kept) {
  static constexpr int kTries = 64;
  int ret = 0;
  for (int i = 0; i < kTries; i++) {
    ret = doorbell(queue);
    if (ret == EINTR || ret == EAGAIN || ret == ENOMEM) {
      sched_yield();
      continue;
    }
    break;
  }
  if (ret != 0) {
    kept->set(ret);
  }
  return ret;
}

}  // namespace weft

#endif  // WEFT_DOORBELL_HPP
