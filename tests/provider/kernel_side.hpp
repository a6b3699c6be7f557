// SPDX-License-Identifier: GPL-2.0
// The kernel's side of the rings, as weft-abi.h words it: private indices,
// entries copied out once, the fences of `drain` and `notify`. The ring tests
// and the fake kernel under libibverbs play against it.
#pragma once

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <tuple>
#include <vector>

#include "weft-abi.h"

inline bool operator==(const weft_sge& a, const weft_sge& b) {
  return a.addr == b.addr && a.length == b.length && a.lkey == b.lkey;
}

namespace weft_test {

inline uint32_t load(const uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
inline void store(uint32_t& word, uint32_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Number, operation, flags, key or immediate data, and the peer's memory.
using Head = std::tuple<uint64_t, int, int, uint32_t, uint64_t, uint32_t>;

using Sges = std::vector<weft_sge>;

// A send work request as copied out of the ring.
struct SendEntry {
  Head fields() const {
    return {head.wr_id, head.opcode, head.flags, head.ex, head.remote_addr, head.rkey};
  }

  weft_sq_wr head;
  Sges sges;
  std::vector<uint8_t> payload;  // inline
  uint32_t blocks;
};

// What send and receive queues have in common.
class KernelWorkQueue {
 public:
  // Both sides' indices, to start a test shortly before a wrap. Before attach().
  void start_at(uint32_t index) {
    consumer_ = freed_ = index;
    store(control_->producer, index);
    store(control_->consumer, index);
  }
  // A transition to RESET: the ring is empty, at index 0.
  void reset() { start_at(0); }
  weft_wq_ctl* control() { return control_; }
  bool empty() const { return load(control_->producer) == consumer_; }

 protected:
  KernelWorkQueue() = default;
  explicit KernelWorkQueue(void* mapping)
      : control_(static_cast<weft_wq_ctl*>(mapping)),
        ring_(static_cast<uint8_t*>(mapping) + WEFT_RING_OFFSET) {}

  weft_wq_ctl* control_ = nullptr;
  uint8_t* ring_ = nullptr;
  uint32_t consumer_ = 0;
  uint32_t freed_ = 0;
};

class KernelSendQueue : public KernelWorkQueue {
 public:
  KernelSendQueue() = default;
  KernelSendQueue(void* mapping, uint32_t blocks) : KernelWorkQueue(mapping), blocks_(blocks) {}

  // Copies the next work request out; false when there is none.
  bool fetch(SendEntry* entry) {
    if (empty()) return false;
    copy_out(0, &entry->head, sizeof(entry->head));
    entry->blocks = entry->head.num_blocks;
    assert(entry->blocks >= 1 && entry->blocks <= WEFT_SQ_MAX_BLOCKS);
    assert(load(control_->producer) - consumer_ >= entry->blocks);
    entry->sges.clear();
    entry->payload.clear();
    if (entry->head.flags & WEFT_WR_INLINE) {
      assert(weft_sq_blocks_for_inline(entry->head.inline_len) == entry->blocks);
      entry->payload.resize(entry->head.inline_len);
      copy_out(WEFT_SQ_SGE_OFFSET, entry->payload.data(), entry->payload.size());
    } else {
      assert(weft_sq_blocks_for_sge(entry->head.num_sge) == entry->blocks);
      entry->sges.resize(entry->head.num_sge);
      copy_out(WEFT_SQ_SGE_OFFSET, entry->sges.data(), entry->sges.size() * sizeof(weft_sge));
    }
    consumer_ += entry->blocks;
    return true;
  }

  // Gives blocks back, oldest first.
  void release(uint32_t blocks) {
    freed_ += blocks;
    store(control_->consumer, freed_);
  }

  // The `drain` rule. True: the ring is empty, the next post rings. False: there is more to fetch.
  bool go_idle() {
    store(control_->need_doorbell, 1);
    fence();
    if (empty()) return true;
    store(control_->need_doorbell, 0);
    return false;
  }

  // The first step of a doorbell.
  void wake() { store(control_->need_doorbell, 0); }

 private:
  // Byte by byte and block by block on purpose: not the writer's way of wrapping.
  void copy_out(uint32_t offset, void* to, size_t bytes) const {
    for (size_t i = 0; i < bytes; i++) {
      const auto at = static_cast<uint32_t>(offset + i);
      const uint32_t block = (consumer_ + at / WEFT_SQ_BLOCK) % blocks_;
      static_cast<uint8_t*>(to)[i] = ring_[size_t{block} * WEFT_SQ_BLOCK + at % WEFT_SQ_BLOCK];
    }
  }

  uint32_t blocks_ = 0;
};

struct RecvEntry {
  uint64_t wr_id;
  Sges sges;
};

class KernelRecvQueue : public KernelWorkQueue {
 public:
  KernelRecvQueue() = default;
  KernelRecvQueue(void* mapping, uint32_t entries, uint32_t max_sge)
      : KernelWorkQueue(mapping), entries_(entries), max_sge_(max_sge) {}

  bool fetch(RecvEntry* entry) {
    if (empty()) return false;
    const uint8_t* at = ring_ + size_t{consumer_ % entries_} * weft_rq_stride(max_sge_);
    weft_rq_wr head;
    memcpy(&head, at, sizeof(head));
    assert(head.num_sge <= max_sge_ && head.reserved == 0);
    entry->wr_id = head.wr_id;
    entry->sges.resize(head.num_sge);
    if (head.num_sge != 0)
      memcpy(entry->sges.data(), at + sizeof(head), head.num_sge * sizeof(weft_sge));
    consumer_++;
    return true;
  }

  void release() { store(control_->consumer, consumer_); }

 private:
  uint32_t entries_ = 0;
  uint32_t max_sge_ = 0;
};

class KernelCompletionQueue {
 public:
  KernelCompletionQueue() = default;
  KernelCompletionQueue(void* mapping, uint32_t entries)
      : control_(static_cast<weft_cq_ctl*>(mapping)),
        ring_(reinterpret_cast<weft_cqe*>(static_cast<uint8_t*>(mapping) + WEFT_RING_OFFSET)),
        entries_(entries) {}

  // Both sides at `index`, every slot as the pass before left it. Before attach().
  void start_at(uint32_t index) {
    producer_ = index;
    store(control_->consumer, index);
    for (uint32_t i = 0; i < entries_; i++) {
      const uint32_t previous = index - entries_ + i;
      ring_[previous % entries_].word = phase_of(previous);
    }
  }

  weft_cq_ctl* control() { return control_; }

  // Continues in a new mapping with the unpolled entries and the user's words; the rest is empty.
  void move(void* mapping, uint32_t entries) {
    const KernelCompletionQueue old = *this;
    control_ = static_cast<weft_cq_ctl*>(mapping);
    ring_ = reinterpret_cast<weft_cqe*>(static_cast<uint8_t*>(mapping) + WEFT_RING_OFFSET);
    entries_ = entries;
    store(control_->arm, load(old.control_->arm));
    store(control_->notified, load(old.control_->notified));
    start_at(load(old.control_->consumer));
    producer_ = old.producer_;
    for (uint32_t index = load(control_->consumer); index != producer_; index++) {
      weft_cqe& entry = ring_[index % entries_];
      entry = old.ring_[index % old.entries_];
      entry.word = (entry.word & ~uint32_t{WEFT_CQE_PHASE}) | phase_of(index);
    }
  }
  uint32_t unpolled() const { return producer_ - load(control_->consumer); }

  // Writes a completion; false (and the queue is dead) when the user is behind.
  bool push(const weft_cqe& cqe, uint8_t flags, uint8_t status, uint8_t opcode) {
    if (producer_ - load(control_->consumer) >= entries_) {
      store(control_->overflow, 1);
      return false;
    }
    weft_cqe& slot = ring_[producer_ % entries_];
    slot.wr_id = cqe.wr_id;
    slot.timestamp = cqe.timestamp;
    slot.qp_num = cqe.qp_num;
    slot.byte_len = cqe.byte_len;
    slot.ex = cqe.ex;
    store(slot.word, WEFT_CQE_WORD(flags | phase_of(producer_), status, opcode));
    producer_++;
    return true;
  }

  // The `notify` rule, after push(). True: raise an event.
  bool notify(bool solicited_or_error) {
    fence();
    const uint32_t arm = load(control_->arm);
    const uint32_t sequence = WEFT_CQ_ARM_SEQ(arm);
    if (sequence == 0 || sequence == served_ ||
        (WEFT_CQ_ARM_SOLICITED(arm) && !solicited_or_error)) {
      return false;
    }
    served_ = sequence;
    store(control_->notified, sequence);
    return true;
  }

 private:
  uint32_t phase_of(uint32_t index) const {
    return (index / entries_) % 2 == 0 ? WEFT_CQE_PHASE : 0;
  }

  weft_cq_ctl* control_ = nullptr;
  weft_cqe* ring_ = nullptr;
  uint32_t entries_ = 0;
  uint32_t producer_ = 0;
  uint32_t served_ = 0;
};

}  // namespace weft_test
