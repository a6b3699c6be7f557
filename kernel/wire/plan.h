/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Segment planner: cuts messages into FPDUs so that each FPDU lies in one TCP segment and each
 * packet buffer begins with one. FPDUs of a train are exactly one segment long, so segmentation
 * offload cuts between them. The effective MSS and FPDU lengths are multiples of four.
 */
#ifndef WEFT_WIRE_PLAN_H
#define WEFT_WIRE_PLAN_H

#include <linux/types.h>

#include "ddp.h"
#include "fpdu.h"

#define WEFT_MIN_EMSS		128U	/* RFC 5044 asks for at least this */
#define WEFT_PLAN_MIN_ROOM	128U	/* least room for an FPDU that does not end its message */

struct weft_fpdu {
	u32 payload;	/* bytes of the message in it */
	u32 len;	/* all of it, with markers */
	bool last;	/* it ends its message */
};

/*
 * Length of one FPDU with the rest of a message. A peer's Read Request can make @left 4 GiB. The
 * cap keeps the sum from wrapping, because a wrapped sum would seem to fit.
 */
static inline u32 weft_plan_rest(bool tagged, u32 left)
{
	if (left > WEFT_MAX_ULPDU)
		left = WEFT_MAX_ULPDU;
	return weft_fpdu_len(weft_ddp_hdr_len(tagged) + left);
}

/* weft_plan_fpdu() for a rest that does not fit in @room, or in one FPDU. */
bool weft_plan_cut(u32 emss, u32 max_fpdu, u32 room, bool tagged, u32 left, struct weft_fpdu *fpdu);

/*
 * Plans the next FPDU of a message: in @room, the rest of the current segment, or also in whole
 * further segments if @max_fpdu, which the peer takes, is above @emss. @room is a multiple of four;
 * @left is 0 for an empty message only. Returns false if the segment must be ended first, because
 * neither the rest of the message nor WEFT_PLAN_MIN_ROOM bytes fit. A fresh segment never fails.
 */
static inline bool weft_plan_fpdu(u32 emss, u32 max_fpdu, u32 room, bool tagged, u32 left,
				  struct weft_fpdu *fpdu)
{
	u32 rest = weft_plan_rest(tagged, left);

	/* Most messages fit. @left is tested too: a segment may exceed the longest FPDU. */
	if (rest > room || left > WEFT_MAX_ULPDU - weft_ddp_hdr_len(tagged))
		return weft_plan_cut(emss, max_fpdu, room, tagged, left, fpdu);
	fpdu->payload = left;
	fpdu->len = rest;
	fpdu->last = true;
	return true;
}

/*
 * Like weft_plan_fpdu(), in a stream with markers at offset @at, a multiple of four. The FPDU,
 * with its markers, is within one segment.
 */
bool weft_plan_marked(u32 emss, u64 at, u32 room, bool tagged, u32 left, struct weft_fpdu *fpdu);

#endif /* WEFT_WIRE_PLAN_H */
