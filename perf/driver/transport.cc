// SPDX-License-Identifier: GPL-2.0
#include "transport.h"

#include "tcp_transport.h"
#include "verbs_transport.h"

namespace rdma::perf {

std::unique_ptr<Listener> make_listener(const Settings& settings, const std::string& address) {
  if (settings.carrier == Carrier::kTcp) {
    return std::make_unique<TcpListener>(address, settings.connections);
  }
  return std::make_unique<VerbsListener>(address, settings.connections);
}

std::unique_ptr<Transport> make_connected(const Settings& settings, const std::string& address,
                                          std::uint16_t port) {
  if (settings.carrier == Carrier::kTcp) {
    return TcpTransport::connect(settings, address, port);
  }
  return VerbsTransport::connect(settings, address, port);
}

}  // namespace rdma::perf
