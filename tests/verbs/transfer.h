// SPDX-License-Identifier: GPL-2.0
// Single transfers between two ends, with their data checked, and what cases make beside them.
#pragma once

#include "connector.h"

namespace rdma {

// Where transfers come from and go to, in both arenas.
inline constexpr std::size_t kSource = 64U << 10;
inline constexpr std::size_t kTarget = 1U << 20;

// Fresh bytes at the source of `from`, and the same expected at the target of `to`.
void prepare(const Endpoint& from, const Endpoint& to, std::uint32_t length);
// The target holds them, and its surroundings what they held.
void check_target(const Endpoint& to, std::uint32_t length);
// Sends `length` bytes, by `post` or ibv_post_send, to a receive posted here, and checks them.
void send_checked(Endpoint& from, Endpoint& to, std::uint32_t length,
                  const std::function<std::uint64_t()>& post = {});
// The client has tried something that costs the connection, and not a byte has changed.
void expect_refused(Endpoint& client, Endpoint& server);

// A queue pair that is connected to nothing.
Owned<ibv_qp> unconnected_qp(const Endpoint& end);
// A window that is bound to nothing.
Owned<ibv_mw> window_of(const Endpoint& end, ibv_mw_type type);
// Posts a work request that `build` describes by the extended interface; returns its wr_id.
std::uint64_t post_extended(const Endpoint& end, const std::function<void(ibv_qp_ex*)>& build);
// Starts a bind of a window, whose key is then the new one; returns its wr_id.
std::uint64_t start_bind(Endpoint& end, ibv_mw* window, const ibv_mw_bind_info& info);
void bind(Endpoint& end, ibv_mw* window, const ibv_mw_bind_info& info);

}  // namespace rdma
