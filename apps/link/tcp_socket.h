// SPDX-License-Identifier: GPL-2.0
// Sockets as the links over TCP use them.
#pragma once

#include "deadline.h"
#include "socket.h"

namespace rdma {

// Small frames leave at once, a send gives up after the patience without progress, and a peer that
// has gone without a word is found out.
void tune(int socket, Limit patience);
// Throws Failure: kRefused, kTimeout.
Descriptor connect_socket(const Address& address, const Deadline& deadline);

}  // namespace rdma
