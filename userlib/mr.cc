// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mr.hpp"

#include <errno.h>
#include <stdlib.h>

#include "cmd.h"

namespace weft {

ibv_mr* reg_mr(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  auto* mr = static_cast<verbs_mr*>(calloc(1, sizeof(verbs_mr)));
  if (mr == nullptr) {
    return nullptr;
  }
  const int ret = weft_cmd_reg_mr(pd, addr, length, iova, access, mr);
  if (ret != 0) {
    free(mr);
    errno = ret;
    return nullptr;
  }
  return &mr->ibv_mr;
}

int dereg_mr(verbs_mr* mr) {
  const int ret = ibv_cmd_dereg_mr(mr);
  if (ret == 0) {
    free(mr);
  }
  return ret;
}

}  // namespace weft
