/* SPDX-License-Identifier: GPL-2.0 */
/* Memory windows: keys of their own for parts of a region, bound by work requests. */
#ifndef WEFT_MW_H
#define WEFT_MW_H

#include <rdma/ib_verbs.h>

#include "uapi/weft-abi.h"

struct weft_accessor;
struct weft_mr;

/**
 * struct weft_mw - one memory window
 * @ib: the core's view; the core allocates and frees the whole
 * @mr: its entry in the key table
 */
struct weft_mw {
	struct ib_mw ib;
	struct weft_mr *mr;
};

static inline struct weft_mw *to_weft_mw(struct ib_mw *ib)
{
	return container_of(ib, struct weft_mw, ib);
}

/* May a window, locked by the caller, be bound like this? @bind is a private copy. */
bool weft_mw_check_bind(const struct weft_mr *window,
			const struct weft_mr *region,
			const struct weft_bind *bind);

bool weft_mw_hold(struct weft_mr *region, const struct weft_mr *window,
		  const struct weft_bind *bind);
bool weft_mw_bind(struct weft_accessor *by, u32 old, u32 key,
		  const struct weft_bind *bind);
void weft_mw_unbind(struct weft_mr *mr);
void weft_mw_forget(struct weft_accessor *by);

int weft_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int weft_dealloc_mw(struct ib_mw *ib);

#endif /* WEFT_MW_H */
