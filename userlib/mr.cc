// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mr.hpp"

#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "room.hpp"
#include "version.hpp"

namespace weft {
namespace {

struct Mr {
  verbs_mr base;  // first: freed by address
  Room behind;
};
static_assert(offsetof(Mr, base) == 0);

// Makes a region by `issue`, which returns 0 or a positive errno value.
template <typename Issue>
ibv_mr* make(ibv_pd* pd, Issue issue) {
  auto* mr = static_cast<Mr*>(calloc(1, sizeof(Mr)));
  if (mr == nullptr)
    return nullptr;
  int ret = issue(&mr->base);
  if (ret == 0 && !length_matches(mr->behind, pd->context, "struct verbs_mr")) {
    ibv_cmd_dereg_mr(&mr->base);
    ret = EPROTONOSUPPORT;
  }
  if (ret != 0) {
    free(mr);
    errno = ret;
    return nullptr;
  }
  return &mr->base.ibv_mr;
}

}  // namespace

ibv_mr* reg_mr(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  return make(pd,
              [&](verbs_mr* mr) { return weft_cmd_reg_mr(pd, addr, length, iova, access, mr); });
}

ibv_mr* reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                      int access) {
  return make(pd, [&](verbs_mr* mr) {
    return weft_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, mr);
  });
}

#if WEFT_RDMA_CORE_RELEASE >= 59
ibv_mr* reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attr) {
  constexpr uint64_t kDmabuf =
      IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA;
  const uint64_t given = attr->comp_mask;
  if ((given & ~(kDmabuf | IBV_REG_MR_MASK_ADDR)) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  if (given == kDmabuf)
    return reg_dmabuf_mr(pd, attr->fd_offset, attr->length, attr->iova, attr->fd, attr->access);
  if ((given & ~uint64_t{IBV_REG_MR_MASK_IOVA}) != IBV_REG_MR_MASK_ADDR) {
    errno = EINVAL;
    return nullptr;
  }
  const bool elsewhere = (given & IBV_REG_MR_MASK_IOVA) != 0;
  return reg_mr(pd, attr->addr, attr->length,
                elsewhere ? attr->iova : reinterpret_cast<uintptr_t>(attr->addr), attr->access);
}
#endif

// libibverbs has looked at the flags, and moves `addr` and `length` of the region.
int rereg_mr(verbs_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access) {
  return weft_cmd_rereg_mr(mr, static_cast<uint32_t>(flags), pd, addr, length, access);
}

int dereg_mr(verbs_mr* mr) {
  const int ret = ibv_cmd_dereg_mr(mr);
  if (ret == 0)
    free(mr);
  return ret;
}

}  // namespace weft
