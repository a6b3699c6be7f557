// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_MW_HPP
#define WEFT_MW_HPP

#include "provider_abi.h"

namespace weft {

// Binding is a work request: see send.cc.
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);

}  // namespace weft

#endif  // WEFT_MW_HPP
