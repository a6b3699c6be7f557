// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Polling through struct ibv_cq_ex: one completion at a time, and of it only the fields that the
// program reads. A start that finds a completion locks the queue until the end.
#include <assert.h>
#include <errno.h>

#include "clock.hpp"
#include "completion.hpp"
#include "cq.hpp"

namespace weft {
namespace {

Cq* of(ibv_cq_ex* cq) {
  return Cq::of(ibv_cq_ex_to_cq(cq));
}

// Makes the next completion the current one. Returns true if there is one.
bool advance(Cq* cq, bool* passed) {
  const weft_cqe* cqe = cq->next(&cq->word, passed);
  if (cqe == nullptr)
    return false;
  cq->current = cqe;
  cq->current_qp = cqe->qp_num;
  cq->base.cq_ex.wr_id = cqe->wr_id;
  cq->base.cq_ex.status = wc_status(cq->word);
  return true;
}

int start_poll(ibv_cq_ex* ibv, ibv_poll_cq_attr* attr) {
  Cq* cq = of(ibv);
  if (attr->comp_mask != 0)
    return EINVAL;
  bool passed = false;
  cq->lock.lock();
  if (advance(cq, &passed)) {
    __atomic_store_n(&cq->poller, pthread_self(), __ATOMIC_RELAXED);
    if (cq->wallclock)
      cq->wallclock_offset = read_clock_ns(CLOCK_REALTIME) - read_clock_ns(kCompletionClock);
    return 0;
  }
  const int ret = !passed && cq->ring.overflown() ? EOVERFLOW : ENOENT;
  if (passed)
    cq->ring.publish();
  cq->lock.unlock();
  return ret;
}

int next_poll(ibv_cq_ex* ibv) {
  Cq* cq = of(ibv);
  const uint32_t qp_num = cq->current_qp;
  const uint32_t word = cq->word;
  const uint32_t behind = cq->ring.position();
  bool passed = false;
  if (!advance(cq, &passed))
    return ENOENT;
  cq->ring.publish(behind);
  cq->retire(qp_num, word);
  return 0;
}

void end_poll(ibv_cq_ex* ibv) {
  Cq* cq = of(ibv);
  cq->ring.publish();
  cq->retire(cq->current_qp, cq->word);
  cq->current = nullptr;
  __atomic_store_n(&cq->poller, pthread_t{}, __ATOMIC_RELAXED);
  cq->lock.unlock();
}

const weft_cqe& current(ibv_cq_ex* ibv) {
  const Cq* cq = of(ibv);
  assert(cq->current != nullptr);
  return *cq->current;
}

ibv_wc_opcode read_opcode(ibv_cq_ex* ibv) {
  return wc_opcode(of(ibv)->word);
}

uint32_t read_vendor_err(ibv_cq_ex* ibv) {
  return wc_vendor_err(current(ibv), of(ibv)->word);
}

unsigned int read_wc_flags(ibv_cq_ex* ibv) {
  return wc_flags(of(ibv)->word);
}

uint32_t read_byte_len(ibv_cq_ex* ibv) {
  return current(ibv).byte_len;
}

// The invalidated key is read by this call too.
__be32 read_imm_data(ibv_cq_ex* ibv) {
  return current(ibv).ex;
}

uint32_t read_qp_num(ibv_cq_ex* ibv) {
  return current(ibv).qp_num;
}

// Fields that only InfiniBand's datagrams have, with the values of ibv_poll_cq().
template <typename Value>
Value read_nothing(ibv_cq_ex* /*ibv*/) {
  return 0;
}

uint64_t read_completion_ts(ibv_cq_ex* ibv) {
  return current(ibv).timestamp;
}

uint64_t read_completion_wallclock_ns(ibv_cq_ex* ibv) {
  return current(ibv).timestamp + static_cast<uint64_t>(of(ibv)->wallclock_offset);
}

}  // namespace

void set_extended_poll(Cq* cq, uint64_t wc_flags) {
  ibv_cq_ex* ex = &cq->base.cq_ex;
  ex->start_poll = start_poll;
  ex->next_poll = next_poll;
  ex->end_poll = end_poll;
  ex->read_opcode = read_opcode;
  ex->read_vendor_err = read_vendor_err;
  ex->read_wc_flags = read_wc_flags;
  ex->read_byte_len = read_byte_len;
  ex->read_imm_data = read_imm_data;
  ex->read_qp_num = read_qp_num;
  ex->read_src_qp = read_nothing<uint32_t>;
  ex->read_slid = read_nothing<uint32_t>;
  ex->read_sl = read_nothing<uint8_t>;
  ex->read_dlid_path_bits = read_nothing<uint8_t>;
  // Fields that cost something are only for programs that asked for them.
  if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0)
    ex->read_completion_ts = read_completion_ts;
  if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0) {
    ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
    cq->wallclock = true;
  }
}

}  // namespace weft
