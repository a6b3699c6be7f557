// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Segment planner: decides how much of a message goes into the next FPDU. */

#include <linux/minmax.h>
#include <linux/types.h>

#include "plan.h"

#define FPDU_OVERHEAD	(WEFT_MPA_LEN + WEFT_CRC_LEN)	/* without padding */
/* The largest FPDU without padding, so that it can end at the end of a TCP segment. */
#define LARGEST_FPDU	(((WEFT_MAX_ULPDU + WEFT_MPA_LEN) & ~3U) + WEFT_CRC_LEN)
#define LARGEST_MARKED	0x10000U	/* markers point back with 16 bits */

/*
 * Plans an FPDU of at most @limit bytes. Returns false if @limit is too small, or is below @least
 * for an FPDU that does not end its message.
 */
static inline bool plan_within(u32 limit, u32 least, bool tagged, u32 left, struct weft_fpdu *fpdu)
{
	u32 hdr = weft_ddp_hdr_len(tagged);
	u32 fits;

	if (limit < FPDU_OVERHEAD + hdr)
		return false;
	fits = min(limit - FPDU_OVERHEAD, WEFT_MAX_ULPDU) - hdr;

	fpdu->last = left <= fits;
	if (!fpdu->last && limit < least)
		return false;

	fpdu->payload = fpdu->last ? left : fits;
	fpdu->len = weft_fpdu_len(hdr + fpdu->payload);
	return true;
}

bool weft_plan_cut(u32 emss, u32 max_fpdu, u32 room, bool tagged, u32 left, struct weft_fpdu *fpdu)
{
	u32 limit = room;

	/* A larger FPDU takes whole further segments, to end where a segment ends. */
	max_fpdu = min(max_fpdu, LARGEST_FPDU);
	if (max_fpdu > emss)
		limit += (max_fpdu - room) / emss * emss;

	return plan_within(limit, WEFT_PLAN_MIN_ROOM, tagged, left, fpdu);
}

bool weft_plan_marked(u32 emss, u64 at, u32 room, bool tagged, u32 left, struct weft_fpdu *fpdu)
{
	/* No minimum in a fresh segment: markers leave less than that of the smallest. */
	u32 least = room < emss ? WEFT_PLAN_MIN_ROOM : 0;

	room = min(room, LARGEST_MARKED);
	if (!plan_within(weft_marker_room(at, room), least, tagged, left, fpdu))
		return false;
	fpdu->len = weft_marker_spread(at, fpdu->len);
	return true;
}
