// SPDX-License-Identifier: GPL-2.0
/* The checks that stand between a key and memory. */
#include <linux/overflow.h>

#include "mr.h"

enum weft_key_error weft_mr_check(const struct weft_mr *mr, u32 stag,
				  const struct ib_pd *pd, u64 addr, u64 len,
				  int access)
{
	u64 end;

	if (mr->stag != stag)
		return WEFT_KEY_UNKNOWN;
	if (mr->pd != pd)
		return WEFT_KEY_PD;
	if ((mr->access & access) != access)
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
