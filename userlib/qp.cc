// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "qp.hpp"

#include <errno.h>
#include <stdlib.h>

#include <type_traits>

#include "cmd.h"
#include "context.hpp"
#include "cq.hpp"
#include "pd.hpp"
#include "version.hpp"
#include "wr.hpp"

namespace weft {
namespace {

static_assert(std::is_trivially_default_constructible_v<Qp>);

int map_rings(Qp* qp, int cmd_fd, const weft_create_qp_resp& resp, const ibv_qp_cap& cap) {
  const int ret = qp->sq_mapping.map(cmd_fd, resp.sq);
  if (ret != 0)
    return ret;
  qp->sq.attach(qp->sq_mapping.base(), resp.sq_blocks, cap.max_send_wr);
  if (resp.rq.length == 0)
    return 0;
  if (const int rq_ret = qp->rq_mapping.map(cmd_fd, resp.rq))
    return rq_ret;
  qp->rq.attach(qp->rq_mapping.base(), resp.rq_entries, resp.rq_max_sge, cap.max_recv_wr, false);
  return 0;
}

void discard_completions(ibv_qp* qp) {
  if (qp->send_cq != nullptr)
    Cq::of(qp->send_cq)->discard(qp->qp_num);
  if (qp->recv_cq != nullptr && qp->recv_cq != qp->send_cq)
    Cq::of(qp->recv_cq)->discard(qp->qp_num);
}

// attr->cap gets the granted capacities.
Qp* create(ibv_qp_init_attr_ex* attr) {
  auto* qp = static_cast<Qp*>(calloc(1, sizeof(Qp)));
  if (qp == nullptr)
    return nullptr;
  weft_create_qp_resp resp = {};
  int ret = weft_cmd_create_qp(&qp->base, attr, &resp);
  if (ret != 0)
    goto free_qp;
  ret = length_matches(qp->behind, attr->pd->context, "struct verbs_qp")
            ? map_rings(qp, attr->pd->context->cmd_fd, resp, attr->cap)
            : EPROTONOSUPPORT;
  if (ret != 0)
    goto destroy;
  qp->max_send_sge = attr->cap.max_send_sge;
  qp->max_recv_sge = attr->cap.max_recv_sge;
  qp->max_inline = attr->cap.max_inline_data;
  qp->sq_sig_all = attr->sq_sig_all != 0;
  qp->sq_lock.init(Pd::of(attr->pd)->single_threaded());
  qp->rq_lock.init(Pd::of(attr->pd)->single_threaded());
  if (qps_of(attr->pd->context)->add(qp->base.qp.qp_num, qp))
    return qp;
  ret = ENOMEM;

destroy:
  ibv_cmd_destroy_qp(&qp->base.qp);
  qp->sq_mapping.unmap();
  qp->rq_mapping.unmap();
free_qp:
  free(qp);
  errno = ret;
  return nullptr;
}

}  // namespace

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) {
  ibv_qp_init_attr_ex attr_ex = {};
  attr_ex.qp_context = attr->qp_context;
  attr_ex.send_cq = attr->send_cq;
  attr_ex.recv_cq = attr->recv_cq;
  attr_ex.srq = attr->srq;
  attr_ex.cap = attr->cap;
  attr_ex.qp_type = attr->qp_type;
  attr_ex.sq_sig_all = attr->sq_sig_all;
  attr_ex.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr_ex.pd = pd;
  Qp* qp = create(&attr_ex);
  if (qp == nullptr)
    return nullptr;
  attr->cap = attr_ex.cap;
  return &qp->base.qp;
}

ibv_qp* create_qp_ex(ibv_context* /*context*/, ibv_qp_init_attr_ex* attr) {
  static constexpr uint32_t kKnown =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  const bool extended = (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if ((attr->comp_mask & ~kKnown) != 0 || (extended && (attr->send_ops_flags & ~kSendOps) != 0) ||
      ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && attr->create_flags != 0)) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) {
    errno = EINVAL;
    return nullptr;
  }
  ibv_qp_init_attr_ex kernel_attr = *attr;
  kernel_attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  Qp* qp = create(&kernel_attr);
  if (qp == nullptr)
    return nullptr;
  if (extended)
    set_wr_ops(qp);
  attr->cap = kernel_attr.cap;
  return &qp->base.qp;
}

// Destroys a queue pair and removes its completions, so that no program polls them. After
// the kernel's destroy no more come, and none is of a new queue pair with the same number,
// since the kernel hands out numbers cyclically.
int destroy_qp(ibv_qp* ibv) {
  Qp* qp = Qp::of(ibv);
  const int ret = ibv_cmd_destroy_qp(ibv);
  if (ret != 0)
    return ret;
  discard_completions(ibv);
  qps_of(ibv->context)->remove(ibv->qp_num);
  qp->sq_mapping.unmap();
  qp->rq_mapping.unmap();
  free(qp);
  return 0;
}

int modify_qp(ibv_qp* ibv, ibv_qp_attr* attr, int attr_mask) {
  Qp* qp = Qp::of(ibv);
  const int ret = weft_cmd_modify_qp(ibv, attr, attr_mask);
  if (ret != 0)
    return ret;
  if ((attr_mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET) {
    // All that was queued is gone, with its completions, which count nothing any more.
    discard_completions(ibv);
    {
      QueueGuard guard(qp->sq_lock);
      qp->sq.restart();
      qp->doorbell_error.set(0);
    }
    if (qp->rq_mapping.base() != nullptr) {
      QueueGuard guard(qp->rq_lock);
      qp->rq.restart();
    }
  }
  return 0;
}

int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int attr_mask, ibv_qp_init_attr* init_attr) {
  return weft_cmd_query_qp(qp, attr, attr_mask, init_attr);
}

}  // namespace weft
