// SPDX-License-Identifier: GPL-2.0
// Single transfers between two ends, with their data checked.
#ifndef WEFT_TESTS_VERBS_TRANSFER_H
#define WEFT_TESTS_VERBS_TRANSFER_H

#include <infiniband/verbs.h>

#include <vector>

#include "connector.h"

namespace placement {

// Where transfers come from and go to, in both arenas.
inline constexpr std::size_t kSource = 64U << 10;
inline constexpr std::size_t kTarget = 1U << 20;

// A signaled work request of these pieces, which must live until it is posted.
ibv_send_wr request(ibv_wr_opcode opcode, std::vector<ibv_sge>& sges);

// Fresh bytes at the source of `from`, and the same expected at the target of `to`.
void prepare(const Endpoint& from, const Endpoint& to, std::uint32_t length);
// The target holds them, and its surroundings what they held.
void check_target(const Endpoint& to, std::uint32_t length);

// Sends `length` bytes to a receive that is posted here, and checks them.
void send_checked(Endpoint& from, Endpoint& to, std::uint32_t length);

}  // namespace placement

#endif  // WEFT_TESTS_VERBS_TRANSFER_H
