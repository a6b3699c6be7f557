// SPDX-License-Identifier: GPL-2.0
// How a link over RDMA begins: by rdma_cm, from either end.
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdio>
#include <list>

#include "rdma_link.h"
#include "socket.h"

namespace rdma {

namespace {

constexpr std::size_t kMostPending = 64;
constexpr Limit kAnswer = std::chrono::seconds(15);

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

// "no RDMA device reaches 10.0.0.1:3640: rdma link add weft0 type weft netdev eth0", with the
// network device that packets to `address` leave by.
Failure no_device(const Address& address) {
  const std::string netdev = address.host == "*" ? "" : netdev_towards(address);
  return {Cause::kDevice, "no RDMA device reaches " + address.text() +
                              ": rdma link add weft0 type weft netdev " +
                              (netdev.empty() ? "NETDEV" : netdev)};
}

// A channel whose descriptor does not block. Throws no_device() on a host that has none at all.
Channel channel_to(const Address& address) {
  rdma_event_channel* channel = rdma_create_event_channel();
  if (channel == nullptr && (errno == ENODEV || errno == ENOENT)) {
    throw no_device(address);
  }
  Channel owner = own(channel, "rdma_create_event_channel");
  unblock(channel->fd);
  return owner;
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

// Registers what a link takes, and gives it back: a peer that came to a limit of this process would
// be told no, and nobody here why.
void try_memory(rdma_cm_id* id, const Settings& settings) {
  ibv_context* device = id->verbs;  // NULL when it listens at every address
  const std::unique_ptr<ibv_context*, void (*)(ibv_context**)> all(
      device == nullptr ? rdma_get_devices(nullptr) : nullptr, rdma_free_devices);
  if (all != nullptr) {
    device = *all;
  }
  if (device == nullptr) {
    return;
  }
  const Owned<ibv_pd> domain = own(ibv_alloc_pd(device), "ibv_alloc_pd");
  std::vector<std::byte> bytes(RdmaLink::memory_bytes(settings));
  register_memory(domain.get(), bytes, kLocal);
}

class RdmaListener : public Listener {
 public:
  RdmaListener(const Address& address, const Settings& settings, Admit admit);

  std::unique_ptr<Link> accept(Limit limit) override;

 private:
  // A peer that was told yes, and has not yet said that it knows.
  struct Pending {
    rdma_cm_id* id;
    std::unique_ptr<RdmaLink> link;
    Hello hello;
    Address peer;
    Deadline deadline;
  };

  // Answers a request for a connection.
  void answer(const Event& request);
  // The link of an id whose connection is there; NULL if it can't be used.
  std::unique_ptr<Link> established(const rdma_cm_id* id);
  void forget(const rdma_cm_id* id);
  void forget_late();

  Channel channel_;
  Identifier id_;
  std::list<Pending> pending_;
};

RdmaListener::RdmaListener(const Address& address, const Settings& settings, Admit admit)
    : Listener(address, settings, std::move(admit)),
      channel_(channel_to(address)),
      id_(make_identifier(channel_.get())) {
  SocketAddress name = address.resolve();
  if (rdma_bind_addr(id_.get(), name.get()) != 0) {
    if (errno == ENODEV || errno == EADDRNOTAVAIL) {
      throw no_device(address);
    }
    fail_listening(address);
  }
  // Bound to an address of this host that has no device, it would hear nothing.
  if (address.host != "*" && id_->verbs == nullptr) {
    throw no_device(address);
  }
  if (rdma_listen(id_.get(), 128) != 0) {
    fail_listening(address);
  }
  try_memory(id_.get(), settings_);
  address_.port = ntohs(rdma_get_src_port(id_.get()));
}

std::unique_ptr<Link> RdmaListener::accept(Limit limit) {
  const Deadline deadline(limit);
  while (const std::optional<Event> event = next_event(channel_.get(), deadline)) {
    forget_late();
    switch (event->type) {
      case RDMA_CM_EVENT_CONNECT_REQUEST:
        answer(*event);
        break;
      case RDMA_CM_EVENT_ESTABLISHED:
        if (std::unique_ptr<Link> link = established(event->id)) {
          return link;
        }
        break;
      case RDMA_CM_EVENT_DEVICE_REMOVAL:
        if (event->id == id_.get()) {
          throw Failure(Cause::kDevice, "the RDMA device of " + address_.text() + " was removed");
        }
        forget(event->id);
        break;
      default:
        forget(event->id);
    }
    // Peers that are refused, one after the other, are no reason to stay.
    if (deadline.over()) {
      break;
    }
  }
  return nullptr;
}

void RdmaListener::answer(const Event& request) {
  Identifier id(request.id);
  // What goes wrong here is the peer's doing, or want of memory for one more.
  try {
    const Address peer = Address::of(rdma_get_peer_addr(id.get()));
    if (pending_.size() >= kMostPending || !admits(peer)) {
      rdma_reject(id.get(), nullptr, 0);
      return;
    }
    const Hello hello{std::as_bytes(std::span(request.private_data))};
    rdma_cm_id* const name = id.get();
    auto link = std::make_unique<RdmaLink>(std::move(id), settings_, Clock::now());
    rdma_conn_param param = link->parameters();
    if (rdma_accept(name, &param) == 0) {
      pending_.push_back({.id = name,
                          .link = std::move(link),
                          .hello = hello,
                          .peer = peer,
                          .deadline = Deadline(kAnswer)});
    }
  } catch (const std::exception& failure) {
    if (id != nullptr) {
      rdma_reject(id.get(), nullptr, 0);
    }
    const auto* known = dynamic_cast<const Failure*>(&failure);
    if (known != nullptr && known->cause() == Cause::kSystem) {
      // No peer can mend this host's limit, and nobody else here would hear of it.
      std::fprintf(stderr, "%s: one more peer was refused: %s\n", program_invocation_short_name,
                   failure.what());
    }
  }
}

std::unique_ptr<Link> RdmaListener::established(const rdma_cm_id* id) {
  const auto found = std::find_if(pending_.begin(), pending_.end(),
                                  [id](const Pending& each) { return each.id == id; });
  if (found == pending_.end()) {
    return nullptr;
  }
  Pending pending = std::move(*found);
  pending_.erase(found);
  try {
    Channel channel = channel_to(pending.peer);
    if (rdma_migrate_id(pending.id, channel.get()) != 0) {
      return nullptr;
    }
    pending.link->established(std::move(channel), pending.hello, std::move(pending.peer));
    return std::move(pending.link);
  } catch (const std::exception&) {
    return nullptr;  // there is no descriptor for one more
  }
}

void RdmaListener::forget(const rdma_cm_id* id) {
  pending_.remove_if([id](const Pending& each) { return each.id == id; });
}

void RdmaListener::forget_late() {
  pending_.remove_if([](const Pending& each) { return each.deadline.over(); });
}

}  // namespace

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

std::unique_ptr<Listener> listen_rdma(const Address& address, const Settings& settings,
                                      Admit admit) {
  return std::make_unique<RdmaListener>(address, settings, std::move(admit));
}

}  // namespace rdma
