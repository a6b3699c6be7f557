// SPDX-License-Identifier: GPL-2.0
// The server of viewers.
#pragma once

#include <cstdint>

#include "filters.h"
#include "grid.h"

namespace rdma::isosurface {

// Answers viewers, each in a thread, up to 16 at once, until the process is stopped. What is wrong
// with a viewer is said on standard error, and is no matter to the others. Throws Failure if it
// can't listen.
[[noreturn]] void serve(const Volume& volume, std::int32_t edge, const Wiring& wiring,
                        const Address& address);

}  // namespace rdma::isosurface
