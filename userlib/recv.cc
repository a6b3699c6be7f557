// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// The data path: posting receives, to a queue pair or to a shared receive queue.
// Return values as in send.cc.
#include "recv.hpp"

#include <errno.h>

#include "cmd.h"
#include "qp.hpp"
#include "srq.hpp"

namespace weft {
namespace {

// Writes the chain into the ring and publishes the part that fits. Returns 0 or the reason why
// *bad_wr was not written.
int push_receives(RecvRing* ring, QueueLock* lock, uint32_t max_sge, ibv_recv_wr* wr,
                  ibv_recv_wr** bad_wr) {
  ibv_recv_wr* const first = wr;
  int ret = 0;
  QueueGuard guard(*lock);
  for (; wr != nullptr; wr = wr->next) {
    if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > max_sge)
      ret = EINVAL;
    else if (!ring->push(wr->wr_id, wr->sg_list, static_cast<uint32_t>(wr->num_sge)))
      ret = ENOMEM;
    if (ret != 0) {
      *bad_wr = wr;
      break;
    }
  }
  if (wr != first)
    ring->publish();
  return ret;
}

// Receives are taken up when a message arrives; the kernel asks for a doorbell
// only where it waits for one (a queue in the error state, to flush, or a message
// that found no receive).
template <typename Queue>
int post(RecvRing* ring, QueueLock* lock, uint32_t max_sge, Queue* queue, int (*doorbell)(Queue*),
         DoorbellError* kept, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  ibv_recv_wr* bad = nullptr;
  const int ret = push_receives(ring, lock, max_sge, wr, &bad);
  if (ret != 0)
    *bad_wr = bad;
  if (bad != wr && ring->need_doorbell()) {
    const int refused = ring_doorbell(queue, doorbell, kept);
    if (refused != 0) {
      *bad_wr = wr;
      return refused;
    }
  }
  return ret;
}

}  // namespace

int post_recv(ibv_qp* ibv, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Qp* qp = Qp::of(ibv);
  int ret = qp->doorbell_error.get();
  // With a shared receive queue there is nothing to post to.
  if (ret == 0 && (qp->rq_mapping.base() == nullptr || qp->sq.qp_state() == IBV_QPS_RESET))
    ret = EINVAL;
  if (ret != 0) {
    *bad_wr = wr;
    return ret;
  }
  return post(&qp->rq, &qp->rq_lock, qp->max_recv_sge, ibv, weft_cmd_recv_doorbell,
              &qp->doorbell_error, wr, bad_wr);
}

int post_srq_recv(ibv_srq* ibv, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Srq* srq = Srq::of(ibv);
  const int ret = srq->doorbell_error.get();
  if (ret != 0) {
    *bad_wr = wr;
    return ret;
  }
  return post(&srq->ring, &srq->lock, srq->max_sge, ibv, weft_cmd_srq_doorbell,
              &srq->doorbell_error, wr, bad_wr);
}

}  // namespace weft
