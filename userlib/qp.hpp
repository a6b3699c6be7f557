// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_QP_HPP
#define WEFT_QP_HPP

#include "doorbell.hpp"
#include "lock.hpp"
#include "mapping.hpp"
#include "provider_abi.h"
#include "ring.hpp"
#include "room.hpp"

namespace weft {

// The state between ibv_wr_start() and ibv_wr_complete(), under the send queue's lock
// (wr.cc).
struct Building {
  weft_sq_wr head;  // of the work request that waits for its data
  bool waiting;
  int error;       // the first; nothing is written after it
  uint32_t start;  // where the ring stood
  uint32_t count;  // work requests written since
};

// Each queue has its own lock, for its ring alone; neither is held across a
// system call, and neither is taken inside the other or inside a CQ's.
struct Qp {
  verbs_qp base;  // first: converted by address
  Room behind;

  QueueLock sq_lock;
  SendRing sq;
  uint32_t max_send_sge;
  uint32_t max_inline;
  bool sq_sig_all;
  DoorbellError doorbell_error;
  Building building;

  QueueLock rq_lock;
  RecvRing rq;
  uint32_t max_recv_sge;

  Mapping sq_mapping;
  Mapping rq_mapping;  // not mapped with a shared receive queue

  static Qp* of(ibv_qp* qp) { return reinterpret_cast<Qp*>(qp); }
};
static_assert(offsetof(Qp, base) == 0);

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr);
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr);
int destroy_qp(ibv_qp* ibv);
int modify_qp(ibv_qp* ibv, ibv_qp_attr* attr, int attr_mask);
int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr);

}  // namespace weft

#endif  // WEFT_QP_HPP
