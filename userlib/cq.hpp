// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_CQ_HPP
#define WEFT_CQ_HPP

#include <pthread.h>

#include "lock.hpp"
#include "mapping.hpp"
#include "provider_abi.h"
#include "qp.hpp"
#include "qp_table.hpp"
#include "ring.hpp"
#include "room.hpp"

namespace weft {

struct Cq {
  verbs_cq base;  // first: converted by address
  Room behind;
  Mapping mapping;
  QueueLock lock;  // guards ring
  CompletionRing ring;

  // From ibv_start_poll() to ibv_end_poll(), under the lock (cq_ex.cc). The entry
  // stays ours until it is given back at the end.
  const weft_cqe* current;
  uint32_t word;             // of it
  uint32_t current_qp;       // whose it is; 0: of a queue pair that is gone or reset
  pthread_t poller;          // in whose poll the queue is; atomic
  bool wallclock;            // asked for at creation
  int64_t wallclock_offset;  // ns from our timestamps to the time of day
  const QpTable* qps;

  static Cq* of(ibv_cq* cq) { return reinterpret_cast<Cq*>(cq); }

  // Whether the calling thread is within ibv_start_poll() and ibv_end_poll(), and so has the lock.
  bool is_polled_here() const {
    return __atomic_load_n(&poller, __ATOMIC_RELAXED) == pthread_self();
  }

  // Takes the next completion that polling may show; nullptr if there is none.
  // `passed` tells that some were taken on the way, shown or not.
  const weft_cqe* next(uint32_t* word_out, bool* passed);

  // Counts the work request of a completion as polled. Its entry has been given back before:
  // a request that takes the freed place may complete at once.
  void retire(uint32_t qp_num, uint32_t polled_word) const;

  // Drops the completions that queue pair `qp_num`, now gone or reset, has left.
  void discard(uint32_t qp_num);
};
static_assert(offsetof(Cq, base) == 0);

inline const weft_cqe* Cq::next(uint32_t* word_out, bool* passed) {
  while (const weft_cqe* cqe = ring.peek(word_out)) {
    ring.take();
    *passed = true;
    if (!CompletionRing::discarded(*word_out))
      return cqe;
  }
  return nullptr;
}

inline void Cq::retire(uint32_t qp_num, uint32_t polled_word) const {
  Qp* qp = qps->find(qp_num);
  if (qp == nullptr)
    return;
  if (WEFT_CQE_OPCODE(polled_word) >= WEFT_OP_RECV)
    qp->rq.retire();
  else
    qp->sq.retire(WEFT_CQE_STATUS(polled_word) == IBV_WC_SUCCESS);
}

ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel, int comp_vector);
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr);
int modify_cq(ibv_cq* ibv, ibv_modify_cq_attr* attr);
int resize_cq(ibv_cq* ibv, int cqe);
int destroy_cq(ibv_cq* ibv);
int poll_cq(ibv_cq* ibv, int num_entries, ibv_wc* wc);
int req_notify_cq(ibv_cq* ibv, int solicited_only);

// cq_ex.cc: gives a queue made with `wc_flags` the calls of struct ibv_cq_ex.
void set_extended_poll(Cq* cq, uint64_t wc_flags);

}  // namespace weft

#endif  // WEFT_CQ_HPP
