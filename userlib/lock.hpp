// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_LOCK_HPP
#define WEFT_LOCK_HPP

#include <pthread.h>

namespace weft {

// A queue's lock. The sections under it are short and make no system call (but
// for the resizing of a completion queue); doorbells are rung outside.
//
// Where the user has promised that one thread at a time uses the queue (a thread
// domain, or a completion queue created as single-threaded) nothing is locked.
class QueueLock {
 public:
  void init(bool single_threaded) {
    single_threaded_ = single_threaded;
    pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE);
  }
  void destroy() { pthread_spin_destroy(&lock_); }

  void lock() {
    if (!single_threaded_) {
      pthread_spin_lock(&lock_);
    }
  }
  void unlock() {
    if (!single_threaded_) {
      pthread_spin_unlock(&lock_);
    }
  }

 private:
  pthread_spinlock_t lock_;
  bool single_threaded_;
};

// Holds a queue's lock for a scope.
class QueueGuard {
 public:
  explicit QueueGuard(QueueLock& lock) : lock_(lock) { lock_.lock(); }
  ~QueueGuard() { lock_.unlock(); }
  QueueGuard(const QueueGuard&) = delete;
  QueueGuard& operator=(const QueueGuard&) = delete;

 private:
  QueueLock& lock_;
};

}  // namespace weft

#endif  // WEFT_LOCK_HPP
