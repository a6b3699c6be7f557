// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
//
// Code that ibv_post_send() (send.cc) and the ibv_wr_*() calls (wr.cc) share.
#ifndef WEFT_SEND_HPP
#define WEFT_SEND_HPP

#include <errno.h>

#include "qp.hpp"

namespace weft {

// The rights that a program may ask for in a window. Flags of the optional range are hints,
// which a provider ignores if it does not know them (ibv_reg_mr(3)). The right to write
// locally means nothing in a window, but programs ask for it.
constexpr uint32_t kWindowAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE;

int post_send(ibv_qp* ibv, ibv_send_wr* wr, ibv_send_wr** bad_wr);
int bind_mw(ibv_qp* ibv, ibv_mw* mw, ibv_mw_bind* bind);

// After publish(), with the lock dropped: enters the kernel if it asked for it.
// Returns 0 or why the kernel refused.
int start_sending(Qp* qp);

// Why no work request can be posted now, or 0.
//
// The kernel moves the state (rdma_cm connects without ibv_modify_qp), so the
// ring's word is the one to ask. In SQE and ERR work is taken and flushed.
inline int post_refusal(const Qp* qp) {
  const int error = qp->doorbell_error.get();
  return error != 0 ? error : qp->sq.qp_state() < IBV_QPS_RTS ? EINVAL : 0;
}

// Why an operation beyond plain iWARP can't be posted now, or 0. Where everything
// is flushed the peer no longer matters.
inline int extended_refusal(const Qp* qp) {
  return (qp->sq.peer() & WEFT_PEER_EXTENDED) != 0 || qp->sq.qp_state() == IBV_QPS_ERR ? 0
                                                                                       : EOPNOTSUPP;
}

inline uint8_t wr_flags(unsigned int send_flags, bool sig_all) {
  unsigned int flags = 0;
  if (sig_all || (send_flags & IBV_SEND_SIGNALED) != 0)
    flags |= WEFT_WR_SIGNALED;
  if ((send_flags & IBV_SEND_SOLICITED) != 0)
    flags |= WEFT_WR_SOLICITED;
  if ((send_flags & IBV_SEND_FENCE) != 0)
    flags |= WEFT_WR_FENCE;
  return static_cast<uint8_t>(flags);
}

// Why post_send() and ibv_wr_bind_mw() don't bind a window like this, or 0. The kernel
// would refuse it as well, at the cost of the connection.
inline int bind_refusal(const ibv_mw* mw, const ibv_mw_bind_info& info) {
  return mw->type == IBV_MW_TYPE_2 && (info.mw_access_flags & ~kWindowAccess) == 0 ? 0 : EINVAL;
}

inline void fill_bind(weft_sq_wr* head, const ibv_mw* mw, uint32_t rkey,
                      const ibv_mw_bind_info& info) {
  head->ex = mw->rkey;
  head->rkey = rkey;
  head->bind = {.addr = info.addr,
                .length = info.length,
                .lkey = info.mr != nullptr ? info.mr->lkey : 0,
                .access = info.mw_access_flags & ~uint32_t{IBV_ACCESS_OPTIONAL_RANGE},
                .reserved = 0};
}

}  // namespace weft

#endif  // WEFT_SEND_HPP
