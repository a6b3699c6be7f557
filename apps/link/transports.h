// SPDX-License-Identifier: GPL-2.0
// The ways to make a link: see connect() and Listener::listen() in link.h.
#pragma once

#include "descriptor.h"
#include "link.h"

namespace rdma {

// What a link's end says when the peer has refused what it asked for.
inline constexpr auto kRefusal =
    "the peer refused a request: its region has not this key, these bytes or this right";
// How many peers a listener has that it has not yet heard from, and how long it waits for each.
inline constexpr std::size_t kMostPending = 64;
inline constexpr Limit kAnswer = std::chrono::seconds(15);

std::unique_ptr<Link> connect_rdma(const Address& address, Limit limit, const Settings& settings);
std::unique_ptr<Link> connect_tcp(const Address& address, Limit limit, const Settings& settings);
std::unique_ptr<Listener> listen_rdma(const Address& address, const Settings& settings,
                                      Admit admit);
std::unique_ptr<Listener> listen_tcp(const Address& address, const Settings& settings, Admit admit);

// A connected socket. Throws Failure: kRefused, kTimeout.
Descriptor connect_socket(const Address& address, const Deadline& deadline);

}  // namespace rdma
