// SPDX-License-Identifier: GPL-2.0
#include "link.h"

#include <poll.h>

#include <string>

#include "deadline.h"
#include "rdma_listener.h"
#include "tcp_listener.h"

namespace rdma {

Transport parse_transport(std::string_view text) {
  if (text == "rdma") {
    return Transport::kRdma;
  }
  if (text == "tcp") {
    return Transport::kTcp;
  }
  throw Failure(Cause::kInput,
                "'" + std::string(text) + "' is no transport; there are rdma and tcp");
}

std::string_view name_of(Transport transport) {
  return transport == Transport::kRdma ? "rdma" : "tcp";
}

void Settings::check() const {
  const auto within = [](const char* name, std::uint64_t value, std::uint64_t least,
                         std::uint64_t most) {
    if (value < least || value > most) {
      throw Failure(Cause::kInput, std::string(name) + " is " + std::to_string(value) +
                                       "; it may be " + std::to_string(least) + " to " +
                                       std::to_string(most));
    }
  };
  within("depth", depth, 2, 4096);
  within("credits", credits, 4, 4096);
  within("message_bytes", message_bytes, 64, 1U << 20);
}

Link* wait_any(std::span<Link* const> links, Limit limit) {
  const Deadline deadline(limit);
  std::vector<pollfd> descriptors;
  while (true) {
    descriptors.clear();
    for (Link* link : links) {
      if (link->prepare_wait(descriptors)) {
        return link;
      }
    }
    if (deadline.over()) {
      return nullptr;
    }
    if (poll(descriptors.data(), descriptors.size(), deadline.milliseconds()) < 0 &&
        errno != EINTR) {
      fail_errno("poll");
    }
  }
}

std::unique_ptr<Listener> Listener::listen(Transport transport, const Address& address,
                                           const Settings& settings, Admit admit) {
  settings.check();
  if (transport == Transport::kRdma) {
    return std::make_unique<RdmaListener>(address, settings, std::move(admit));
  }
  return std::make_unique<TcpListener>(address, settings, std::move(admit));
}

std::unique_ptr<Link> connect(Transport transport, const Address& address, Limit limit,
                              const Settings& settings) {
  settings.check();
  return transport == Transport::kRdma ? connect_rdma(address, limit, settings)
                                       : connect_tcp(address, limit, settings);
}

}  // namespace rdma
