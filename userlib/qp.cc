// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "qp.hpp"

#include <errno.h>
#include <stdlib.h>

#include <type_traits>

#include "cmd.h"
#include "cq.hpp"
#include "lock.hpp"

namespace weft {
namespace {

static_assert(std::is_trivially_default_constructible_v<Qp>);

int map_rings(Qp* qp, int cmd_fd, const weft_create_qp_resp& resp) {
  const int ret = qp->sq_mapping.map(cmd_fd, resp.sq);
  if (ret != 0) {
    return ret;
  }
  qp->sq.attach(qp->sq_mapping.base(), resp.sq_blocks);
  if (resp.rq.length == 0) {
    return 0;
  }
  if (const int rq_ret = qp->rq_mapping.map(cmd_fd, resp.rq)) {
    return rq_ret;
  }
  qp->rq.attach(qp->rq_mapping.base(), resp.rq_entries, resp.rq_max_sge);
  return 0;
}

void discard_completions(ibv_qp* qp) {
  if (qp->send_cq != nullptr) {
    Cq::of(qp->send_cq)->discard(qp->qp_num);
  }
  if (qp->recv_cq != nullptr && qp->recv_cq != qp->send_cq) {
    Cq::of(qp->recv_cq)->discard(qp->qp_num);
  }
}

}  // namespace

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  auto* qp = static_cast<Qp*>(calloc(1, sizeof(Qp)));
  if (qp == nullptr) {
    return nullptr;
  }
  weft_create_qp_resp resp = {};
  int ret = weft_cmd_create_qp(pd, &qp->base.qp, attr, &resp);
  if (ret != 0) {
    goto free_qp;
  }
  ret = map_rings(qp, pd->context->cmd_fd, resp);
  if (ret != 0) {
    goto destroy;
  }
  qp->max_send_sge = attr->cap.max_send_sge;
  qp->max_recv_sge = attr->cap.max_recv_sge;
  qp->max_inline = attr->cap.max_inline_data;
  qp->sq_sig_all = attr->sq_sig_all != 0;
  pthread_spin_init(&qp->sq_lock, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_init(&qp->rq_lock, PTHREAD_PROCESS_PRIVATE);
  return &qp->base.qp;

destroy:
  ibv_cmd_destroy_qp(&qp->base.qp);
  qp->sq_mapping.unmap();
  qp->rq_mapping.unmap();
free_qp:
  free(qp);
  errno = ret;
  return nullptr;
}

// After the kernel's destroy no completion of this queue pair comes any more, and
// those that wait in the CQs must not be polled. (The kernel hands out numbers
// cyclically, so that a new queue pair cannot have this one's yet.)
int destroy_qp(ibv_qp* ibv) {
  Qp* qp = Qp::of(ibv);
  const int ret = ibv_cmd_destroy_qp(ibv);
  if (ret != 0) {
    return ret;
  }
  discard_completions(ibv);
  qp->sq_mapping.unmap();
  qp->rq_mapping.unmap();
  pthread_spin_destroy(&qp->sq_lock);
  pthread_spin_destroy(&qp->rq_lock);
  free(qp);
  return 0;
}

int modify_qp(ibv_qp* ibv, ibv_qp_attr* attr, int attr_mask) {
  Qp* qp = Qp::of(ibv);
  const int ret = weft_cmd_modify_qp(ibv, attr, attr_mask);
  if (ret != 0) {
    return ret;
  }
  if ((attr_mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET) {
    // Whatever was queued is gone, with its completions.
    {
      SpinGuard guard(qp->sq_lock);
      qp->sq.restart();
      __atomic_store_n(&qp->doorbell_error, 0, __ATOMIC_RELAXED);
    }
    if (qp->rq_mapping.base() != nullptr) {
      SpinGuard guard(qp->rq_lock);
      qp->rq.restart();
    }
    discard_completions(ibv);
  }
  return 0;
}

int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr) {
  return weft_cmd_query_qp(qp, attr, attr_mask, init_attr);
}

}  // namespace weft
