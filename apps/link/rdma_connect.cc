// SPDX-License-Identifier: GPL-2.0
#include "rdma_link.h"

#include <cstring>

namespace apps {

namespace {

// The event that ends a step of connecting; throws Failure in the words of a user if it is another.
Event expect(const Channel& channel, rdma_cm_event_type wanted, const Address& address,
             const Deadline& deadline) {
  const std::optional<Event> event = next_event(channel.get(), deadline);
  if (!event) {
    throw Failure(Cause::kTimeout, address.text() + " did not answer in time");
  }
  if (event->type == wanted) {
    return *event;
  }
  const int error = event->status < 0 ? -event->status : event->status;
  if (event->type == RDMA_CM_EVENT_ADDR_ERROR && (error == ENODEV || error == EADDRNOTAVAIL)) {
    throw no_device(address);
  }
  if (event->type == RDMA_CM_EVENT_REJECTED || error == ECONNREFUSED) {
    throw Failure(Cause::kRefused, address.text() +
                                       " refused the connection: is the server running there, and "
                                       "may this host connect?");
  }
  if (event->type == RDMA_CM_EVENT_ADDR_ERROR || event->type == RDMA_CM_EVENT_UNREACHABLE ||
      error == ETIMEDOUT) {
    throw Failure(Cause::kTimeout, address.text() + " can't be reached: " + std::strerror(error));
  }
  throw Failure(Cause::kLost, "connecting to " + address.text() + ": " +
                                  rdma_event_str(event->type) + ", " + std::strerror(error));
}

}  // namespace

std::unique_ptr<Link> connect_rdma(const Address& address, Limit limit, const Settings& settings) {
  const Clock::time_point begun = Clock::now();
  const Deadline deadline(limit);
  SocketAddress name = address.resolve();
  Channel channel = make_channel(address);
  Identifier id = make_identifier(channel);
  const auto timeout = deadline.milliseconds() < 0 ? 60000 : deadline.milliseconds();
  if (rdma_resolve_addr(id.get(), nullptr, name.get(), timeout) != 0) {
    if (errno == ENODEV || errno == EADDRNOTAVAIL) {
      throw no_device(address);
    }
    fail_errno("the way to " + address.text(), Cause::kTimeout);
  }
  expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED, address, deadline);
  if (rdma_resolve_route(id.get(), timeout) != 0) {
    fail_errno("the way to " + address.text(), Cause::kTimeout);
  }
  expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, address, deadline);
  rdma_cm_id* const connecting = id.get();
  auto link = std::make_unique<RdmaLink>(std::move(id), settings, begun);
  rdma_conn_param param = link->parameters();
  if (rdma_connect(connecting, &param) != 0) {
    fail_errno("connecting to " + address.text(), Cause::kRefused);
  }
  const Event event = expect(channel, RDMA_CM_EVENT_ESTABLISHED, address, deadline);
  link->established(std::move(channel), Hello(std::span<const std::byte>(event.private_data)),
                    address);
  return link;
}

}  // namespace apps
