// SPDX-License-Identifier: GPL-2.0
/* Checks of a device's limits. Each refusal is traced with the limit's name. */
#include "base/trace.h"
#include "base/weft.h"
#include "uapi/weft-abi.h"

static const u32 most[] = {
	[WEFT_LIMIT_QP] = WEFT_MAX_QP,
	[WEFT_LIMIT_QP_WR] = WEFT_MAX_QP_WR,
	[WEFT_LIMIT_SGE] = WEFT_MAX_SGE,
	[WEFT_LIMIT_INLINE] = WEFT_MAX_INLINE,
	[WEFT_LIMIT_CQ] = WEFT_MAX_CQ,
	[WEFT_LIMIT_CQE] = WEFT_MAX_CQE,
	[WEFT_LIMIT_MR] = WEFT_MAX_MR,
	[WEFT_LIMIT_MW] = WEFT_MAX_MW,
	[WEFT_LIMIT_PD] = WEFT_MAX_PD,
	[WEFT_LIMIT_SRQ] = WEFT_MAX_SRQ,
	[WEFT_LIMIT_SRQ_WR] = WEFT_MAX_SRQ_WR,
	[WEFT_LIMIT_FAST_BLOCKS] = WEFT_MAX_FAST_BLOCKS,
	[WEFT_LIMIT_RD_ATOM] = WEFT_MAX_RD_ATOM,
};

/* Returns true if @asked is within the limit, and traces a refusal. */
bool weft_limit_allows(const struct weft_device *dev, enum weft_limit limit, u32 asked)
{
	if (asked <= most[limit])
		return true;
	trace_weft_limit(dev, limit, asked, most[limit]);
	return false;
}

/* Counts one object more, and returns false at the limit. The caller uncounts a freed object. */
bool weft_limit_count(const struct weft_device *dev, enum weft_limit limit, atomic_t *number)
{
	if (atomic_add_unless(number, 1, most[limit]))
		return true;
	trace_weft_limit(dev, limit, most[limit] + 1, most[limit]);
	return false;
}
