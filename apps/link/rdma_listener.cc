// SPDX-License-Identifier: GPL-2.0
#include "rdma_listener.h"

#include <algorithm>
#include <cstdio>

#include "rdma_region.h"

namespace rdma {

namespace {

constexpr std::size_t kMostPending = 64;
constexpr Limit kAnswer = std::chrono::seconds(15);

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

}  // namespace

RdmaListener::RdmaListener(const Address& address, const Settings& settings, Admit admit)
    : settings_(settings),
      admit_(std::move(admit)),
      channel_(channel_to(address)),
      id_(make_identifier(channel_.get())),
      address_(address) {
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
    if (pending_.size() >= kMostPending || (admit_ && !admit_(peer))) {
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

}  // namespace rdma
