// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mw.hpp"

#include <errno.h>
#include <stdlib.h>

#include "cmd.h"

namespace weft {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  auto* mw = static_cast<ibv_mw*>(calloc(1, sizeof(ibv_mw)));
  if (mw == nullptr)
    return nullptr;
  const int ret = weft_cmd_alloc_mw(pd, type, mw);
  if (ret != 0) {
    free(mw);
    errno = ret;
    return nullptr;
  }
  return mw;
}

int dealloc_mw(ibv_mw* mw) {
  const int ret = ibv_cmd_dealloc_mw(mw);
  if (ret == 0)
    free(mw);
  return ret;
}

}  // namespace weft
