// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "pd.hpp"

#include <errno.h>
#include <stdlib.h>

#include "cmd.h"

namespace weft {

ibv_pd* alloc_pd(ibv_context* context) {
  auto* pd = static_cast<ibv_pd*>(calloc(1, sizeof(ibv_pd)));
  if (pd == nullptr) {
    return nullptr;
  }
  const int ret = weft_cmd_alloc_pd(context, pd);
  if (ret != 0) {
    free(pd);
    errno = ret;
    return nullptr;
  }
  return pd;
}

int dealloc_pd(ibv_pd* pd) {
  const int ret = ibv_cmd_dealloc_pd(pd);
  if (ret == 0) {
    free(pd);
  }
  return ret;
}

}  // namespace weft
