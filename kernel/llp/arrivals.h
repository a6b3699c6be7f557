/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The messages of a lower layer that has messages, from their arrival to the turn of each.
 * They are numbered in the order in which they were sent, and may come in another. One that
 * comes before its turn can be placed at once, and is then kept without its payload.
 */
#ifndef WEFT_LLP_ARRIVALS_H
#define WEFT_LLP_ARRIVALS_H

#include <linux/types.h>
#include <linux/xarray.h>

/**
 * struct weft_arrival - a message that has come
 * @number: its place in the order in which messages were sent
 * @len: its length, in bytes
 * @control: the lower layer's own; else a DDP segment
 * @placed: its payload was placed. Only WEFT_DDP_MAX_LEN bytes of @data are sure to be here
 * @data: its bytes; a private copy
 */
struct weft_arrival {
	u32 number;
	u32 len;
	bool control;
	bool placed;
	u8 data[];
};

/**
 * struct weft_arrivals - the messages of a stream that have come and were not taken
 * @by_number: the messages; those marked WEFT_ARRIVAL_NEW were not offered for early placement
 * @turn: number of the message that is taken next
 * @gap: the first number behind @turn whose message has not come
 * @max: with so many bytes of memory held, nothing behind @gap is taken any more
 * @held: bytes of memory that the messages take
 * @most: the most that they ever took
 *
 * Protected by the stream's lock. @most is read without it, to be shown.
 */
struct weft_arrivals {
	struct xarray by_number;
	u32 turn;
	u32 gap;
	u32 max;
	u32 held;
	u32 most;
};

#define WEFT_ARRIVAL_NEW	XA_MARK_1

/* Places the payload of a message before its turn. Returns true if all of it is placed. */
typedef bool (*weft_arrival_placer)(void *ctx, const struct weft_arrival *arrival);

void weft_arrivals_init(struct weft_arrivals *arrivals, u32 turn, u32 max);
struct weft_arrival *weft_arrival_new(u32 room);
int weft_arrivals_add(struct weft_arrivals *arrivals, struct weft_arrival *arrival, gfp_t flags);
void weft_arrivals_pass(struct weft_arrivals *arrivals);
void weft_arrivals_offer(struct weft_arrivals *arrivals, weft_arrival_placer placer, void *ctx);
void weft_arrivals_drop(struct weft_arrivals *arrivals);

/* Returns the message whose turn it is, or NULL if that has not come. */
static inline struct weft_arrival *weft_arrivals_turn(struct weft_arrivals *arrivals)
{
	if (arrivals->turn == arrivals->gap)
		return NULL;
	return xa_load(&arrivals->by_number, arrivals->turn);
}

#endif /* WEFT_LLP_ARRIVALS_H */
