// SPDX-License-Identifier: GPL-2.0
// The groups of cases, one function for each file.
#pragma once

#include "suite.h"

namespace rdma {

// Every size, offset, SGE layout and inline length of a single work request.
void single_cases(Suite& suite);
// Several work requests under way at once: chains, fences, both directions.
void chain_cases(Suite& suite);
// Private data, rejection, a port nobody listens on, disconnection.
void connection_cases(Suite& suite);
// Requests that the peer must refuse, and local ones that must fail on the way.
void protection_cases(Suite& suite);
// Immediate data and atomics.
void extended_cases(Suite& suite);
// Posts that ibv_post_send and ibv_post_recv must refuse at once.
void posting_cases(Suite& suite);
// Cases that siw cannot be the peer of.
void siw_cases(Suite& suite);

}  // namespace rdma
