// SPDX-License-Identifier: GPL-2.0
// A file descriptor that is closed with its owner, and IPv4 sockets.
#ifndef WEFT_PERF_DESCRIPTOR_H
#define WEFT_PERF_DESCRIPTOR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "failure.h"

namespace perf {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  int number() const { return number_; }

 private:
  int number_ = -1;
};

inline sockaddr_in ipv4(const std::string& address, std::uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  require(inet_pton(AF_INET, address.c_str(), &result.sin_addr) == 1,
          "'" + address + "' is no IPv4 address");
  return result;
}

inline Descriptor stream_socket() {
  Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.number() < 0) {
    fail_errno("socket");
  }
  return made;
}

inline void no_delay(const Descriptor& socket) {
  const int on = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// A listening socket; port 0 lets the kernel choose.
inline Descriptor listener(const std::string& address, std::uint16_t port, int backlog) {
  Descriptor made = stream_socket();
  const int on = 1;
  setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const sockaddr_in name = ipv4(address, port);
  if (bind(made.number(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 ||
      listen(made.number(), backlog) != 0) {
    fail_errno("listening at " + address + " port " + std::to_string(port));
  }
  return made;
}

inline sockaddr_in local_name(const Descriptor& socket) {
  sockaddr_in name{};
  socklen_t length = sizeof(name);
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    fail_errno("getsockname");
  }
  return name;
}

}  // namespace perf

#endif  // WEFT_PERF_DESCRIPTOR_H
