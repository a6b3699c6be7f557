// SPDX-License-Identifier: GPL-2.0
// TCP sockets. All throw Failure (kSystem).
#pragma once

#include "address.h"
#include "descriptor.h"
#include "failure.h"

namespace rdma {

// A socket of the address' family; protocol 0 is TCP.
Descriptor stream_socket(const SocketAddress& address, int protocol = 0);
// A listening socket; port 0 lets the kernel choose.
Descriptor listener(const Address& address, int backlog, int protocol = 0);
// The next connection to it.
Descriptor accept_from(const Descriptor& listening);
// Connects, and waits for that.
Descriptor connect_to(const Address& address, int protocol = 0);
Address local_address(const Descriptor& socket);
// Small messages leave at once.
void no_delay(const Descriptor& socket);

}  // namespace rdma
