// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_PD_HPP
#define WEFT_PD_HPP

#include "provider_abi.h"

namespace weft {

ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* pd);

}  // namespace weft

#endif  // WEFT_PD_HPP
