// SPDX-License-Identifier: GPL-2.0
#include "socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace rdma {

Descriptor stream_socket(const SocketAddress& address, int protocol) {
  Descriptor made(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, protocol));
  if (!made) fail_errno("socket");
  return made;
}

Descriptor listener(const Address& address, int backlog, int protocol) {
  const SocketAddress name = address.resolve();
  Descriptor made = stream_socket(name, protocol);
  const int on = 1;
  setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(made.number(), name.get(), name.length) != 0 || listen(made.number(), backlog) != 0)
    fail_listening(address);
  return made;
}

Descriptor accept_from(const Descriptor& listening) {
  Descriptor made(accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!made) fail_errno("accept");
  return made;
}

Descriptor connect_to(const Address& address, int protocol) {
  const SocketAddress name = address.resolve();
  Descriptor made = stream_socket(name, protocol);
  must(connect(made.number(), name.get(), name.length), "connecting to " + address.text());
  return made;
}

Address local_address(const Descriptor& socket) {
  SocketAddress name;
  name.length = sizeof(name.storage);
  must(getsockname(socket.number(), name.get(), &name.length), "getsockname");
  return Address::of(name);
}

void no_delay(const Descriptor& socket) {
  const int on = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace rdma
