// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// The data path: posting work requests. Nothing here allocates; the kernel is
// entered at most once a call, and only when it asked to be.
//
// Return values are those of ibv_post_send(3): 0 or a positive errno value, with
// *bad_wr the first work request that was not posted.
//   EINVAL  the work request cannot be carried: unknown operation, too many SGEs,
//           too much inline data, or the queue pair is in no state to take it
//   ENOMEM  the queue is full
//   other   the kernel refused the doorbell (see ring_doorbell)
#include <errno.h>
#include <sched.h>

#include "cmd.h"
#include "lock.hpp"
#include "qp.hpp"

namespace weft {
namespace {

// Operations that a send queue carries. The others that verbs know, atomics,
// immediate data, memory windows and local invalidation among them, are EINVAL:
// ibv_post_send(3) has no other word for a work request that a device cannot do.
uint8_t opcode_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
      return WEFT_OP_SEND;
    case IBV_WR_SEND_WITH_INV:
      return WEFT_OP_SEND_INV;
    case IBV_WR_RDMA_WRITE:
      return WEFT_OP_WRITE;
    case IBV_WR_RDMA_READ:
      return WEFT_OP_READ;
    default:
      return 0;
  }
}

uint8_t flags_of(unsigned int send_flags, bool sig_all) {
  unsigned int flags = 0;
  if (sig_all || (send_flags & IBV_SEND_SIGNALED) != 0) {
    flags |= WEFT_WR_SIGNALED;
  }
  if ((send_flags & IBV_SEND_SOLICITED) != 0) {
    flags |= WEFT_WR_SOLICITED;
  }
  if ((send_flags & IBV_SEND_FENCE) != 0) {
    flags |= WEFT_WR_FENCE;
  }
  return static_cast<uint8_t>(flags);
}

// Bytes of the gather list, or more than `limit` if it is longer than that.
uint64_t gather_length(const ibv_sge* sges, int num_sge, uint64_t limit) {
  uint64_t bytes = 0;
  for (int i = 0; i < num_sge && bytes <= limit; i++) {
    bytes += sges[i].length;
  }
  return bytes;
}

int push_send(Qp* qp, const ibv_send_wr& wr) {
  weft_sq_wr head = {};
  head.wr_id = wr.wr_id;
  head.opcode = opcode_of(wr.opcode);
  head.flags = flags_of(wr.send_flags, qp->sq_sig_all);
  switch (head.opcode) {
    case 0:
      return EINVAL;
    case WEFT_OP_SEND_INV:
      head.ex = wr.invalidate_rkey;
      break;
    case WEFT_OP_WRITE:
    case WEFT_OP_READ:
      head.remote_addr = wr.wr.rdma.remote_addr;
      head.rkey = wr.wr.rdma.rkey;
      break;
    default:
      break;
  }
  if (wr.num_sge < 0) {
    return EINVAL;
  }
  const auto num_sge = static_cast<uint32_t>(wr.num_sge);
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    // A read has nothing to send. The list may have any number of pieces: they
    // end up as one.
    const uint64_t bytes = gather_length(wr.sg_list, wr.num_sge, qp->max_inline);
    if (head.opcode == WEFT_OP_READ || bytes > qp->max_inline) {
      return EINVAL;
    }
    return qp->sq.push_inline(head, wr.sg_list, num_sge, static_cast<uint32_t>(bytes)) ? 0 : ENOMEM;
  }
  if (num_sge > qp->max_send_sge) {
    return EINVAL;
  }
  return qp->sq.push(head, wr.sg_list, num_sge) ? 0 : ENOMEM;
}

// Enters the kernel. An interrupted or momentarily short-of-memory call is tried
// again, since the work requests are in the ring already and must not be reported
// as failed when a later doorbell could start them.
//
// Any other refusal is final: the device is gone, or the queue pair is unknown to
// the kernel. The work requests of this call are then reported as not posted,
// and so is whatever is posted later, without a look at the ring: it stays so
// until the queue pair is reset.
int ring_doorbell(Qp* qp, int (*doorbell)(ibv_qp*)) {
  static constexpr int kTries = 64;
  int ret = 0;
  for (int i = 0; i < kTries; i++) {
    ret = doorbell(&qp->base.qp);
    if (ret == EINTR || ret == EAGAIN || ret == ENOMEM) {
      sched_yield();
      continue;
    }
    break;
  }
  if (ret != 0) {
    __atomic_store_n(&qp->doorbell_error, ret, __ATOMIC_RELAXED);
  }
  return ret;
}

}  // namespace

int post_send(ibv_qp* ibv, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  Qp* qp = Qp::of(ibv);
  ibv_send_wr* const first = wr;
  int ret = __atomic_load_n(&qp->doorbell_error, __ATOMIC_RELAXED);
  if (ret != 0) {
    *bad_wr = first;
    return ret;
  }
  // The kernel moves the state (rdma_cm connects without ibv_modify_qp), so the
  // ring's word is the one to ask. In SQE and ERR work is taken and flushed.
  if (qp->sq.qp_state() < IBV_QPS_RTS) {
    *bad_wr = first;
    return EINVAL;
  }
  {
    SpinGuard guard(qp->sq_lock);
    for (; wr != nullptr; wr = wr->next) {
      ret = push_send(qp, *wr);
      if (ret != 0) {
        *bad_wr = wr;
        break;
      }
    }
    if (wr != first) {
      qp->sq.publish();
    }
  }
  if (wr != first && qp->sq.need_doorbell()) {
    const int refused = ring_doorbell(qp, weft_cmd_send_doorbell);
    if (refused != 0) {
      *bad_wr = first;
      return refused;
    }
  }
  return ret;
}

int post_recv(ibv_qp* ibv, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Qp* qp = Qp::of(ibv);
  ibv_recv_wr* const first = wr;
  int ret = __atomic_load_n(&qp->doorbell_error, __ATOMIC_RELAXED);
  if (ret != 0) {
    *bad_wr = first;
    return ret;
  }
  // With a shared receive queue there is nothing to post to.
  if (qp->rq_mapping.base() == nullptr || qp->sq.qp_state() == IBV_QPS_RESET) {
    *bad_wr = first;
    return EINVAL;
  }
  {
    SpinGuard guard(qp->rq_lock);
    for (; wr != nullptr; wr = wr->next) {
      if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > qp->max_recv_sge) {
        ret = EINVAL;
      } else if (!qp->rq.push(wr->wr_id, wr->sg_list, static_cast<uint32_t>(wr->num_sge))) {
        ret = ENOMEM;
      }
      if (ret != 0) {
        *bad_wr = wr;
        break;
      }
    }
    if (wr != first) {
      qp->rq.publish();
    }
  }
  // Receives are taken up when a message arrives; the kernel asks for a doorbell
  // only where it waits for one (a queue in the error state, to flush).
  if (wr != first && qp->rq.need_doorbell()) {
    const int refused = ring_doorbell(qp, weft_cmd_recv_doorbell);
    if (refused != 0) {
      *bad_wr = first;
      return refused;
    }
  }
  return ret;
}

}  // namespace weft
