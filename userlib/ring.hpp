// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// The user's side of the rings of weft-abi.h. Nothing here knows verbs or makes a system call,
// because the tests use a ring as plain memory.
//
// All classes are trivially constructible (calloc() zeroes their owners), and attach() readies
// them. None locks: the owner holds the queue's lock around every call except need_doorbell().
//
// Indices are private copies; the mapping has the published values only. libweft reads a word that
// the kernel writes with acquire, and writes a word that the kernel reads with release. The two
// full fences are those of the header's `post` and `arm` rules and pair with the kernel's in
// `drain` and `notify`.
#ifndef WEFT_RING_HPP
#define WEFT_RING_HPP

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "weft-abi.h"

namespace weft {

inline uint32_t load_acquire(const uint32_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

inline void store_release(uint32_t& word, uint32_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

inline void full_fence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// The common part of send and receive queues: slots of equal size, a producer index of
// ours and a consumer index of the kernel's.
//
// A queue takes as many work requests as the queue pair's capacities say, though the ring
// has more room: it is a power of two long, and has WEFT_SQ_MAX_BLOCKS slots for each send.
// In a queue pair's own queues a work request counts until its completion is polled, so that a
// completion queue of that many entries never overflows. The poller calls retire(), under the
// completion queue's lock, and the poster sees the count at its next look.
class WorkRing {
 public:
  // `mapping` is the whole mapping, control block first; `slots` is a power of two.
  void attach(void* mapping, uint32_t slots, uint32_t slot_bytes) {
    assert(slots != 0 && (slots & (slots - 1)) == 0);
    control_ = static_cast<weft_wq_ctl*>(mapping);
    slots_ = static_cast<uint8_t*>(mapping) + WEFT_RING_OFFSET;
    mask_ = slots - 1;
    slot_bytes_ = slot_bytes;
    producer_ = load_acquire(control_->producer);
    consumer_ = load_acquire(control_->consumer);
    polled_ = consumer_;
  }

  // After the kernel has reset the queue (and nobody posts): begin where it stands.
  void restart() {
    consumer_ = load_acquire(control_->consumer);
    producer_ = consumer_;
    polled_ = consumer_;
    publish();
  }

  // Makes everything pushed so far visible to the kernel.
  void publish() { store_release(control_->producer, producer_); }

  // After publish(): must the kernel be entered? Without the fence the load could
  // overtake the store of the producer, and both sides would go to sleep.
  bool need_doorbell() const {
    full_fence();
    return load_acquire(control_->need_doorbell) != 0;
  }

  // enum ib_qp_state, as the kernel last published it.
  uint32_t qp_state() const { return load_acquire(control_->qp_state); }

  // enum weft_peer, of a queue pair that is connected.
  uint32_t peer() const { return load_acquire(control_->peer); }

  uint32_t slots() const { return mask_ + 1; }

 protected:
  uint8_t* slot(uint32_t index) const {
    return slots_ + static_cast<size_t>(index & mask_) * slot_bytes_;
  }

  weft_wq_ctl* control_;
  uint8_t* slots_;
  uint32_t mask_;
  uint32_t slot_bytes_;
  uint32_t producer_;
  uint32_t consumer_;  // as last seen
  uint32_t max_wr_;    // work requests that the queue takes
  uint32_t polled_;    // the poller's: index behind the last work request that was polled
  // Of a send queue: work requests written; polled, which the poller counts; and as last seen.
  uint32_t posted_;
  uint32_t retired_;
  uint32_t retired_seen_;
  bool shared_;  // of a receive queue: several queue pairs take from it
};

// A gather element: anything with the layout of weft_sge (struct ibv_sge has it).
template <typename Sge>
concept GatherElement = sizeof(Sge) == sizeof(weft_sge) &&
                        offsetof(Sge, addr) == offsetof(weft_sge, addr) &&
                        offsetof(Sge, length) == offsetof(weft_sge, length) &&
                        offsetof(Sge, lkey) == offsetof(weft_sge, lkey);

// A piece of inline payload, by its address in this process.
template <typename Piece>
const void* address_of(const Piece& piece) {
  if constexpr (std::is_pointer_v<decltype(piece.addr)>)
    return piece.addr;
  else
    return reinterpret_cast<const void*>(static_cast<uintptr_t>(piece.addr));
}

class SendRing : public WorkRing {
 public:
  // `max_wr` is how many work requests the queue takes, of any length, if `blocks` is at least
  // `max_wr` times the longest.
  void attach(void* mapping, uint32_t blocks, uint32_t max_wr) {
    WorkRing::attach(mapping, blocks, WEFT_SQ_BLOCK);
    max_wr_ = max_wr;
    posted_ = retired_ = retired_seen_ = 0;
  }

  void restart() {
    WorkRing::restart();
    posted_ = retired_ = retired_seen_ = 0;
  }

  // A completion was polled: counts its work request, and those before it that made none, as
  // polled. Completions come in the order of posting. A success is of the oldest request that is
  // signaled, an error of the oldest: behind it all complete. Unsignaled requests that succeeded
  // before the first error then count on, which matters to no queue pair that has failed.
  //
  // The requests are as we wrote them, since the poster writes over none that is not polled. A
  // process that has scribbled on them miscounts, and no more than that.
  void retire(bool success) {
    uint32_t left = load_acquire(control_->producer) - polled_;
    uint32_t count = 0;
    for (bool last = false; !last && left != 0; count++) {
      const uint8_t* entry = slot(polled_);
      const uint32_t written = entry[offsetof(weft_sq_wr, num_blocks)];
      const uint32_t blocks = written == 0 ? 1 : written < left ? written : left;
      last = !success || (entry[offsetof(weft_sq_wr, flags)] & WEFT_WR_SIGNALED) != 0;
      polled_ += blocks;
      left -= blocks;
    }
    store_release(retired_, retired_ + count);
  }

  // Free blocks, by a fresh look at the kernel's index.
  uint32_t free_slots() {
    look();
    return slots() - (producer_ - consumer_);
  }

  // Writes one work request, which the kernel sees after publish(), and fills in the
  // counts in `wr`. Returns true if the queue has room.
  template <GatherElement Sge>
  bool push(const weft_sq_wr& wr, const Sge* sges, uint32_t num_sge) {
    assert(num_sge <= WEFT_MAX_SGE);
    const uint32_t blocks = weft_sq_blocks_for_sge(num_sge);
    if (!takes(blocks))
      return false;
    weft_sq_wr head = wr;
    head.num_blocks = static_cast<uint8_t>(blocks);
    head.num_sge = static_cast<uint8_t>(num_sge);
    head.inline_len = 0;
    uint8_t* entry = slot(producer_);
    memcpy(entry, &head, WEFT_SQ_SGE_OFFSET);
    if (num_sge == 1) {  // as most have; without a call
      memcpy(entry + WEFT_SQ_SGE_OFFSET, sges, sizeof(weft_sge));
    } else {
      copy_in(WEFT_SQ_SGE_OFFSET, sges, num_sge * sizeof(weft_sge));
    }
    taken(blocks);
    return true;
  }

  // Writes a work request that is whole in its first block: an atomic, with its one
  // SGE, or one that has no payload.
  bool push_block(const weft_sq_wr& wr, uint32_t num_sge) {
    assert(num_sge <= 1);
    if (!takes(1))
      return false;
    weft_sq_wr head = wr;
    head.num_blocks = 1;
    head.num_sge = static_cast<uint8_t>(num_sge);
    head.inline_len = 0;
    memcpy(slot(producer_), &head, sizeof(head));
    taken(1);
    return true;
  }

  // Where the next work request goes, and back there: forgets the `count` that were
  // written since and not published.
  uint32_t position() const { return producer_; }
  void rewind(uint32_t position, uint32_t count) {
    producer_ = position;
    posted_ -= count;
  }

  // As push(), with the payload itself, gathered from `pieces` (addresses in this
  // process) now, so that the caller may reuse them at once. `bytes` is their sum.
  template <typename Piece>
  bool push_inline(const weft_sq_wr& wr, const Piece* pieces, size_t num_pieces, uint32_t bytes) {
    assert(bytes <= WEFT_MAX_INLINE);
    const uint32_t blocks = weft_sq_blocks_for_inline(bytes);
    if (!takes(blocks))
      return false;
    auto* head = reinterpret_cast<weft_sq_wr*>(slot(producer_));
    memcpy(head, &wr, WEFT_SQ_SGE_OFFSET);
    head->flags = static_cast<uint8_t>(wr.flags | WEFT_WR_INLINE);
    head->num_blocks = static_cast<uint8_t>(blocks);
    head->num_sge = 0;
    head->inline_len = bytes;
    uint32_t offset = WEFT_SQ_SGE_OFFSET;
    for (size_t i = 0; i < num_pieces; i++) {
      copy_in(offset, address_of(pieces[i]), pieces[i].length);
      offset += static_cast<uint32_t>(pieces[i].length);
    }
    taken(blocks);
    return true;
  }

 private:
  // Returns true if there is room for a work request of this many blocks. Looks at the kernel's
  // index and the poller's count only if those last known leave too little room.
  bool takes(uint32_t blocks) {
    if (fits(blocks))
      return true;
    look();
    return fits(blocks);
  }
  bool fits(uint32_t blocks) const {
    return posted_ - retired_seen_ < max_wr_ && slots() - (producer_ - consumer_) >= blocks;
  }
  void taken(uint32_t blocks) {
    producer_ += blocks;
    posted_++;
  }

  // Sees how far the kernel and the poller are. The kernel releases a request before it completes
  // it, so the count is read first.
  void look() {
    const uint32_t retired = load_acquire(retired_);
    // More than were posted: the process has scribbled.
    retired_seen_ = static_cast<int32_t>(posted_ - retired) < 0 ? posted_ : retired;
    const uint32_t consumer = load_acquire(control_->consumer);
    if (consumer - consumer_ <= producer_ - consumer_) {  // else a reset that we are yet to hear of
      consumer_ = consumer;
    }
  }

  // Copies to `offset` bytes past the start of the work request being written,
  // wrapping at the end of the ring.
  void copy_in(uint32_t offset, const void* from, size_t bytes) {
    if (bytes == 0)
      return;
    const size_t ring_bytes = static_cast<size_t>(slots()) * WEFT_SQ_BLOCK;
    const size_t at =
        (static_cast<size_t>(producer_ & mask_) * WEFT_SQ_BLOCK + offset) & (ring_bytes - 1);
    const size_t before_end = ring_bytes - at;
    if (bytes <= before_end) {
      memcpy(slots_ + at, from, bytes);
    } else {
      memcpy(slots_ + at, from, before_end);
      memcpy(slots_, static_cast<const uint8_t*>(from) + before_end, bytes - before_end);
    }
  }
};

class RecvRing : public WorkRing {
 public:
  // `max_wr` is how many work requests the queue takes, `entries` at most. In a `shared` queue
  // they count until a message takes them: a queue pair that is destroyed amid a message has a
  // receive that no completion tells of.
  void attach(void* mapping, uint32_t entries, uint32_t max_sge, uint32_t max_wr, bool shared) {
    WorkRing::attach(mapping, entries, weft_rq_stride(max_sge));
    max_wr_ = max_wr < entries ? max_wr : entries;
    shared_ = shared;
  }

  // The completion of a receive was polled.
  void retire() { store_release(polled_, polled_ + 1); }

  // Writes one receive work request, visible after publish(). Returns true if there is room.
  template <GatherElement Sge>
  bool push(uint64_t wr_id, const Sge* sges, uint32_t num_sge) {
    if (!takes_one())
      return false;
    const weft_rq_wr head = {.wr_id = wr_id, .num_sge = num_sge, .reserved = 0};
    uint8_t* entry = slot(producer_);
    memcpy(entry, &head, sizeof(head));
    if (num_sge == 1) {  // as most have; without a call
      memcpy(entry + sizeof(head), sges, sizeof(weft_sge));
    } else if (num_sge != 0) {
      memcpy(entry + sizeof(head), sges, num_sge * sizeof(weft_sge));
    }
    producer_++;
    return true;
  }

 private:
  bool takes_one() {
    if (producer_ - consumer_ < max_wr_)
      return true;
    consumer_ = load_acquire(shared_ ? control_->consumer : polled_);
    return producer_ - consumer_ < max_wr_;
  }
};

class CompletionRing {
 public:
  void attach(void* mapping, uint32_t entries) {
    assert(entries != 0 && (entries & (entries - 1)) == 0);
    control_ = static_cast<weft_cq_ctl*>(mapping);
    entries_ = reinterpret_cast<weft_cqe*>(static_cast<uint8_t*>(mapping) + WEFT_RING_OFFSET);
    mask_ = entries - 1;
    consumer_ = load_acquire(control_->consumer);
    arm_ = load_acquire(control_->arm);
  }

  // Moves to a new mapping, in which the kernel continues at the same indices. Completions
  // that were taken and not published are given back there.
  void move(void* mapping, uint32_t entries) {
    assert(entries != 0 && (entries & (entries - 1)) == 0);
    control_ = static_cast<weft_cq_ctl*>(mapping);
    entries_ = reinterpret_cast<weft_cqe*>(static_cast<uint8_t*>(mapping) + WEFT_RING_OFFSET);
    mask_ = entries - 1;
    publish();
  }

  // Marks the ring as overflown behind its last entry, since the kernel continues in a new
  // ring that we cannot map. (The kernel does not write this word any more.)
  void abandon() { store_release(control_->overflow, 1); }

  // The oldest completion not yet taken, or nullptr. `word` is passed out because
  // it must be read only once.
  const weft_cqe* peek(uint32_t* word) const { return at(consumer_, word); }

  void take() { consumer_++; }

  // Gives the entries taken so far back to the kernel, or those before `index`.
  void publish() { publish(consumer_); }
  void publish(uint32_t index) { store_release(control_->consumer, index); }
  uint32_t position() const { return consumer_; }

  // Completions have been lost: no more will come.
  bool overflown() const { return load_acquire(control_->overflow) != 0; }

  // Asks for an event at the next completion (the next solicited or failed one if
  // `solicited_only`). The caller must poll once more afterwards.
  //
  // Every call makes a new sequence number, so that an arm which races with the
  // kernel serving the last one is never mistaken for it. A request for any
  // completion that has not been served yet is not weakened by a later one for
  // solicited completions alone; `notified` may lag behind, and then the kernel
  // raises an event too many, which is allowed.
  void arm(bool solicited_only) {
    const uint32_t last = WEFT_CQ_ARM_SEQ(arm_);
    const bool any_pending =
        last != 0 && !WEFT_CQ_ARM_SOLICITED(arm_) && load_acquire(control_->notified) != last;
    uint32_t next = (last + 1) & (UINT32_MAX >> 1);
    if (next == 0) {  // 0 stands for "never armed"
      next = 1;
    }
    arm_ = WEFT_CQ_ARM(next, solicited_only && !any_pending);
    store_release(control_->arm, arm_);
    full_fence();
  }

  // Turns the completions of a queue pair that is gone into ones that polling
  // skips. Entries between our index and the kernel's are ours to write.
  void discard(uint32_t qp_num) {
    uint32_t word = 0;
    for (uint32_t index = consumer_; weft_cqe* entry = at(index, &word); index++) {
      if (entry->qp_num == qp_num)
        store_release(entry->word, WEFT_CQE_WORD(WEFT_CQE_FLAGS(word), 0, 0));
    }
  }

  // A completion that discard() has hit: no operation, and no error either. (The
  // kernel completes a work request of operation 0, which a program may write into its
  // ring by hand, with an error.)
  static bool discarded(uint32_t word) {
    return WEFT_CQE_OPCODE(word) == 0 && WEFT_CQE_STATUS(word) == 0;
  }

 private:
  weft_cqe* at(uint32_t index, uint32_t* word) const {
    weft_cqe* entry = &entries_[index & mask_];
    const uint32_t value = load_acquire(entry->word);
    // The phase bit is 1 on even passes over the ring and 0 on odd ones.
    const uint32_t phase = (index & (mask_ + 1)) == 0 ? WEFT_CQE_PHASE : 0;
    if ((value & WEFT_CQE_PHASE) != phase)
      return nullptr;
    *word = value;
    return entry;
  }

  weft_cq_ctl* control_;
  weft_cqe* entries_;
  uint32_t mask_;
  uint32_t consumer_;
  uint32_t arm_;  // as last written
};

}  // namespace weft

#endif  // WEFT_RING_HPP
