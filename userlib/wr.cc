// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Posting through struct ibv_qp_ex: ibv_wr_start(), then for each work request its
// operation and (where it has one) its data, then ibv_wr_complete() or abort.
//
// ibv_wr_start() locks the send queue until the end. Work requests go into the ring as they come;
// the kernel sees them when ibv_wr_complete() publishes them. After a mistake the rest is ignored,
// and the end returns the error and takes all of it back.
#include "wr.hpp"

#include <errno.h>

#include "send.hpp"

namespace weft {
namespace {

Qp* of(ibv_qp_ex* qp) {
  return Qp::of(&qp->qp_base);
}

bool is_atomic(uint8_t opcode) {
  return opcode == WEFT_OP_CMP_SWP || opcode == WEFT_OP_FETCH_ADD;
}

// Notes the outcome of a work request.
void note(Qp* qp, int error) {
  qp->building.waiting = false;
  if (error != 0)
    qp->building.error = error;
  else
    qp->building.count++;
}

void push_sges(Qp* qp, const ibv_sge* sges, size_t num_sge) {
  weft_sq_wr& head = qp->building.head;
  const bool atomic = is_atomic(head.opcode);
  if (num_sge > qp->max_send_sge || (atomic && num_sge != 1)) {
    note(qp, EINVAL);
  } else if (atomic) {
    head.atomic.result = {.addr = sges->addr, .length = sges->length, .lkey = sges->lkey};
    note(qp, qp->sq.push_block(head, 1) ? 0 : ENOMEM);
  } else {
    note(qp, qp->sq.push(head, sges, static_cast<uint32_t>(num_sge)) ? 0 : ENOMEM);
  }
}

// An operation without data (before the next one, or at the end) is a message of
// length zero.
void finish_waiting(Qp* qp) {
  if (qp->building.waiting)
    push_sges(qp, nullptr, 0);
}

// Begins a work request. nullptr: something is wrong already.
weft_sq_wr* begin(Qp* qp, uint8_t opcode) {
  finish_waiting(qp);
  if (qp->building.error != 0)
    return nullptr;
  weft_sq_wr* head = &qp->building.head;
  *head = {};
  head->wr_id = qp->base.qp_ex.wr_id;
  head->opcode = opcode;
  head->flags = wr_flags(qp->base.qp_ex.wr_flags, qp->sq_sig_all);
  qp->building.waiting = true;
  return head;
}

weft_sq_wr* begin_extended(Qp* qp, uint8_t opcode) {
  weft_sq_wr* head = begin(qp, opcode);
  if (head != nullptr) {
    if (const int refusal = extended_refusal(qp)) {
      note(qp, refusal);
      return nullptr;
    }
  }
  return head;
}

void wr_send(ibv_qp_ex* ex) {
  begin(of(ex), WEFT_OP_SEND);
}

void wr_send_imm(ibv_qp_ex* ex, __be32 imm_data) {
  if (weft_sq_wr* head = begin_extended(of(ex), WEFT_OP_SEND_IMM))
    head->ex = imm_data;
}

void wr_send_inv(ibv_qp_ex* ex, uint32_t invalidate_rkey) {
  if (weft_sq_wr* head = begin(of(ex), WEFT_OP_SEND_INV))
    head->ex = invalidate_rkey;
}

void wr_rdma_write(ibv_qp_ex* ex, uint32_t rkey, uint64_t remote_addr) {
  if (weft_sq_wr* head = begin(of(ex), WEFT_OP_WRITE)) {
    head->rkey = rkey;
    head->remote_addr = remote_addr;
  }
}

void wr_rdma_write_imm(ibv_qp_ex* ex, uint32_t rkey, uint64_t remote_addr, __be32 imm_data) {
  if (weft_sq_wr* head = begin_extended(of(ex), WEFT_OP_WRITE_IMM)) {
    head->rkey = rkey;
    head->remote_addr = remote_addr;
    head->ex = imm_data;
  }
}

void wr_rdma_read(ibv_qp_ex* ex, uint32_t rkey, uint64_t remote_addr) {
  if (weft_sq_wr* head = begin(of(ex), WEFT_OP_READ)) {
    head->rkey = rkey;
    head->remote_addr = remote_addr;
  }
}

void begin_atomic(ibv_qp_ex* ex, uint8_t opcode, uint32_t rkey, uint64_t remote_addr,
                  const weft_atomic_operands& operands) {
  if (weft_sq_wr* head = begin_extended(of(ex), opcode)) {
    head->rkey = rkey;
    head->remote_addr = remote_addr;
    head->atomic.operands = operands;
  }
}

void wr_atomic_cmp_swp(ibv_qp_ex* ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
                       uint64_t swap) {
  begin_atomic(ex, WEFT_OP_CMP_SWP, rkey, remote_addr, {.compare_add = compare, .swap = swap});
}

void wr_atomic_fetch_add(ibv_qp_ex* ex, uint32_t rkey, uint64_t remote_addr, uint64_t add) {
  begin_atomic(ex, WEFT_OP_FETCH_ADD, rkey, remote_addr, {.compare_add = add, .swap = 0});
}

// These two have no data and are complete at once.
void wr_local_inv(ibv_qp_ex* ex, uint32_t invalidate_rkey) {
  Qp* qp = of(ex);
  if (weft_sq_wr* head = begin(qp, WEFT_OP_LOCAL_INV)) {
    head->ex = invalidate_rkey;
    note(qp, qp->sq.push_block(*head, 0) ? 0 : ENOMEM);
  }
}

void wr_bind_mw(ibv_qp_ex* ex, ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info* bind_info) {
  Qp* qp = of(ex);
  if (weft_sq_wr* head = begin(qp, WEFT_OP_BIND_MW)) {
    const int refusal = bind_refusal(mw, *bind_info);
    fill_bind(head, mw, rkey, *bind_info);
    note(qp, refusal != 0 ? refusal : qp->sq.push_block(*head, 0) ? 0 : ENOMEM);
  }
}

// ---- data -------------------------------------------------------------------

// Is there an operation that data can be given to? If not, that is the mistake.
bool takes_data(Qp* qp) {
  if (!qp->building.waiting && qp->building.error == 0)
    qp->building.error = EINVAL;
  return qp->building.waiting;
}

void wr_set_sge_list(ibv_qp_ex* ex, size_t num_sge, const ibv_sge* sg_list) {
  Qp* qp = of(ex);
  if (takes_data(qp))
    push_sges(qp, sg_list, num_sge);
}

void wr_set_sge(ibv_qp_ex* ex, uint32_t lkey, uint64_t addr, uint32_t length) {
  const ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};
  wr_set_sge_list(ex, 1, &sge);
}

void wr_set_inline_data_list(ibv_qp_ex* ex, size_t num_buf, const ibv_data_buf* buf_list) {
  Qp* qp = of(ex);
  if (!takes_data(qp))
    return;
  const weft_sq_wr& head = qp->building.head;
  size_t bytes = 0;
  for (size_t i = 0; i < num_buf; i++) {
    if (buf_list[i].length > qp->max_inline - bytes) {
      note(qp, EINVAL);
      return;
    }
    bytes += buf_list[i].length;
  }
  if (head.opcode == WEFT_OP_READ || is_atomic(head.opcode)) {
    note(qp, EINVAL);
    return;
  }
  const bool fits = qp->sq.push_inline(head, buf_list, num_buf, static_cast<uint32_t>(bytes));
  note(qp, fits ? 0 : ENOMEM);
}

void wr_set_inline_data(ibv_qp_ex* ex, void* addr, size_t length) {
  const ibv_data_buf buffer = {.addr = addr, .length = length};
  wr_set_inline_data_list(ex, 1, &buffer);
}

// ---- begin and end ----------------------------------------------------------

void wr_start(ibv_qp_ex* ex) {
  Qp* qp = of(ex);
  qp->sq_lock.lock();
  qp->building.waiting = false;
  qp->building.error = post_refusal(qp);
  qp->building.start = qp->sq.position();
  qp->building.count = 0;
}

int wr_complete(ibv_qp_ex* ex) {
  Qp* qp = of(ex);
  finish_waiting(qp);
  const int error = qp->building.error;
  if (error != 0)
    qp->sq.rewind(qp->building.start, qp->building.count);
  const bool posted = qp->sq.position() != qp->building.start;
  if (posted)
    qp->sq.publish();
  qp->sq_lock.unlock();
  return posted ? start_sending(qp) : error;
}

void wr_abort(ibv_qp_ex* ex) {
  Qp* qp = of(ex);
  qp->building.waiting = false;
  qp->sq.rewind(qp->building.start, qp->building.count);
  qp->sq_lock.unlock();
}

}  // namespace

void set_wr_ops(Qp* qp) {
  ibv_qp_ex* ex = &qp->base.qp_ex;
  ex->wr_start = wr_start;
  ex->wr_complete = wr_complete;
  ex->wr_abort = wr_abort;
  ex->wr_send = wr_send;
  ex->wr_send_imm = wr_send_imm;
  ex->wr_send_inv = wr_send_inv;
  ex->wr_rdma_write = wr_rdma_write;
  ex->wr_rdma_write_imm = wr_rdma_write_imm;
  ex->wr_rdma_read = wr_rdma_read;
  ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
  ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
  ex->wr_local_inv = wr_local_inv;
  ex->wr_bind_mw = wr_bind_mw;
  ex->wr_set_sge = wr_set_sge;
  ex->wr_set_sge_list = wr_set_sge_list;
  ex->wr_set_inline_data = wr_set_inline_data;
  ex->wr_set_inline_data_list = wr_set_inline_data_list;
  qp->base.comp_mask |= VERBS_QP_EX;
}

}  // namespace weft
