// SPDX-License-Identifier: GPL-2.0
// The objects of verbs and rdma_cm, each with an owner that destroys it.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>

#include "failure.h"

namespace rdma {

inline void end_queue_pair(rdma_cm_id* id) {
  if (id->qp != nullptr) rdma_destroy_qp(id);
}

struct Destroy {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
  void operator()(ibv_pd* pd) const { ibv_dealloc_pd(pd); }
  void operator()(ibv_td* td) const { ibv_dealloc_td(td); }
  void operator()(ibv_mr* mr) const { ibv_dereg_mr(mr); }
  void operator()(ibv_mw* mw) const { ibv_dealloc_mw(mw); }
  void operator()(ibv_comp_channel* channel) const { ibv_destroy_comp_channel(channel); }
  void operator()(ibv_cq* cq) const { ibv_destroy_cq(cq); }
  void operator()(ibv_srq* srq) const { ibv_destroy_srq(srq); }
  void operator()(ibv_qp* qp) const { ibv_destroy_qp(qp); }
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
  void operator()(rdma_cm_event* event) const { rdma_ack_cm_event(event); }
  // The queue pair goes with it.
  void operator()(rdma_cm_id* id) const {
    end_queue_pair(id);
    rdma_destroy_id(id);
  }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Destroy>;
using Channel = Owned<rdma_event_channel>;
using Identifier = Owned<rdma_cm_id>;

// What a call has made. Throws Failure if that is NULL.
template <typename Object>
Owned<Object> own(Object* object, const std::string& call) {
  if (object == nullptr) fail_errno(call);
  return Owned<Object>(object);
}

// The capacities of a queue pair whose work requests have one SGE at most.
inline ibv_qp_init_attr queue_pair(ibv_cq* cq, std::uint32_t sends, std::uint32_t receives) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {sends, receives, 1, 1, 0};
  return init;
}

// Takes a queue pair to that state. Throws Failure.
inline void modify(ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  require_zero(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "ibv_modify_qp");
}

// Asks for these attributes (enum ibv_qp_attr_mask). Throws Failure.
inline ibv_qp_attr query(ibv_qp* qp, int wanted) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  require_zero(ibv_query_qp(qp, &attr, wanted, &init), "ibv_query_qp");
  return attr;
}

// Opens a device by its name. Throws Failure.
inline Owned<ibv_context> open_device(const std::string& name) {
  int count = 0;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(ibv_get_device_list(&count),
                                                                  ibv_free_device_list);
  for (int at = 0; list != nullptr && at < count; ++at) {
    if (name == ibv_get_device_name(list.get()[at]))
      return own(ibv_open_device(list.get()[at]), "opening " + name);
  }
  throw Failure(Cause::kDevice, "there is no device " + name + "; see ibv_devices");
}

}  // namespace rdma
