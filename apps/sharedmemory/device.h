// SPDX-License-Identifier: GPL-2.0
// What this program needs of an RDMA device beyond what a link needs.
#pragma once

#include "address.h"

namespace rdma::sharedmemory {

// Host 0's processor changes words that its device changes as well. Throws Failure (kDevice) unless
// the device that has `address` is atomic to the processor (IBV_ATOMIC_GLOB).
void check_device(const Address& address);

}  // namespace rdma::sharedmemory
