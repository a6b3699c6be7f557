/* SPDX-License-Identifier: GPL-2.0 */
/* The interface by which the receive side gets DDP segments, one at a time (mpa/framer.h). */
#ifndef WEFT_PAIR_SEGMENT_H
#define WEFT_PAIR_SEGMENT_H

#include <linux/types.h>

struct weft_packet;

/* Most bytes of a segment that @begin gets. */
#define WEFT_SEGMENT_HEAD	18

enum weft_rx_verdict {
	WEFT_RX_OK,
	WEFT_RX_WAIT,	/* no receive, or no memory: stop reading for now */
	WEFT_RX_BAD,	/* nothing more is taken */
};

/**
 * struct weft_segment_ops - called for each segment, in this order
 * @begin: a segment of @len bytes comes. @head, a private copy, has room for WEFT_SEGMENT_HEAD
 *	bytes; the first @have are the segment's. Sets @hdr_len. WEFT_RX_WAIT changes nothing, and
 *	the segment begins again later
 * @place: the next bytes behind the header, which a local sender may still write
 * @end: all bytes were placed, and the CRC, if any, is good
 * @row: takes FPDUs like the last one from @offset up to @end; returns where the next one begins
 *
 * A constant table: the framer's loops are inlined with it, so that no call is indirect.
 */
struct weft_segment_ops {
	enum weft_rx_verdict (*begin)(void *ctx, const u8 *head, u32 have, u32 len,
				      u32 *hdr_len);
	enum weft_rx_verdict (*place)(void *ctx, const u8 *from, u32 len);
	enum weft_rx_verdict (*end)(void *ctx);
	u32 (*row)(void *ctx, struct weft_packet *p, u32 offset, u32 end);
};

#endif /* WEFT_PAIR_SEGMENT_H */
