// SPDX-License-Identifier: GPL-2.0
// Makes connections between two hosts: a listener on one, identifiers on both.
#ifndef WEFT_TESTS_CONNECTOR_H
#define WEFT_TESTS_CONNECTOR_H

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "endpoint.h"

namespace placement {

struct Host {
  std::string netns;    // name of its network namespace; empty: the process's own
  std::string address;  // IPv4 or IPv6
};

// Two connected ends.
struct Pair {
  std::unique_ptr<Endpoint> client;
  std::unique_ptr<Endpoint> server;
};

// The news of a handshake that an end gets.
struct Told {
  rdma_cm_event_type type;
  int status;
  std::vector<std::uint8_t> private_data;
  unsigned responder_resources;
  unsigned initiator_depth;
};

// Reads the next event of the channel that is for `id` (NULL: for any). A connection
// request's new identifier goes to `request`. Throws Failure after kPatience.
Told next_event(rdma_event_channel* channel, rdma_cm_id** request = nullptr);

class Connector {
 public:
  // Listens at `server`. Throws Failure.
  Connector(Host client, Host server);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Connects; both ends have exchanged one message when this returns. Throws Failure.
  Pair connect(const Shape& shape = {}) const { return connect(shape, shape); }
  Pair connect(const Shape& client_shape, const Shape& server_shape) const;

  // Steps of connect(), for cases of the handshake itself. The caller owns the results.
  // An identifier on the client, with a device.
  rdma_cm_id* resolved() const { return resolved(way_ != 0 ? way_ : port_); }
  // With `shares`, it lets others have its own port, and has that of `from`, if that is given.
  rdma_cm_id* resolved(std::uint16_t port, bool shares = false, sockaddr* from = nullptr) const;
  // Waits for a connection request and returns its identifier, on a channel of its own.
  rdma_cm_id* accepted(Told* told) const;
  // rdma_connect() and rdma_accept(), each with that private data. Throw Failure.
  void start(const Endpoint& client, const std::vector<std::uint8_t>& private_data) const;
  void accept(const Endpoint& server, const std::vector<std::uint8_t>& private_data) const;

  std::uint16_t port() const { return port_; }
  // From now on connect() connects to that port of the server's address, where something is that
  // passes on to port().
  void go_through(std::uint16_t port) { way_ = port; }

 private:
  Host client_;
  Host server_;
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* listener_ = nullptr;
  std::uint16_t port_ = 0;
  std::uint16_t way_ = 0;
};

}  // namespace placement

#endif  // WEFT_TESTS_CONNECTOR_H
