// SPDX-License-Identifier: GPL-2.0
// The objects of rdma_cm and verbs, each with an owner that destroys it.
#ifndef WEFT_APPS_RDMA_OBJECTS_H
#define WEFT_APPS_RDMA_OBJECTS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <optional>
#include <vector>

#include "deadline.h"

namespace apps {

template <auto kDestroy>
struct Destroy {
  template <typename Object>
  void operator()(Object* object) const {
    kDestroy(object);
  }
};

using Channel = std::unique_ptr<rdma_event_channel, Destroy<rdma_destroy_event_channel>>;
// The queue pair goes with it.
inline void destroy_identifier(rdma_cm_id* id) {
  if (id->qp != nullptr) {
    rdma_destroy_qp(id);
  }
  rdma_destroy_id(id);
}
using Identifier = std::unique_ptr<rdma_cm_id, Destroy<destroy_identifier>>;
using Domain = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using Memory = std::unique_ptr<ibv_mr, Destroy<ibv_dereg_mr>>;
using Completions = std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using Queue = std::unique_ptr<ibv_cq, Destroy<ibv_destroy_cq>>;

// The news of a connection, taken from its channel.
struct Event {
  rdma_cm_event_type type;
  int status;
  rdma_cm_id* id;
  std::vector<std::byte> private_data;
};

// A channel whose descriptor does not block. Throws no_device() on a host that has none at all.
Channel make_channel(const Address& address);
Identifier make_identifier(const Channel& channel);

// The next event of the channel; none if there is none by the deadline.
std::optional<Event> next_event(rdma_event_channel* channel, const Deadline& deadline);

// Makes reads of a descriptor return EAGAIN instead of waiting.
void unblock(int descriptor);

// "no RDMA device reaches 10.0.0.1:3640: rdma link add weft0 type weft netdev eth0", with the
// network device that packets to `address` leave by.
Failure no_device(const Address& address);

}  // namespace apps

#endif  // WEFT_APPS_RDMA_OBJECTS_H
