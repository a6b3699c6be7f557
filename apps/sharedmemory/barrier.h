// SPDX-License-Identifier: GPL-2.0
// A barrier: no host goes on before all have come, and what any wrote before is then there for all.
#ifndef WEFT_APPS_SHAREDMEMORY_BARRIER_H
#define WEFT_APPS_SHAREDMEMORY_BARRIER_H

#include "world.h"

namespace sharedmemory {

// Every host calls it equally often. Throws Failure (kLost) if one has ended.
void barrier(World& world);

}  // namespace sharedmemory

#endif  // WEFT_APPS_SHAREDMEMORY_BARRIER_H
