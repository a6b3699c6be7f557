/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the receive side is told of DDP segments, one at a time, by whoever finds them: MPA's
 * framer does (mpa/framer.h), and a lower layer with messages of its own would.
 */
#ifndef WEFT_PAIR_SEGMENT_H
#define WEFT_PAIR_SEGMENT_H

#include <linux/types.h>

struct weft_packet;

/* The most bytes of a segment that are shown when it begins. */
#define WEFT_SEGMENT_HEAD	18

enum weft_rx_verdict {
	WEFT_RX_OK,
	WEFT_RX_WAIT,	/* no receive is posted: stop reading for now */
	WEFT_RX_BAD,	/* nothing more is taken */
};

/**
 * struct weft_segment_ops - what is told of a segment, in this order
 * @begin: one of @len bytes has come, or begins to. @head has room for WEFT_SEGMENT_HEAD
 *	bytes, of which @have are the segment's first: all of them, if it is no longer.
 *	Nobody else writes there. Says in @hdr_len how many of them are its header. On
 *	WEFT_RX_WAIT nothing was changed, and it is begun again later
 * @place: the next bytes behind the header, which others may be writing
 * @end: those were all, and they are as they were sent
 * @row: segments in a packet that are like the one that has just ended: takes those from
 *	@offset on whose FPDUs lie before @end, and returns where the next FPDU begins
 *
 * A constant table. Who takes segments has the framer's loops inlined with it, so that
 * none of these is an indirect call.
 */
struct weft_segment_ops {
	enum weft_rx_verdict (*begin)(void *ctx, const u8 *head, u32 have, u32 len,
				      u32 *hdr_len);
	enum weft_rx_verdict (*place)(void *ctx, const u8 *from, u32 len);
	enum weft_rx_verdict (*end)(void *ctx);
	u32 (*row)(void *ctx, struct weft_packet *p, u32 offset, u32 end);
};

#endif /* WEFT_PAIR_SEGMENT_H */
