// SPDX-License-Identifier: GPL-2.0
#include "rdma_objects.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>

#include <cstring>

#include "descriptor.h"

namespace apps {

namespace {

// The network device that has an address of this host; empty if none has.
std::string netdev_with(const std::string& host) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, Destroy<freeifaddrs>> owner(first);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr ||
        (each->ifa_addr->sa_family != AF_INET && each->ifa_addr->sa_family != AF_INET6)) {
      continue;
    }
    SocketAddress here;
    here.length = each->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&here.storage, each->ifa_addr, here.length);
    if (Address::of(here).host == host) {
      return each->ifa_name;
    }
  }
  return {};
}

// The network device by which packets leave for the address. Nothing is sent.
std::string netdev_towards(const Address& address) {
  const SocketAddress there = address.resolve();
  const Descriptor probe(socket(there.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress here;
  here.length = sizeof(here.storage);
  if (!probe || ::connect(probe.number(), there.get(), there.length) != 0 ||
      getsockname(probe.number(), here.get(), &here.length) != 0) {
    return {};
  }
  return netdev_with(Address::of(here).host);
}

}  // namespace

void unblock(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) {
    fail_errno("fcntl");
  }
}

Failure no_device(const Address& address) {
  const std::string netdev = address.host == "*" ? "" : netdev_towards(address);
  return {Cause::kDevice, "no RDMA device reaches " + address.text() +
                              ": rdma link add weft0 type weft netdev " +
                              (netdev.empty() ? "NETDEV" : netdev)};
}

Channel make_channel(const Address& address) {
  Channel channel(rdma_create_event_channel());
  if (channel == nullptr) {
    if (errno == ENODEV || errno == ENOENT) {
      throw no_device(address);
    }
    fail_errno("rdma_create_event_channel");
  }
  unblock(channel->fd);
  return channel;
}

Identifier make_identifier(const Channel& channel) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    fail_errno("rdma_create_id");
  }
  return Identifier(id);
}

std::optional<Event> next_event(rdma_event_channel* channel, const Deadline& deadline) {
  while (true) {
    rdma_cm_event* got = nullptr;
    if (rdma_get_cm_event(channel, &got) == 0) {
      Event event{.type = got->event, .status = got->status, .id = got->id, .private_data = {}};
      const auto* data = static_cast<const std::byte*>(got->param.conn.private_data);
      if (data != nullptr) {
        event.private_data.assign(data, data + got->param.conn.private_data_len);
      }
      rdma_ack_cm_event(got);
      return event;
    }
    if (errno != EAGAIN && errno != EINTR) {
      fail_errno("rdma_get_cm_event");
    }
    if (deadline.over()) {
      return std::nullopt;
    }
    pollfd readable{.fd = channel->fd, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, deadline.milliseconds()) < 0 && errno != EINTR) {
      fail_errno("poll");
    }
  }
}

}  // namespace apps
