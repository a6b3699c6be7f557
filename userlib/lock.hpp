// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_LOCK_HPP
#define WEFT_LOCK_HPP

#include <pthread.h>

namespace weft {

// Holds a queue's spinlock for a scope. The sections under it are short and make
// no system call; doorbells are rung outside.
class SpinGuard {
 public:
  explicit SpinGuard(pthread_spinlock_t& lock) : lock_(lock) { pthread_spin_lock(&lock_); }
  ~SpinGuard() { pthread_spin_unlock(&lock_); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  pthread_spinlock_t& lock_;
};

}  // namespace weft

#endif  // WEFT_LOCK_HPP
