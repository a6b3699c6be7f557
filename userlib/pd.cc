// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "pd.hpp"

#include <errno.h>
#include <stdlib.h>

#include <type_traits>

#include "cmd.h"

namespace weft {
namespace {

static_assert(std::is_trivially_default_constructible_v<Pd>);
static_assert(std::is_trivially_default_constructible_v<Td>);

void add_user(unsigned int* users) {
  __atomic_fetch_add(users, 1, __ATOMIC_RELAXED);
}

void drop_user(unsigned int* users) {
  __atomic_fetch_sub(users, 1, __ATOMIC_RELEASE);
}

bool in_use(const unsigned int* users) {
  return __atomic_load_n(users, __ATOMIC_ACQUIRE) != 0;
}

}  // namespace

ibv_pd* alloc_pd(ibv_context* context) {
  auto* pd = static_cast<Pd*>(calloc(1, sizeof(Pd)));
  if (pd == nullptr)
    return nullptr;
  const int ret = weft_cmd_alloc_pd(context, &pd->base);
  if (ret != 0) {
    free(pd);
    errno = ret;
    return nullptr;
  }
  return &pd->base;
}

int dealloc_pd(ibv_pd* ibv) {
  Pd* pd = Pd::of(ibv);
  if (in_use(&pd->users))
    return EBUSY;
  if (pd->pd != nullptr) {
    drop_user(&pd->pd->users);
    if (pd->td != nullptr)
      drop_user(&pd->td->users);
  } else if (const int ret = ibv_cmd_dealloc_pd(ibv)) {
    return ret;
  }
  free(pd);
  return 0;
}

// A program may give allocators for the memory of a provider's queues. They are never
// called, since the kernel allocates ours.
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr) {
  static constexpr uint32_t kKnown =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  // Of a protection domain alone, not of another parent domain.
  if (attr->pd == nullptr || Pd::of(attr->pd)->pd != nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  if ((attr->comp_mask & ~kKnown) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  auto* parent = static_cast<Pd*>(calloc(1, sizeof(Pd)));
  if (parent == nullptr)
    return nullptr;
  parent->base = {.context = context, .handle = attr->pd->handle};
  parent->pd = Pd::of(attr->pd);
  add_user(&parent->pd->users);
  if (attr->td != nullptr) {
    parent->td = Td::of(attr->td);
    add_user(&parent->td->users);
  }
  return &parent->base;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr) {
  if (attr->comp_mask != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  auto* td = static_cast<Td*>(calloc(1, sizeof(Td)));
  if (td == nullptr)
    return nullptr;
  td->base.context = context;
  return &td->base;
}

int dealloc_td(ibv_td* ibv) {
  Td* td = Td::of(ibv);
  if (in_use(&td->users))
    return EBUSY;
  free(td);
  return 0;
}

}  // namespace weft
