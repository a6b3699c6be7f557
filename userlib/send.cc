// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// The data path: posting send work requests. Nothing here allocates. A call enters the kernel at
// most once, and only if the kernel asked for it.
//
// Return values are those of ibv_post_send(3): 0 or a positive errno value, with
// *bad_wr the first work request that was not posted.
//   EINVAL      the work request cannot be carried: unknown operation, too many
//               SGEs, too much inline data, or the queue pair is in no state for it
//   EOPNOTSUPP  the peer cannot take immediate data and atomics: it is not Weft
//   ENOMEM      the queue is full
//   other       the kernel refused the doorbell (see ring_doorbell)
#include "send.hpp"

#include "cmd.h"

namespace weft {
namespace {

// Bytes of the gather list, or more than `limit` if it is longer than that.
uint64_t gather_length(const ibv_sge* sges, int num_sge, uint64_t limit) {
  uint64_t bytes = 0;
  for (int i = 0; i < num_sge && bytes <= limit; i++)
    bytes += sges[i].length;
  return bytes;
}

int push_block(Qp* qp, const weft_sq_wr& head, uint32_t num_sge) {
  return qp->sq.push_block(head, num_sge) ? 0 : ENOMEM;
}

int push_payload(Qp* qp, const weft_sq_wr& head, const ibv_send_wr& wr) {
  if (wr.num_sge < 0)
    return EINVAL;
  const auto num_sge = static_cast<uint32_t>(wr.num_sge);
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    // A read has nothing to send. The list may have any number of pieces: they
    // end up as one.
    const uint64_t bytes = gather_length(wr.sg_list, wr.num_sge, qp->max_inline);
    if (head.opcode == WEFT_OP_READ || bytes > qp->max_inline)
      return EINVAL;
    return qp->sq.push_inline(head, wr.sg_list, num_sge, static_cast<uint32_t>(bytes)) ? 0 : ENOMEM;
  }
  if (num_sge > qp->max_send_sge)
    return EINVAL;
  return qp->sq.push(head, wr.sg_list, num_sge) ? 0 : ENOMEM;
}

int push_atomic(Qp* qp, weft_sq_wr* head, const ibv_send_wr& wr) {
  if (wr.num_sge != 1 || (wr.send_flags & IBV_SEND_INLINE) != 0)
    return EINVAL;
  const ibv_sge& result = wr.sg_list[0];
  head->remote_addr = wr.wr.atomic.remote_addr;
  head->rkey = wr.wr.atomic.rkey;
  head->atomic.result = {.addr = result.addr, .length = result.length, .lkey = result.lkey};
  head->atomic.operands = {.compare_add = wr.wr.atomic.compare_add, .swap = wr.wr.atomic.swap};
  const int refusal = extended_refusal(qp);
  return refusal != 0 ? refusal : push_block(qp, *head, 1);
}

int push_send(Qp* qp, const ibv_send_wr& wr) {
  weft_sq_wr head = {};
  bool extended = false;
  head.wr_id = wr.wr_id;
  head.flags = wr_flags(wr.send_flags, qp->sq_sig_all);
  switch (wr.opcode) {
    case IBV_WR_SEND:
      head.opcode = WEFT_OP_SEND;
      break;
    case IBV_WR_SEND_WITH_INV:
      head.opcode = WEFT_OP_SEND_INV;
      head.ex = wr.invalidate_rkey;
      break;
    case IBV_WR_SEND_WITH_IMM:
      head.opcode = WEFT_OP_SEND_IMM;
      head.ex = wr.imm_data;
      extended = true;
      break;
    case IBV_WR_RDMA_WRITE:
      head.opcode = WEFT_OP_WRITE;
      head.remote_addr = wr.wr.rdma.remote_addr;
      head.rkey = wr.wr.rdma.rkey;
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      head.opcode = WEFT_OP_WRITE_IMM;
      head.ex = wr.imm_data;
      head.remote_addr = wr.wr.rdma.remote_addr;
      head.rkey = wr.wr.rdma.rkey;
      extended = true;
      break;
    case IBV_WR_RDMA_READ:
      head.opcode = WEFT_OP_READ;
      head.remote_addr = wr.wr.rdma.remote_addr;
      head.rkey = wr.wr.rdma.rkey;
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      head.opcode = WEFT_OP_CMP_SWP;
      return push_atomic(qp, &head, wr);
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      head.opcode = WEFT_OP_FETCH_ADD;
      return push_atomic(qp, &head, wr);
    case IBV_WR_LOCAL_INV:
      head.opcode = WEFT_OP_LOCAL_INV;
      head.ex = wr.invalidate_rkey;
      return push_block(qp, head, 0);
    case IBV_WR_BIND_MW:
      if (const int refusal = bind_refusal(wr.bind_mw.mw, wr.bind_mw.bind_info))
        return refusal;
      head.opcode = WEFT_OP_BIND_MW;
      fill_bind(&head, wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
      return push_block(qp, head, 0);
    default:
      return EINVAL;
  }
  if (extended) {
    if (const int refusal = extended_refusal(qp))
      return refusal;
  }
  return push_payload(qp, head, wr);
}

}  // namespace

int start_sending(Qp* qp) {
  if (!qp->sq.need_doorbell())
    return 0;
  return ring_doorbell(&qp->base.qp, weft_cmd_send_doorbell, &qp->doorbell_error);
}

int post_send(ibv_qp* ibv, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  Qp* qp = Qp::of(ibv);
  ibv_send_wr* const first = wr;
  int ret = post_refusal(qp);
  if (ret != 0) {
    *bad_wr = first;
    return ret;
  }
  {
    QueueGuard guard(qp->sq_lock);
    for (; wr != nullptr; wr = wr->next) {
      ret = push_send(qp, *wr);
      if (ret != 0) {
        *bad_wr = wr;
        break;
      }
    }
    if (wr != first)
      qp->sq.publish();
  }
  if (wr != first) {
    const int refused = start_sending(qp);
    if (refused != 0) {
      *bad_wr = first;
      return refused;
    }
  }
  return ret;
}

// A type 1 window, which libibverbs has looked at: the new key is ours to choose and
// the user's to read in the window. Such a window cannot be zero-based.
int bind_mw(ibv_qp* ibv, ibv_mw* mw, ibv_mw_bind* bind) {
  Qp* qp = Qp::of(ibv);
  if (const int refusal = post_refusal(qp))
    return refusal;
  if ((bind->bind_info.mw_access_flags & (~kWindowAccess | IBV_ACCESS_ZERO_BASED)) != 0)
    return EINVAL;
  const uint32_t rkey = ibv_inc_rkey(mw->rkey);
  weft_sq_wr head = {};
  head.wr_id = bind->wr_id;
  head.opcode = WEFT_OP_BIND_MW;
  head.flags = wr_flags(bind->send_flags, qp->sq_sig_all);
  fill_bind(&head, mw, rkey, bind->bind_info);
  {
    QueueGuard guard(qp->sq_lock);
    if (const int refusal = push_block(qp, head, 0))
      return refusal;
    qp->sq.publish();
  }
  const int refused = start_sending(qp);
  if (refused == 0)
    mw->rkey = rkey;
  return refused;
}

}  // namespace weft
