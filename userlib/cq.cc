// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cq.hpp"

#include <errno.h>
#include <stdlib.h>

#include <type_traits>

#include "cmd.h"
#include "lock.hpp"

namespace weft {
namespace {

static_assert(std::is_trivially_default_constructible_v<Cq>);

ibv_wc_opcode opcode_of(uint32_t opcode) {
  switch (opcode) {
    case WEFT_OP_WRITE:
      return IBV_WC_RDMA_WRITE;
    case WEFT_OP_READ:
      return IBV_WC_RDMA_READ;
    case WEFT_OP_RECV:
      return IBV_WC_RECV;
    default:  // WEFT_OP_SEND, WEFT_OP_SEND_INV
      return IBV_WC_SEND;
  }
}

void translate(const weft_cqe& cqe, uint32_t word, ibv_wc* wc) {
  *wc = {};
  wc->wr_id = cqe.wr_id;
  wc->status = static_cast<ibv_wc_status>(WEFT_CQE_STATUS(word));
  wc->opcode = opcode_of(WEFT_CQE_OPCODE(word));
  wc->qp_num = cqe.qp_num;
  wc->byte_len = cqe.byte_len;
  if (wc->status != IBV_WC_SUCCESS) {
    wc->vendor_err = cqe.ex;
  } else if (WEFT_CQE_FLAGS(word) & WEFT_CQE_WITH_INV) {
    wc->wc_flags = IBV_WC_WITH_INV;
    wc->invalidated_rkey = cqe.ex;
  }
}

}  // namespace

void Cq::discard(uint32_t qp_num) {
  SpinGuard guard(lock);
  ring.discard(qp_num);
}

ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel, int comp_vector) {
  auto* cq = static_cast<Cq*>(calloc(1, sizeof(Cq)));
  if (cq == nullptr) {
    return nullptr;
  }
  weft_create_cq_resp resp = {};
  int ret = weft_cmd_create_cq(context, cqe, channel, comp_vector, &cq->base.cq, &resp);
  if (ret != 0) {
    goto free_cq;
  }
  ret = cq->mapping.map(context->cmd_fd, resp.ring);
  if (ret != 0) {
    goto destroy;
  }
  pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
  cq->ring.attach(cq->mapping.base(), resp.cqe);
  return &cq->base.cq;

destroy:
  ibv_cmd_destroy_cq(&cq->base.cq);
free_cq:
  free(cq);
  errno = ret;
  return nullptr;
}

int destroy_cq(ibv_cq* ibv) {
  Cq* cq = Cq::of(ibv);
  const int ret = ibv_cmd_destroy_cq(ibv);
  if (ret != 0) {
    return ret;
  }
  cq->mapping.unmap();
  pthread_spin_destroy(&cq->lock);
  free(cq);
  return 0;
}

// Completions that arrived before an overflow are still handed out: their work is
// done. Then comes the error, for ever.
int poll_cq(ibv_cq* ibv, int num_entries, ibv_wc* wc) {
  Cq* cq = Cq::of(ibv);
  SpinGuard guard(cq->lock);
  int polled = 0;
  bool taken = false;

  while (polled < num_entries) {
    uint32_t word = 0;
    const weft_cqe* cqe = cq->ring.peek(&word);
    if (cqe == nullptr) {
      break;
    }
    if (!CompletionRing::discarded(word)) {
      translate(*cqe, word, &wc[polled]);
      polled++;
    }
    cq->ring.take();
    taken = true;
  }
  if (taken) {
    cq->ring.publish();
  } else if (num_entries > 0 && cq->ring.overflown()) {
    return -EOVERFLOW;
  }
  return polled;
}

int req_notify_cq(ibv_cq* ibv, int solicited_only) {
  Cq* cq = Cq::of(ibv);
  SpinGuard guard(cq->lock);
  cq->ring.arm(solicited_only != 0);
  return 0;
}

}  // namespace weft
