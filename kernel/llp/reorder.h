/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What has come over several paths, by sequence number: each segment waits for those before it.
 */
#ifndef WEFT_LLP_REORDER_H
#define WEFT_LLP_REORDER_H

#include <linux/skbuff.h>

#include "wire/path.h"

/**
 * struct weft_reorder - segments that have come and were not taken
 * @slot: the segment with number n, an FPDU, is in slot n modulo WEFT_PATH_WINDOW
 * @next: number of the segment that is taken next
 * @ready: the first number from @next on whose segment has not come
 * @beyond: behind the last number that has come
 * @bytes: of the FPDUs that have come, as they were on their paths
 * @end: no segment has this number or one behind it
 * @ends: @end is known
 *
 * Protected by the stream's lock.
 */
struct weft_reorder {
	struct sk_buff **slot;
	u32 next;
	u32 ready;
	u32 beyond;
	u32 bytes;
	u32 end;
	bool ends;
};

int weft_reorder_init(struct weft_reorder *order, gfp_t gfp);
void weft_reorder_free(struct weft_reorder *order);
int weft_reorder_add(struct weft_reorder *order, u32 ssn, struct sk_buff *skb);
int weft_reorder_end(struct weft_reorder *order, u32 ssn);
struct sk_buff *weft_reorder_at(const struct weft_reorder *order, u32 ssn);
void weft_reorder_pass(struct weft_reorder *order);

/* Returns true if no segments will come but those that are ready. */
static inline bool weft_reorder_ended(const struct weft_reorder *order)
{
	return order->ends && order->ready == order->end;
}

/* What the peer is told that was taken. An end counts as soon as all before it was. */
static inline u32 weft_reorder_ack(const struct weft_reorder *order)
{
	return order->next + (order->ends && order->next == order->end);
}

#endif /* WEFT_LLP_REORDER_H */
