/* SPDX-License-Identifier: GPL-2.0 */
/* How a connection ends: the Terminate to the peer, and the timeout. */
#ifndef WEFT_PAIR_ENDING_H
#define WEFT_PAIR_ENDING_H

#include <linux/jiffies.h>
#include <linux/string.h>
#include <linux/types.h>

#include "wire/ddp.h"

/* Longest wait of an ending connection for room in the stream, or for lent pages. */
#define WEFT_DRAIN_TIMEOUT	(5 * HZ)

/* The segment of the peer that caused a failure. */
struct weft_blame {
	u8 len;		/* bytes of @seg; 0: no segment */
	u16 ulpdu;	/* the segment's length */
	u8 seg[WEFT_DDP_UNTAGGED_LEN + WEFT_READ_REQ_LEN]; /* header, and the read request in it */
};

/* Names the segment to blame: @len bytes of its header (0: none), and its read request or NULL. */
static inline void weft_blame_set(struct weft_blame *blame, const u8 *hdr, u32 len,
				  u32 ulpdu, const u8 *request)
{
	memcpy(blame->seg, hdr, len);
	blame->len = len;
	blame->ulpdu = ulpdu;
	if (!len || !request)
		return;
	memcpy(blame->seg + len, request, WEFT_READ_REQ_LEN);
	blame->len += WEFT_READ_REQ_LEN;
}

/**
 * struct weft_ending - how a connection ends
 * @term: the reason of the failure, for the Terminate
 * @blame: the segment that the Terminate shows
 * @due: a Terminate is to be sent
 * @said: the Terminate is laid out
 * @told: the connection was notified that the queue pair failed or closes
 * @drain_until: end of the wait for the stream or, without a stream, for lent pages; 0: no wait
 *
 * The first failure sets @term, @blame and @due under the queue pair's @lock; a reader that has
 * seen the state ERR may read them. All else, and @due from then on, is under tx_lock.
 */
struct weft_ending {
	struct weft_term term;
	struct weft_blame blame;
	bool due;
	bool said;
	bool told;
	unsigned long drain_until;
};

static inline void weft_ending_start(struct weft_ending *ending)
{
	ending->due = false;
	ending->said = false;
	ending->told = false;
	ending->drain_until = 0;
}

/* Sets the Terminate's reason and blame. For weft_qp_break(), on the first failure only. */
static inline void weft_ending_set(struct weft_ending *ending,
				   const struct weft_term *term,
				   const struct weft_blame *blame)
{
	ending->term = *term;
	ending->blame.len = 0;
	if (blame)
		ending->blame = *blame;
	ending->due = true;
}

/* Writes the Terminate to @to, WEFT_TERM_MAX_LEN bytes. Returns its length. */
static inline u32 weft_ending_tell(struct weft_ending *ending, u8 *to)
{
	ending->due = false;
	ending->said = true;
	return weft_term_encode(to, &ending->term, ending->blame.seg, ending->blame.len,
				ending->blame.ulpdu);
}

/* Starts the wait unless it has started. Returns true after WEFT_DRAIN_TIMEOUT. */
static inline bool weft_ending_overdue(struct weft_ending *ending)
{
	if (!ending->drain_until)
		ending->drain_until = (jiffies + WEFT_DRAIN_TIMEOUT) | 1;
	return time_after(jiffies, ending->drain_until);
}

#endif /* WEFT_PAIR_ENDING_H */
