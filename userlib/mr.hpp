// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_MR_HPP
#define WEFT_MR_HPP

#include "provider_abi.h"

namespace weft {

// `iova` is where the region starts in the addresses that work requests use.
ibv_mr* reg_mr(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access);
// Of a dma-buf: `length` bytes from `offset` on of the buffer that `fd` stands for.
ibv_mr* reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                      int access);
#if WEFT_RDMA_CORE_RELEASE >= 59
// Of either kind, as `attr` says. Without it releases before 64 answer EOPNOTSUPP.
ibv_mr* reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attr);
#endif
int rereg_mr(verbs_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access);
int dereg_mr(verbs_mr* mr);

}  // namespace weft

#endif  // WEFT_MR_HPP
