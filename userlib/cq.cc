// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cq.hpp"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include <type_traits>

#include "cmd.h"
#include "completion.hpp"
#include "context.hpp"
#include "pd.hpp"
#include "version.hpp"

namespace weft {
namespace {

static_assert(std::is_trivially_default_constructible_v<Cq>);

constexpr uint64_t kWcFlags = uint64_t{IBV_WC_STANDARD_FLAGS} |
                              IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                              IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr uint32_t kCreateFlags =
    IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
constexpr uint32_t kAttrMask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;

void translate(const weft_cqe& cqe, uint32_t word, ibv_wc* wc) {
  *wc = {};
  wc->wr_id = cqe.wr_id;
  wc->status = wc_status(word);
  wc->opcode = wc_opcode(word);
  wc->vendor_err = wc_vendor_err(cqe, word);
  wc->byte_len = cqe.byte_len;
  wc->qp_num = cqe.qp_num;
  wc->wc_flags = wc_flags(word);
  if (wc->wc_flags != 0) {
    wc->imm_data = cqe.ex;  // or invalidated_rkey, in its place
  }
}

Cq* create(ibv_context* context, const ibv_cq_init_attr_ex& attr, bool single_threaded) {
  auto* cq = static_cast<Cq*>(calloc(1, sizeof(Cq)));
  if (cq == nullptr)
    return nullptr;
  weft_create_cq_resp resp = {};
  int ret = weft_cmd_create_cq(context, &attr, &cq->base, &resp);
  if (ret != 0)
    goto free_cq;
  ret = length_matches(cq->behind, context, "struct verbs_cq")
            ? cq->mapping.map(context->cmd_fd, resp.ring)
            : EPROTONOSUPPORT;
  if (ret != 0)
    goto destroy;
  cq->lock.init(single_threaded);
  cq->ring.attach(cq->mapping.base(), resp.cqe);
  cq->qps = qps_of(context);
  return cq;

destroy:
  ibv_cmd_destroy_cq(&cq->base.cq);
free_cq:
  free(cq);
  errno = ret;
  return nullptr;
}

}  // namespace

void Cq::discard(uint32_t qp_num) {
  if (is_polled_here()) {
    ring.discard(qp_num);
    if (current_qp == qp_num)
      current_qp = 0;
    return;
  }
  QueueGuard guard(lock);
  ring.discard(qp_num);
}

ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel, int comp_vector) {
  if (cqe < 0 || comp_vector < 0) {
    errno = EINVAL;
    return nullptr;
  }
  ibv_cq_init_attr_ex attr = {};
  attr.cqe = static_cast<uint32_t>(cqe);
  attr.channel = channel;
  attr.comp_vector = static_cast<uint32_t>(comp_vector);
  Cq* cq = create(context, attr, false);
  return cq != nullptr ? &cq->base.cq : nullptr;
}

// A completion that does not fit ends the queue, also with IGNORE_OVERRUN: that flag
// allows a device not to look, and does not oblige it to. So the kernel isn't told.
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) {
  const uint32_t flags = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attr->flags : 0;
  if ((attr->comp_mask & ~kAttrMask) != 0 || (attr->wc_flags & ~kWcFlags) != 0 ||
      (flags & ~kCreateFlags) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  if (attr->cqe > INT_MAX) {
    errno = EINVAL;
    return nullptr;
  }
  bool single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
  if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) {
    // This is a parent domain: a protection domain has no part in a completion queue.
    if (attr->parent_domain == nullptr || Pd::of(attr->parent_domain)->pd == nullptr) {
      errno = EINVAL;
      return nullptr;
    }
    single_threaded |= Pd::of(attr->parent_domain)->single_threaded();
  }
  ibv_cq_init_attr_ex kernel_attr = *attr;
  kernel_attr.comp_mask = 0;
  Cq* cq = create(context, kernel_attr, single_threaded);
  if (cq == nullptr)
    return nullptr;
  set_extended_poll(cq, attr->wc_flags);
  return &cq->base.cq_ex;
}

// How many completions are worth an event, or how long fewer wait (ibv_modify_cq(3)).
int modify_cq(ibv_cq* ibv, ibv_modify_cq_attr* attr) {
  return weft_cmd_modify_cq(ibv, attr);
}

// The lock is held throughout, since nobody may poll or arm meanwhile.
int resize_cq(ibv_cq* ibv, int cqe) {
  if (cqe < 1)
    return EINVAL;
  Cq* cq = Cq::of(ibv);
  if (cq->is_polled_here())
    return EBUSY;
  weft_create_cq_resp resp = {};
  QueueGuard guard(cq->lock);
  int ret = weft_cmd_resize_cq(ibv, cqe, &resp);
  if (ret != 0)
    return ret;
  Mapping mapping = {};
  ret = mapping.map(ibv->context->cmd_fd, resp.ring);
  if (ret != 0) {
    // The kernel continues in a ring that we can't see, so its completions are lost.
    cq->ring.abandon();
    return ret;
  }
  cq->ring.move(mapping.base(), resp.cqe);
  cq->mapping.unmap();
  cq->mapping = mapping;
  return 0;
}

int destroy_cq(ibv_cq* ibv) {
  Cq* cq = Cq::of(ibv);
  const int ret = ibv_cmd_destroy_cq(ibv);
  if (ret != 0)
    return ret;
  cq->mapping.unmap();
  free(cq);
  return 0;
}

// Completions that arrived before an overflow are still handed out: their work is
// done. Then comes the error, for ever.
int poll_cq(ibv_cq* ibv, int num_entries, ibv_wc* wc) {
  Cq* cq = Cq::of(ibv);
  QueueGuard guard(cq->lock);
  int polled = 0;
  bool passed = false;

  while (polled < num_entries) {
    uint32_t word = 0;
    const weft_cqe* cqe = cq->next(&word, &passed);
    if (cqe == nullptr)
      break;
    translate(*cqe, word, &wc[polled]);
    cq->ring.publish();
    cq->retire(wc[polled].qp_num, word);
    polled++;
  }
  if (passed)
    cq->ring.publish();
  else if (num_entries > 0 && cq->ring.overflown())
    return -EOVERFLOW;
  return polled;
}

int req_notify_cq(ibv_cq* ibv, int solicited_only) {
  Cq* cq = Cq::of(ibv);
  if (cq->is_polled_here()) {
    cq->ring.arm(solicited_only != 0);
    return 0;
  }
  QueueGuard guard(cq->lock);
  cq->ring.arm(solicited_only != 0);
  return 0;
}

}  // namespace weft
