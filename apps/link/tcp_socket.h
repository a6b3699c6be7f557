// SPDX-License-Identifier: GPL-2.0
// Sockets as the links over TCP use them.
#ifndef WEFT_APPS_TCP_SOCKET_H
#define WEFT_APPS_TCP_SOCKET_H

#include <span>

#include "deadline.h"
#include "descriptor.h"

namespace apps {

// A socket of the address' family. Throws Failure (kSystem).
Descriptor make_socket(const SocketAddress& address);
// Small frames leave at once, a send gives up after the patience without progress, and a peer that
// has gone without a word is found out.
void tune(int socket, Limit patience);
// Throws Failure: kRefused, kTimeout.
Descriptor connect_socket(const Address& address, const Deadline& deadline);
Address local_address(int socket);

// Waits until the descriptor is readable (or as `events` of poll(2) say); false when time is up.
bool wait_ready(int descriptor, short events, const Deadline& deadline);

}  // namespace apps

#endif  // WEFT_APPS_TCP_SOCKET_H
