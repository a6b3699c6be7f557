// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_SRQ_HPP
#define WEFT_SRQ_HPP

#include "doorbell.hpp"
#include "lock.hpp"
#include "mapping.hpp"
#include "provider_abi.h"
#include "ring.hpp"

namespace weft {

// A shared receive queue. The lock is for the ring alone, as in Qp.
struct Srq {
  ibv_srq base;  // first: converted by address
  QueueLock lock;
  RecvRing ring;
  uint32_t max_sge;
  DoorbellError doorbell_error;
  Mapping mapping;

  static Srq* of(ibv_srq* srq) { return reinterpret_cast<Srq*>(srq); }
};
static_assert(offsetof(Srq, base) == 0);

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attr);
int modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int attr_mask);
int query_srq(ibv_srq* srq, ibv_srq_attr* attr);
int destroy_srq(ibv_srq* ibv);

}  // namespace weft

#endif  // WEFT_SRQ_HPP
