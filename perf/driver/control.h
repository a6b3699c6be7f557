// SPDX-License-Identifier: GPL-2.0
// The connection by which client and server agree on what they do: lines over plain TCP.
#pragma once

#include <cstdint>
#include <string>

#include "socket.h"

namespace rdma::perf {

class Control {
 public:
  explicit Control(Descriptor socket) : socket_(std::move(socket)) {}

  // Connects to a server; tries for ten seconds, since it may just be starting.
  static Control connect(const std::string& address, std::uint16_t port);

  void send(const std::string& line) const;
  // The next line; empty when the peer has gone.
  std::string receive();
  // The next line, which must begin with this word; returns what follows it.
  std::string expect(const std::string& word);
  // The address of this end.
  std::string local_host() const { return local_address(socket_).host; }

 private:
  Descriptor socket_;
  std::string buffered_;
};

}  // namespace rdma::perf
