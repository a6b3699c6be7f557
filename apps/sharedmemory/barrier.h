// SPDX-License-Identifier: GPL-2.0
// A barrier: no host goes on before all have come, and what any wrote before is then there for all.
#pragma once

#include "world.h"

namespace rdma::sharedmemory {

// Every host calls it equally often. Throws Failure (kLost) if one has ended.
void barrier(World& world);

}  // namespace rdma::sharedmemory
