// SPDX-License-Identifier: GPL-2.0
#include "cm.h"

#include "descriptor.h"
#include "failure.h"

namespace perf {

Channel make_channel() {
  Channel channel(rdma_create_event_channel());
  if (channel == nullptr) {
    fail_errno("rdma_create_event_channel");
  }
  return channel;
}

Identifier make_identifier(const Channel& channel) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    fail_errno("rdma_create_id");
  }
  return Identifier(id);
}

rdma_cm_id* expect_event(const Channel& channel, rdma_cm_event_type type) {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel.get(), &event) != 0) {
    fail_errno("rdma_get_cm_event");
  }
  const rdma_cm_event_type got = event->event;
  const int status = event->status;
  rdma_cm_id* id = event->id;
  rdma_ack_cm_event(event);
  require(got == type, std::string("expected ") + rdma_event_str(type) + ", got " +
                           rdma_event_str(got) + ", status " + std::to_string(status));
  return id;
}

Identifier resolve(const Channel& channel, const std::string& address, std::uint16_t port) {
  constexpr int kMilliseconds = 10000;
  Identifier id = make_identifier(channel);
  sockaddr_in name = ipv4(address, port);
  if (rdma_resolve_addr(id.get(), nullptr, reinterpret_cast<sockaddr*>(&name), kMilliseconds) !=
      0) {
    fail_errno("rdma_resolve_addr " + address);
  }
  expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  if (rdma_resolve_route(id.get(), kMilliseconds) != 0) {
    fail_errno("rdma_resolve_route");
  }
  expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

}  // namespace perf
