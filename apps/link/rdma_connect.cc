// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "rdma_link.h"
#include "socket.h"

namespace rdma {

namespace {

// The network device that has an address of this host; empty if none has.
std::string netdev_with(const std::string& host) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr &&
        (each->ifa_addr->sa_family == AF_INET || each->ifa_addr->sa_family == AF_INET6) &&
        Address::of(each->ifa_addr).host == host) {
      return each->ifa_name;
    }
  }
  return {};
}

// The network device by which packets leave for the address. Nothing is sent.
std::string netdev_towards(const Address& address) {
  const SocketAddress there = address.resolve();
  const Descriptor probe(socket(there.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.number(), there.get(), there.length) == 0
             ? netdev_with(local_address(probe).host)
             : std::string();
}

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

Failure no_device(const Address& address) {
  const std::string netdev = address.host == "*" ? "" : netdev_towards(address);
  return {Cause::kDevice, "no RDMA device reaches " + address.text() +
                              ": rdma link add weft0 type weft netdev " +
                              (netdev.empty() ? "NETDEV" : netdev)};
}

Channel channel_to(const Address& address) {
  rdma_event_channel* channel = rdma_create_event_channel();
  if (channel == nullptr && (errno == ENODEV || errno == ENOENT)) {
    throw no_device(address);
  }
  Channel owner = own(channel, "rdma_create_event_channel");
  unblock(channel->fd);
  return owner;
}

void unblock(int descriptor) {
  must(fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK), "fcntl");
}

std::unique_ptr<Link> connect_rdma(const Address& address, Limit limit, const Settings& settings) {
  const Clock::time_point begun = Clock::now();
  const Deadline deadline(limit);
  SocketAddress name = address.resolve();
  Channel channel = channel_to(address);
  Identifier id = make_identifier(channel.get());
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
  link->established(std::move(channel), Hello(std::as_bytes(std::span(event.private_data))),
                    address);
  return link;
}

}  // namespace rdma
