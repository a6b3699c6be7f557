// SPDX-License-Identifier: GPL-2.0
#include "event.h"

namespace rdma {

Failure Event::instead_of(rdma_cm_event_type wanted) const {
  return Failure(Cause::kRefused, std::string("expected ") + rdma_event_str(wanted) + ", got " +
                                      rdma_event_str(type) + ", status " + std::to_string(status));
}

Channel make_channel() { return own(rdma_create_event_channel(), "rdma_create_event_channel"); }

Identifier make_identifier(rdma_event_channel* channel) {
  rdma_cm_id* id = nullptr;
  must(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
  return Identifier(id);
}

std::optional<Event> next_event(rdma_event_channel* channel, const Deadline& deadline) {
  if (!deadline.forever() && !wait_ready(channel->fd, deadline)) return std::nullopt;
  rdma_cm_event* got = nullptr;
  while (rdma_get_cm_event(channel, &got) != 0) {
    if (errno != EAGAIN && errno != EINTR) fail_errno("rdma_get_cm_event");
    if (!wait_ready(channel->fd, deadline)) return std::nullopt;
  }
  const Owned<rdma_cm_event> event(got);
  const rdma_conn_param& conn = event->param.conn;
  Event told{.type = event->event, .status = event->status, .id = event->id, .private_data = {}};
  if (const auto* data = static_cast<const std::uint8_t*>(conn.private_data); data != nullptr)
    told.private_data.assign(data, data + conn.private_data_len);
  return told;
}

Event expect_event(rdma_event_channel* channel, rdma_cm_event_type type, Limit limit) {
  std::optional<Event> event = next_event(channel, Deadline(limit));
  if (!event) {
    throw Failure(Cause::kTimeout, std::string("no ") + rdma_event_str(type) + " within " +
                                       std::to_string(limit.count()) + " ms");
  }
  if (event->type != type) throw event->instead_of(type);
  return *std::move(event);
}

void resolve(rdma_cm_id* id, const Address& address, Limit limit, sockaddr* from) {
  SocketAddress name = address.resolve();
  const auto milliseconds = static_cast<int>(limit.count());
  must(rdma_resolve_addr(id, from, name.get(), milliseconds),
       "rdma_resolve_addr " + address.text());
  expect_event(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED, limit);
  must(rdma_resolve_route(id, milliseconds), "rdma_resolve_route " + address.text());
  expect_event(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED, limit);
}

bool await_event(ibv_cq* cq, Limit limit) {
  if (!wait_ready(cq->channel->fd, Deadline(limit))) return false;
  ibv_cq* from = nullptr;
  void* context = nullptr;
  must(ibv_get_cq_event(cq->channel, &from, &context), "ibv_get_cq_event");
  ibv_ack_cq_events(from, 1);
  require(from == cq, "a completion event names another queue");
  return true;
}

std::uint16_t listen_at(rdma_cm_id* id, const Address& address, int backlog) {
  SocketAddress name = address.resolve();
  must(rdma_bind_addr(id, name.get()), "rdma_bind_addr " + address.text());
  must(rdma_listen(id, backlog), "rdma_listen at " + address.text());
  return ntohs(rdma_get_src_port(id));
}

}  // namespace rdma
