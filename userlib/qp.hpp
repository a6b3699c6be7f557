// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_QP_HPP
#define WEFT_QP_HPP

#include <pthread.h>

#include "mapping.hpp"
#include "provider_abi.h"
#include "ring.hpp"

namespace weft {

// Each queue has its own lock, for its ring alone; neither is held across a
// system call, and neither is taken inside the other or inside a CQ's.
struct Qp {
  verbs_qp base;  // first: converted by address

  pthread_spinlock_t sq_lock;
  SendRing sq;
  uint32_t max_send_sge;
  uint32_t max_inline;
  bool sq_sig_all;
  int doorbell_error;  // positive errno once the kernel has refused a doorbell

  pthread_spinlock_t rq_lock;
  RecvRing rq;
  uint32_t max_recv_sge;  // 0 with rq_mapping unmapped: there is no receive queue

  Mapping sq_mapping;
  Mapping rq_mapping;

  static Qp* of(ibv_qp* qp) { return reinterpret_cast<Qp*>(qp); }
};
static_assert(offsetof(Qp, base) == 0);

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr);
int destroy_qp(ibv_qp* ibv);
int modify_qp(ibv_qp* ibv, ibv_qp_attr* attr, int attr_mask);
int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr);

// post.cc
int post_send(ibv_qp* ibv, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int post_recv(ibv_qp* ibv, ibv_recv_wr* wr, ibv_recv_wr** bad_wr);

}  // namespace weft

#endif  // WEFT_QP_HPP
