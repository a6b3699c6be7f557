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
 * @ib: what the RDMA core sees; it allocates and frees the whole
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

/**
 * weft_mw_check_bind() - may a window be bound like this?
 * @window: the window, @invalid read under its lock
 * @region: the region that the bind names
 * @bind: the bind, a private copy
 *
 * A type 2 window must be invalid to be bound, and the range must not be empty. A type 1
 * window keeps the region's addresses.
 *
 * Context: any.
 */
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
