// SPDX-License-Identifier: GPL-2.0
// Verbs objects that go with their owner.
#ifndef WEFT_TESTS_VERBS_OWNED_H
#define WEFT_TESTS_VERBS_OWNED_H

#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>

#include "connector.h"
#include "failure.h"
#include "suite.h"

namespace placement {

struct Free {
  void operator()(ibv_pd* pd) const { ibv_dealloc_pd(pd); }
  void operator()(ibv_cq* cq) const { ibv_destroy_cq(cq); }
  void operator()(ibv_qp* qp) const { ibv_destroy_qp(qp); }
  void operator()(ibv_srq* srq) const { ibv_destroy_srq(srq); }
  void operator()(ibv_mr* mr) const { ibv_dereg_mr(mr); }
  void operator()(ibv_mw* mw) const { ibv_dealloc_mw(mw); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Free>;
using Region = Owned<ibv_mr>;
using Window = Owned<ibv_mw>;

// A queue pair that is connected to nothing.
inline Owned<ibv_qp> unconnected_qp(const Endpoint& end) {
  ibv_qp_init_attr init{};
  init.send_cq = end.send_cq();
  init.recv_cq = end.recv_cq();
  init.cap.max_send_wr = 4;
  init.cap.max_recv_wr = 4;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  init.qp_type = IBV_QPT_RC;
  Owned<ibv_qp> qp(ibv_create_qp(end.pd(), &init));
  require(qp != nullptr, "ibv_create_qp failed");
  return qp;
}

// A window that is bound to nothing.
inline Window window_of(const Endpoint& end, ibv_mw_type type) {
  Window window(ibv_alloc_mw(end.pd(), type));
  if (window == nullptr) {
    if (errno == EOPNOTSUPP) {
      throw Lacking("the device has no memory windows");
    }
    fail_errno("ibv_alloc_mw");
  }
  return window;
}

}  // namespace placement

#endif  // WEFT_TESTS_VERBS_OWNED_H
