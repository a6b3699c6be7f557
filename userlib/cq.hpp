// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_CQ_HPP
#define WEFT_CQ_HPP

#include <pthread.h>

#include "mapping.hpp"
#include "provider_abi.h"
#include "ring.hpp"

namespace weft {

struct Cq {
  verbs_cq base;  // first: converted by address
  Mapping mapping;
  pthread_spinlock_t lock;  // guards ring
  CompletionRing ring;

  static Cq* of(ibv_cq* cq) { return reinterpret_cast<Cq*>(cq); }

  // Drops the completions that queue pair `qp_num`, now gone or reset, has left.
  void discard(uint32_t qp_num);
};
static_assert(offsetof(Cq, base) == 0);

ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel, int comp_vector);
int destroy_cq(ibv_cq* ibv);
int poll_cq(ibv_cq* ibv, int num_entries, ibv_wc* wc);
int req_notify_cq(ibv_cq* ibv, int solicited_only);

}  // namespace weft

#endif  // WEFT_CQ_HPP
