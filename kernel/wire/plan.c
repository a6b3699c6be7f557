// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The segment planner: how much of a message goes into the next FPDU. */

#include <linux/types.h>

#include "plan.h"

/* What an FPDU adds to its ULPDU, padding aside. */
#define FPDU_OVERHEAD	(WEFT_MPA_LEN + WEFT_CRC_LEN)
/* The largest FPDU without padding, so that it can end on a segment boundary. */
#define LARGEST_FPDU	(((WEFT_MAX_ULPDU + WEFT_MPA_LEN) & ~3U) + WEFT_CRC_LEN)

bool weft_plan_fpdu(u32 emss, u32 max_fpdu, u32 room, bool tagged, u32 left,
		    struct weft_fpdu *fpdu)
{
	u32 hdr = weft_ddp_hdr_len(tagged);
	u32 limit = room;
	u32 fits;

	/* A larger FPDU takes whole further segments, to end where one ends. */
	if (max_fpdu > LARGEST_FPDU)
		max_fpdu = LARGEST_FPDU;
	if (max_fpdu > emss)
		limit += (max_fpdu - room) / emss * emss;

	if (limit < FPDU_OVERHEAD + hdr)
		return false;
	fits = limit - FPDU_OVERHEAD;
	if (fits > WEFT_MAX_ULPDU)
		fits = WEFT_MAX_ULPDU;
	fits -= hdr;

	fpdu->last = left <= fits;
	if (!fpdu->last && limit < WEFT_PLAN_MIN_ROOM)
		return false;

	fpdu->payload = fpdu->last ? left : fits;
	fpdu->len = weft_fpdu_len(hdr + fpdu->payload);
	return true;
}
