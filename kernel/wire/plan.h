/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The segment planner: cuts messages into FPDUs so that every FPDU lies in one
 * TCP segment and every packet buffer starts with one.
 *
 * All sizes are bytes of TCP payload. The effective MSS is a multiple of four
 * and so is every FPDU; FPDUs of a train are exactly one segment long, so that
 * segmentation offload cuts the train on their boundaries.
 */
#ifndef WEFT_WIRE_PLAN_H
#define WEFT_WIRE_PLAN_H

#include <linux/types.h>

#include "ddp.h"
#include "fpdu.h"

/* The smallest segment size Weft plans for (RFC 5044 asks for 128 and up). */
#define WEFT_MIN_EMSS		128U
/* Too small a rest of a segment to be worth an FPDU of its own. */
#define WEFT_PLAN_MIN_ROOM	128U

/**
 * struct weft_fpdu - one planned FPDU
 * @payload: bytes of the message in it
 * @len: all of it: length field, header, payload, padding, CRC, and markers if it has some
 * @last: it ends its message
 */
struct weft_fpdu {
	u32 payload;
	u32 len;
	bool last;
};

/* Makes a planned FPDU shorter: @payload bytes behind a header of @hdr_len. */
static inline void weft_plan_shorten(struct weft_fpdu *fpdu, u32 hdr_len, u32 payload)
{
	fpdu->payload = payload;
	fpdu->len = weft_fpdu_len(hdr_len + payload);
	fpdu->last = false;
}

/**
 * weft_plan_rest() - how long would an FPDU with all of a message be?
 * @tagged: the message's kind
 * @left: bytes of the message not yet planned
 *
 * A message may have 4 GiB, as a peer's read request says. Such a length is capped, since the
 * sum would wrap, and a little memory would seem enough for the next FPDU.
 *
 * Return: bytes; if that is longer than any FPDU, some length that is longer.
 */
static inline u32 weft_plan_rest(bool tagged, u32 left)
{
	if (left > WEFT_MAX_ULPDU)
		left = WEFT_MAX_ULPDU;
	return weft_fpdu_len(weft_ddp_hdr_len(tagged) + left);
}

/* As weft_plan_fpdu(), of a message whose rest does not fit in @room. */
bool weft_plan_cut(u32 emss, u32 max_fpdu, u32 room, bool tagged, u32 left,
		   struct weft_fpdu *fpdu);

/**
 * weft_plan_fpdu() - plan the next FPDU of a message
 * @emss: the connection's segment size, a multiple of 4, at least WEFT_MIN_EMSS
 * @max_fpdu: largest FPDU to make: @emss, or more where the peer agreed
 * @room: bytes left in the current segment, 1 to @emss, a multiple of 4
 *	  (@emss: a fresh segment)
 * @tagged: the message's kind, which gives the header length
 * @left: bytes of the message not yet planned; 0 only for an empty message
 * @fpdu: result; meaningful only on success
 *
 * Fits the FPDU to @room if the message's rest fits in it, or if @room is worth filling
 * (at least WEFT_PLAN_MIN_ROOM bytes); otherwise the segment should be ended. With a
 * @max_fpdu above @emss the FPDU takes whole further segments as well, so that it still
 * ends where a segment ends.
 *
 * Return: true with @fpdu filled in; false if the current segment must be
 * ended first (never when @room is @emss).
 */
static inline bool weft_plan_fpdu(u32 emss, u32 max_fpdu, u32 room, bool tagged, u32 left,
				  struct weft_fpdu *fpdu)
{
	u32 rest = weft_plan_rest(tagged, left);

	/* Most messages are short, and need no plan. A segment may be longer than any FPDU. */
	if (rest > room || left > WEFT_MAX_ULPDU - weft_ddp_hdr_len(tagged))
		return weft_plan_cut(emss, max_fpdu, room, tagged, left, fpdu);
	fpdu->payload = left;
	fpdu->len = rest;
	fpdu->last = true;
	return true;
}

/**
 * weft_plan_marked() - plan the next FPDU of a message, in a stream with markers
 * @emss: as for weft_plan_fpdu()
 * @at: where in the stream the FPDU begins, a multiple of 4; see marker.h
 * @room: as for weft_plan_fpdu()
 * @tagged: likewise
 * @left: likewise
 * @fpdu: likewise; its length counts the markers
 *
 * No FPDU is larger than a segment here.
 *
 * Return: as weft_plan_fpdu().
 */
bool weft_plan_marked(u32 emss, u64 at, u32 room, bool tagged, u32 left,
		      struct weft_fpdu *fpdu);

#endif /* WEFT_WIRE_PLAN_H */
