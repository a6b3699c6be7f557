// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "srq.hpp"

#include <errno.h>
#include <stdlib.h>

#include <type_traits>

#include "cmd.h"
#include "pd.hpp"

namespace weft {
namespace {

static_assert(std::is_trivially_default_constructible_v<Srq>);

}  // namespace

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) {
  auto* srq = static_cast<Srq*>(calloc(1, sizeof(Srq)));
  if (srq == nullptr)
    return nullptr;
  weft_create_srq_resp resp = {};
  int ret = weft_cmd_create_srq(pd, &srq->base, attr, &resp);
  if (ret != 0)
    goto free_srq;
  ret = srq->mapping.map(pd->context->cmd_fd, resp.ring);
  if (ret != 0)
    goto destroy;
  srq->ring.attach(srq->mapping.base(), resp.entries, resp.max_sge, attr->attr.max_wr, true);
  srq->max_sge = resp.max_sge;
  srq->lock.init(Pd::of(pd)->single_threaded());
  return &srq->base;

destroy:
  ibv_cmd_destroy_srq(&srq->base);
free_srq:
  free(srq);
  errno = ret;
  return nullptr;
}

int modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int attr_mask) {
  return weft_cmd_modify_srq(srq, attr, attr_mask);
}

int query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  return weft_cmd_query_srq(srq, attr);
}

int destroy_srq(ibv_srq* ibv) {
  Srq* srq = Srq::of(ibv);
  const int ret = ibv_cmd_destroy_srq(ibv);
  if (ret != 0)
    return ret;
  srq->mapping.unmap();
  free(srq);
  return 0;
}

}  // namespace weft
