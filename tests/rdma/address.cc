// SPDX-License-Identifier: GPL-2.0
#include "address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <charconv>
#include <memory>

#include "failure.h"

namespace rdma {
namespace {

[[noreturn]] void no_address(std::string_view text, const char* why) {
  throw Failure(Cause::kInput, "'" + std::string(text) + "' is no address: " + why +
                                   "; write HOST:PORT, as 10.0.0.1:3640 or [fd00::1]:3640");
}

}  // namespace

Address Address::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) no_address(text, "it has no port");
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    no_address(text, "an IPv6 address goes in brackets");
  if (host.empty()) no_address(text, "it has no host");
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size())
    no_address(text, "its port is no number up to 65535");
  return {.host = std::string(host), .port = port};
}

Address Address::of(const SocketAddress& socket) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int error = getnameinfo(socket.get(), socket.length, host.data(), host.size(), port.data(),
                                port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) throw Failure(Cause::kSystem, std::string("getnameinfo: ") + gai_strerror(error));
  Address result{.host = host.data(), .port = 0};
  std::from_chars(port.data(), port.data() + std::strlen(port.data()), result.port);
  return result;
}

Address Address::of(const sockaddr* name) {
  SocketAddress socket;
  socket.length = name->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&socket.storage, name, socket.length);
  return of(socket);
}

std::string Address::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

SocketAddress Address::resolve() const {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  const bool any = host == "*";
  if (any) {
    hints.ai_flags |= AI_PASSIVE;
    hints.ai_family = AF_INET;
  }
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(any ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0)
    throw Failure(Cause::kInput, "there is no host '" + host + "': " + gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  SocketAddress result;
  result.length = found->ai_addrlen;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  return result;
}

void fail_listening(const Address& address) {
  const int error = errno;
  const char* step = "";
  if (error == EADDRINUSE)
    step = "; take another port, or end what listens there";
  else if (error == EADDRNOTAVAIL)
    step = "; give an address of this host";
  else if (error == EACCES)
    step = "; ports below 1024 are for root, take another";
  throw Failure(Cause::kSystem,
                "listening at " + address.text() + ": " + std::strerror(error) + step);
}

}  // namespace rdma
