// SPDX-License-Identifier: GPL-2.0
/* The checks between a key and memory. */
#include <linux/overflow.h>

#include "memory/mr.h"

/* May a queue pair of @pd and @qpn use the key? */
static bool mr_is_for(const struct weft_mr *mr, const struct ib_pd *pd,
		      u32 qpn)
{
	return mr->pd == pd &&
	       (mr->kind != WEFT_MR_WINDOW_2 || mr->qpn == qpn);
}

static bool mr_is_window(const struct weft_mr *mr)
{
	return mr->kind == WEFT_MR_WINDOW_1 || mr->kind == WEFT_MR_WINDOW_2;
}

enum weft_key_error weft_mr_check(const struct weft_mr *mr, u32 stag,
				  const struct ib_pd *pd, u32 qpn, u64 addr,
				  u64 len, int access)
{
	u64 end;

	if (mr->invalid || mr->stag != stag)
		return WEFT_KEY_UNKNOWN;
	if (!mr_is_for(mr, pd, qpn))
		return WEFT_KEY_PD;
	if ((mr->access & access) != access)
		return WEFT_KEY_ACCESS;
	/* A window is for peers only; its owner uses the region. */
	if (mr_is_window(mr) && !(access & WEFT_ACCESS_REMOTE))
		return WEFT_KEY_ACCESS;
	if (!len)
		return WEFT_KEY_OK;
	if (check_add_overflow(addr, len - 1, &end))
		return WEFT_KEY_WRAP;
	if (mr->all_memory)
		return WEFT_KEY_OK;
	if (addr < mr->iova || len > mr->length ||
	    addr - mr->iova > mr->length - len)
		return WEFT_KEY_BOUNDS;
	return WEFT_KEY_OK;
}

enum weft_key_error weft_mr_check_invalidate(const struct weft_mr *mr, u32 stag,
					     const struct ib_pd *pd, u32 qpn,
					     bool remote)
{
	/*
	 * A kernel consumer may use an old key, because the core's rdma_rw makes a new key after
	 * it has written the old one into the READ that will invalidate it.
	 */
	if (mr->kind == WEFT_MR_FAST && !remote)
		return mr->pd == pd ? WEFT_KEY_OK : WEFT_KEY_PD;
	if (mr->invalid || mr->stag != stag)
		return WEFT_KEY_UNKNOWN;
	if (!mr_is_for(mr, pd, qpn))
		return WEFT_KEY_PD;
	switch (mr->kind) {
	case WEFT_MR_FAST:
		/* A region without remote rights was never shown to a peer. */
		return mr->access & WEFT_ACCESS_REMOTE ? WEFT_KEY_OK :
							 WEFT_KEY_ACCESS;
	case WEFT_MR_WINDOW_2:
		return WEFT_KEY_OK;
	default:
		return WEFT_KEY_ACCESS;
	}
}
