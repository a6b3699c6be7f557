// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_QP_TABLE_HPP
#define WEFT_QP_TABLE_HPP

#include <stdint.h>
#include <stdlib.h>

#include "lock.hpp"

namespace weft {

struct Qp;

// The queue pairs of an opened device by their numbers, which have 24 bits and are handed out in
// turn, so that a few leaves hold them. Zeroed memory is an empty table.
//
// find() takes no lock. It is asked for queue pairs in the table alone: the completions of one
// that leaves are discarded before, under the locks of its completion queues.
class QpTable {
 public:
  Qp* find(uint32_t number) const {
    const Leaf* leaf = __atomic_load_n(&leaves_[top(number)], __ATOMIC_ACQUIRE);
    return leaf == nullptr ? nullptr
                           : __atomic_load_n(&leaf->qps[number % kLength], __ATOMIC_ACQUIRE);
  }

  // Returns true, or false without memory.
  bool add(uint32_t number, Qp* qp) {
    QueueGuard guard(lock_);
    Leaf*& leaf = leaves_[top(number)];
    if (leaf == nullptr) {
      auto* made = static_cast<Leaf*>(calloc(1, sizeof(Leaf)));
      if (made == nullptr)
        return false;
      __atomic_store_n(&leaf, made, __ATOMIC_RELEASE);
    }
    leaf->used++;
    __atomic_store_n(&leaf->qps[number % kLength], qp, __ATOMIC_RELEASE);
    return true;
  }

  void remove(uint32_t number) {
    QueueGuard guard(lock_);
    Leaf*& leaf = leaves_[top(number)];
    __atomic_store_n(&leaf->qps[number % kLength], nullptr, __ATOMIC_RELEASE);
    if (--leaf->used == 0) {
      free(leaf);
      __atomic_store_n(&leaf, nullptr, __ATOMIC_RELEASE);
    }
  }

 private:
  static constexpr uint32_t kLength = 4096;  // of a leaf, and leaves
  struct Leaf {
    Qp* qps[kLength];
    uint32_t used;
  };
  static uint32_t top(uint32_t number) { return number / kLength % kLength; }

  Leaf* leaves_[kLength];
  QueueLock lock_;  // of add() and remove()
};

}  // namespace weft

#endif  // WEFT_QP_TABLE_HPP
