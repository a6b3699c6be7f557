// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_LOCK_HPP
#define WEFT_LOCK_HPP

#include <sched.h>
#include <stdint.h>
#include <time.h>

namespace weft {

// Tells the processor that this is a loop that waits.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

// Waits a little, and longer with each turn: first on the processor, then by giving it
// away, then asleep. So a thread that waits for one that is not running, or that is
// in a long system call, leaves the processor to it.
__attribute__((noinline, cold)) inline void wait_turn(unsigned turn) {
  static constexpr unsigned kSpins = 200;
  static constexpr unsigned kYields = 20;
  static constexpr timespec kSleep = {.tv_sec = 0, .tv_nsec = 50000};
  if (turn < kSpins)
    relax();
  else if (turn < kSpins + kYields)
    sched_yield();
  else
    nanosleep(&kSleep, nullptr);
}

// A queue's lock, on whose word threads spin. Each post and poll takes it, so it costs no
// call. The sections under it are short and make no system call; doorbells are rung
// outside. The one exception is the resizing of a completion queue, which may take the
// kernel milliseconds, so that a thread that waits for it sleeps soon.
//
// Where the user has promised that one thread at a time uses the queue (a thread
// domain, or a completion queue created as single-threaded) nothing is locked.
class QueueLock {
 public:
  void init(bool single_threaded) {
    single_threaded_ = single_threaded;
    held_ = 0;
  }

  void lock() {
    if (single_threaded_)
      return;
    if (__atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE) != 0)
      contend();
  }
  void unlock() {
    if (!single_threaded_)
      __atomic_store_n(&held_, 0, __ATOMIC_RELEASE);
  }

 private:
  // Another thread has the lock. Not in line, so that a post or a poll is not longer for it.
  __attribute__((noinline, cold)) void contend() {
    unsigned turn = 0;
    do {
      while (__atomic_load_n(&held_, __ATOMIC_RELAXED) != 0)
        wait_turn(turn++);
    } while (__atomic_exchange_n(&held_, 1, __ATOMIC_ACQUIRE) != 0);
  }

  uint32_t held_;
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
