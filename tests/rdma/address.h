// SPDX-License-Identifier: GPL-2.0
// Where a peer is: a host and a port of TCP, which iWARP connections have as well.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rdma {

// A socket's address, of either family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

struct Address {
  std::string host;  // a name, or an IPv4 or IPv6 address; "*" stands for all of this host
  std::uint16_t port = 0;

  // Parses "host:port", "[fd00::1]:port" or "*:port"; port 0 is any. Throws Failure (kInput).
  static Address parse(std::string_view text);
  // The numeric host and port of a socket's address.
  static Address of(const SocketAddress& socket);
  static Address of(const sockaddr* name);

  // The form that parse() takes.
  std::string text() const;
  // Looks the host up. Throws Failure (kInput) if there is no such host.
  SocketAddress resolve() const;
};

// Throws Failure (kSystem) for a bind() or listen() that has failed, by errno, with the next step.
[[noreturn]] void fail_listening(const Address& address);

}  // namespace rdma
