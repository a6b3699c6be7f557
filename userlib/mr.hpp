// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_MR_HPP
#define WEFT_MR_HPP

#include "provider_abi.h"

namespace weft {

// `iova` is where the region starts in the addresses that work requests use.
ibv_mr* reg_mr(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access);
int dereg_mr(verbs_mr* mr);

}  // namespace weft

#endif  // WEFT_MR_HPP
