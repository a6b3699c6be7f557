// SPDX-License-Identifier: GPL-2.0
// Memory that an RDMA device knows.
#pragma once

#include "link.h"
#include "objects.h"

namespace rdma {

// Registers memory for the rights; throws Failure (kSystem) that says which limit was met.
Owned<ibv_mr> register_memory(ibv_pd* domain, std::span<std::byte> bytes, Rights rights);

// The same as a region, which counts itself and its time in `statistics`.
std::unique_ptr<Region> expose_rdma(ibv_pd* domain, std::span<std::byte> bytes, Rights rights,
                                    Statistics& statistics);

// Names a part of a region of expose_rdma()'s. Throws Failure (kInput) if it is another's.
ibv_sge sge_of(const Region& region, std::size_t offset, std::size_t length);

}  // namespace rdma
