// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifndef WEFT_PD_HPP
#define WEFT_PD_HPP

#include "provider_abi.h"

namespace weft {

// A thread domain: the user promises that one thread at a time uses the objects created in
// it.
struct Td {
  ibv_td base;         // first: converted by address
  unsigned int users;  // parent domains made with it; atomic

  static Td* of(ibv_td* td) { return reinterpret_cast<Td*>(td); }
};
static_assert(offsetof(Td, base) == 0);

// A protection domain, or a parent domain, which stands for a protection domain and has a
// thread domain besides. A parent domain holds the kernel's handle of its protection domain,
// so it must be freed first.
struct Pd {
  ibv_pd base;         // first: converted by address
  unsigned int users;  // parent domains made of it; atomic
  Pd* pd;              // in a parent domain: the protection domain
  Td* td;              // and its thread domain, or nullptr

  static Pd* of(ibv_pd* pd) { return reinterpret_cast<Pd*>(pd); }
  bool single_threaded() const { return td != nullptr; }
};
static_assert(offsetof(Pd, base) == 0);

ibv_pd* alloc_pd(ibv_context* context);
int dealloc_pd(ibv_pd* ibv);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr);
int dealloc_td(ibv_td* ibv);

}  // namespace weft

#endif  // WEFT_PD_HPP
