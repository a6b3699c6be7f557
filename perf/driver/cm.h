// SPDX-License-Identifier: GPL-2.0
// rdma_cm's objects with owners: an event channel, an identifier on it.
#ifndef WEFT_PERF_CM_H
#define WEFT_PERF_CM_H

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>
#include <string>

namespace perf {

struct DestroyChannel {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
using Channel = std::unique_ptr<rdma_event_channel, DestroyChannel>;

// Destroys the queue pair too.
struct DestroyIdentifier {
  void operator()(rdma_cm_id* id) const {
    if (id->qp != nullptr) {
      rdma_destroy_qp(id);
    }
    rdma_destroy_id(id);
  }
};
using Identifier = std::unique_ptr<rdma_cm_id, DestroyIdentifier>;

Channel make_channel();
Identifier make_identifier(const Channel& channel);
// Waits for the next event, which must be this one. A connection request's identifier is
// returned, otherwise the identifier the event is for.
rdma_cm_id* expect_event(const Channel& channel, rdma_cm_event_type type);
// An identifier that has a device and a route to the address.
Identifier resolve(const Channel& channel, const std::string& address, std::uint16_t port);

}  // namespace perf

#endif  // WEFT_PERF_CM_H
