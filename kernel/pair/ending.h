/* SPDX-License-Identifier: GPL-2.0 */
/* How a connection ends: the Terminate to the peer, and how long the end may take. */
#ifndef WEFT_PAIR_ENDING_H
#define WEFT_PAIR_ENDING_H

#include <linux/jiffies.h>
#include <linux/string.h>
#include <linux/types.h>

#include "wire/ddp.h"
#include "wire/term.h"

/* How long a graceful end waits for the stream to take the message in progress. */
#define WEFT_DRAIN_TIMEOUT	(5 * HZ)

/**
 * struct weft_blame - the segment of the peer that is to blame for a failure
 * @len: bytes of @seg; 0: no segment is to blame
 * @ulpdu: the segment's length
 * @seg: its header, and the read request that it carried
 */
struct weft_blame {
	u8 len;
	u16 ulpdu;
	u8 seg[WEFT_DDP_UNTAGGED_LEN + WEFT_READ_REQ_LEN];
};

/**
 * weft_blame_set() - name the segment that is to blame
 * @blame: overwritten
 * @hdr: the segment's header, @len bytes of it
 * @len: at most that of an untagged header; 0: there is none to show
 * @ulpdu: the segment's length
 * @request: the read request in it, or NULL
 *
 * Context: any.
 */
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
 * @term: why the queue pair failed, for the Terminate message
 * @blame: what it shows
 * @due: a Terminate is to be sent
 * @said: it is laid out
 * @told: the connection was told that the queue pair failed or closes
 * @drain_until: when to stop waiting for the stream or, without a stream, for lent pages;
 *	0: not waiting
 *
 * @term, @blame and @due are set by the first failure, under the queue pair's @lock, and are
 * valid for a reader that has seen the state ERR. All else is of the transmit side, under
 * tx.lock, and so is @due from then on.
 */
struct weft_ending {
	struct weft_term term;
	struct weft_blame blame;
	bool due;
	bool said;
	bool told;
	unsigned long drain_until;
};

/* Prepares for a new connection. */
static inline void weft_ending_start(struct weft_ending *ending)
{
	ending->due = false;
	ending->said = false;
	ending->told = false;
	ending->drain_until = 0;
}

/* Sets what a Terminate gives as reason, and shows if not NULL. For weft_qp_fail() alone. */
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

/* Begins to wait for the stream, unless it did before. Returns true if time is up. */
static inline bool weft_ending_overdue(struct weft_ending *ending)
{
	if (!ending->drain_until)
		ending->drain_until = (jiffies + WEFT_DRAIN_TIMEOUT) | 1;
	return time_after(jiffies, ending->drain_until);
}

#endif /* WEFT_PAIR_ENDING_H */
