/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of a lower layer that keeps boundaries, from their arrival to their turn. They are
 * numbered in the order in which the peer sent them, and may arrive in another. The payload of
 * an early message can be placed at once; its header alone is then kept.
 */
#ifndef WEFT_LLP_ARRIVALS_H
#define WEFT_LLP_ARRIVALS_H

#include <linux/types.h>
#include <linux/xarray.h>

/* A message that has come. */
struct weft_arrival {
	u32 number;	/* its place in the order of sending */
	u32 len;	/* its length in bytes */
	bool control;	/* a message of the lower layer itself, not a DDP segment */
	bool placed;	/* its payload was placed; @data has at most WEFT_DDP_MAX_LEN bytes */
	u8 data[];	/* its bytes; a private copy */
};

/*
 * The messages of a stream that have come and were not taken. Protected by the stream's lock; @most
 * is read without it for statistics.
 */
struct weft_arrivals {
	/* the messages; the mark WEFT_ARRIVAL_NEW: not yet offered for early placement */
	struct xarray by_number;
	u32 turn;	/* number of the message that is taken next */
	u32 gap;	/* number of the first missing message, from @turn on */
	u32 max;	/* limit of @held for messages behind @gap */
	bool early;	/* messages are placed as soon as they arrive */
	u32 held;	/* bytes of memory that the messages take */
	u32 most;	/* the maximum that @held has had */
};

#define WEFT_ARRIVAL_NEW	XA_MARK_1

/* Places the payload of an early message. Returns true if all of it is placed. */
typedef bool (*weft_arrival_placer)(void *ctx, const struct weft_arrival *arrival);

void weft_arrivals_init(struct weft_arrivals *arrivals, u32 turn, u32 max, bool early);
struct weft_arrival *weft_arrival_new(u32 room);
int weft_arrivals_add(struct weft_arrivals *arrivals, struct weft_arrival *arrival, gfp_t flags);
void weft_arrivals_pass(struct weft_arrivals *arrivals);
void weft_arrivals_offer(struct weft_arrivals *arrivals, weft_arrival_placer placer, void *ctx);
void weft_arrivals_drop(struct weft_arrivals *arrivals);

/* Returns the message whose turn it is, or NULL if it has not come. */
static inline struct weft_arrival *weft_arrivals_turn(struct weft_arrivals *arrivals)
{
	if (arrivals->turn == arrivals->gap)
		return NULL;
	return xa_load(&arrivals->by_number, arrivals->turn);
}

#endif /* WEFT_LLP_ARRIVALS_H */
