/* SPDX-License-Identifier: GPL-2.0 */
/* Contexts of processes and protection domains, as verbs. */
#ifndef WEFT_UCONTEXT_H
#define WEFT_UCONTEXT_H

#include <rdma/ib_verbs.h>

struct weft_pd {
	struct ib_pd ib;
};

int weft_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void weft_dealloc_ucontext(struct ib_ucontext *ib);
void weft_disassociate_ucontext(struct ib_ucontext *ib);
int weft_alloc_pd(struct ib_pd *ib, struct ib_udata *udata);
int weft_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata);

#endif /* WEFT_UCONTEXT_H */
