// SPDX-License-Identifier: GPL-2.0
/* The checks that stand between a key and memory. */
#include <linux/overflow.h>

#include "memory/mr.h"

/* Whether the one who names it is one of those it is for. */
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
	/* A window is a door for peers; its owner has the region. */
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
	 * The kernel names its own region by whichever key it had: the core's
	 * rdma_rw takes a new one after it has written the old one into the
	 * READ that is to invalidate it.
	 */
	if (mr->kind == WEFT_MR_FAST && !remote)
		return mr->pd == pd ? WEFT_KEY_OK : WEFT_KEY_PD;
	if (mr->invalid || mr->stag != stag)
		return WEFT_KEY_UNKNOWN;
	if (!mr_is_for(mr, pd, qpn))
		return WEFT_KEY_PD;
	switch (mr->kind) {
	case WEFT_MR_FAST:
		/* What was never shown to a peer is not the peer's to close. */
		return mr->access & WEFT_ACCESS_REMOTE ? WEFT_KEY_OK :
							 WEFT_KEY_ACCESS;
	case WEFT_MR_WINDOW_2:
		return WEFT_KEY_OK;
	default:
		return WEFT_KEY_ACCESS;
	}
}
