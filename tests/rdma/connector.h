// SPDX-License-Identifier: GPL-2.0
// Makes connections between two hosts: a listener on one, identifiers on both.
#pragma once

#include "endpoint.h"

namespace rdma {

struct Host {
  std::string netns;    // name of its network namespace; empty: the process's own
  std::string address;  // IPv4 or IPv6
};

// Two connected ends.
struct Pair {
  std::unique_ptr<Endpoint> client;
  std::unique_ptr<Endpoint> server;
};

// Nothing of either arena has changed that was not to. Throws Failure.
inline void check_all(const Endpoint& one, const Endpoint& other) {
  one.memory().check({}, one.name());
  other.memory().check({}, other.name());
}

class Connector {
 public:
  // Listens at `server`. Throws Failure.
  Connector(Host client, Host server);

  // Connects; both ends have exchanged one message when this returns. Throws Failure.
  Pair connect(const Shape& shape = {}) const { return connect(shape, shape); }
  Pair connect(const Shape& client_shape, const Shape& server_shape) const;

  // Steps of connect(), for cases of the handshake itself.
  // A client with a device.
  Caller resolved() const { return resolved(way_ != 0 ? way_ : port_); }
  // With `shares`, it lets others have its own port, and has that of `from`, if that is given.
  Caller resolved(std::uint16_t port, bool shares = false, sockaddr* from = nullptr) const;
  // Waits for a connection request.
  Caller accepted(Event* request = nullptr) const;
  // rdma_connect() and rdma_accept(), each with that private data. Throw Failure.
  void start(const Endpoint& client, const std::vector<std::uint8_t>& private_data) const;
  void accept(const Endpoint& server, const std::vector<std::uint8_t>& private_data) const;

  std::uint16_t port() const { return port_; }
  // From now on connect() goes to that port, where something passes on to port().
  void go_through(std::uint16_t port) { way_ = port; }

 private:
  Host client_;
  Host server_;
  Channel channel_ = make_channel();
  Identifier listener_;
  std::uint16_t port_ = 0;
  std::uint16_t way_ = 0;
};

}  // namespace rdma
