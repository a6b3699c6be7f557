// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_DOORBELL_HPP
#define WEFT_DOORBELL_HPP

#include <errno.h>

#include "lock.hpp"

namespace weft {

// The first refusal of a doorbell, kept: a positive errno value, or 0.
class DoorbellError {
 public:
  int get() const { return __atomic_load_n(&error_, __ATOMIC_RELAXED); }
  void set(int error) { __atomic_store_n(&error_, error, __ATOMIC_RELAXED); }

 private:
  int error_;
};

// Enters the kernel.
//
// EBUSY comes only for a shared receive queue, while another thread tries to destroy it,
// which fails as long as queue pairs use it. That is over soon, so the doorbell is rung
// again. If the queue stays busy for a tenth of a second, the error is reported, and the
// next post tries again. The receives are in the ring then, although they are reported as not
// posted, because the kernel may take them at any time: a program that posts them again has them
// twice.
//
// Any other refusal is final: the device is gone, or the kernel does not know the queue.
// (Nothing in this call can be interrupted or runs short of memory.) The work requests of
// this call are reported as not posted, and so are all later ones until the queue pair is
// reset, without a look at the ring.
template <typename Queue>
int ring_doorbell(Queue* queue, int (*doorbell)(Queue*), DoorbellError* kept) {
  static constexpr unsigned kTurns = 1000;
  int ret = doorbell(queue);
  for (unsigned turn = 0; ret == EBUSY && turn < kTurns; turn++) {
    wait_turn(turn);
    ret = doorbell(queue);
  }
  if (ret != 0 && ret != EBUSY)
    kept->set(ret);
  return ret;
}

}  // namespace weft

#endif  // WEFT_DOORBELL_HPP
