// SPDX-License-Identifier: GPL-2.0
/* What has come over several paths, by sequence number. See reorder.h. */
#include <linux/errno.h>
#include <linux/mm.h>

#include "llp/reorder.h"

/**
 * weft_reorder_init() - prepare for segments from number 0 on
 * @order: zeroed
 * @gfp: how to allocate
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int weft_reorder_init(struct weft_reorder *order, gfp_t gfp)
{
	order->slot = kvcalloc(WEFT_PATH_WINDOW, sizeof(*order->slot), gfp);
	return order->slot ? 0 : -ENOMEM;
}

/**
 * weft_reorder_free() - drop all segments
 * @order: prepared, or zeroed
 *
 * Context: process, may sleep.
 */
void weft_reorder_free(struct weft_reorder *order)
{
	u32 i;

	if (!order->slot)
		return;
	for (i = 0; i < WEFT_PATH_WINDOW; i++)
		kfree_skb(order->slot[i]);
	kvfree(order->slot);
	order->slot = NULL;
}

/* Bytes that the segment's FPDU had on its path. */
static u32 reorder_bytes(const struct sk_buff *skb)
{
	return skb->len + WEFT_PATH_HDR_LEN;
}

/**
 * weft_reorder_add() - a segment has come
 * @order: what has come
 * @ssn: its number
 * @skb: its FPDU; taken over on success
 *
 * Context: any.
 * Return: 0; -EEXIST if it has come before; -EPROTO if its sender may not have sent it yet, or
 * if it is behind the end.
 */
int weft_reorder_add(struct weft_reorder *order, u32 ssn, struct sk_buff *skb)
{
	struct sk_buff **slot = &order->slot[ssn % WEFT_PATH_WINDOW];

	if (weft_path_before(ssn, order->next))
		return -EEXIST;
	if (ssn - order->next >= WEFT_PATH_WINDOW ||
	    (order->ends && !weft_path_before(ssn, order->end)))
		return -EPROTO;
	if (*slot)
		return -EEXIST;
	if (reorder_bytes(skb) > WEFT_PATH_WINDOW_BYTES - order->bytes)
		return -EPROTO;
	*slot = skb;
	order->bytes += reorder_bytes(skb);
	if (weft_path_before(order->beyond, ssn + 1))
		order->beyond = ssn + 1;
	while (order->ready - order->next < WEFT_PATH_WINDOW &&
	       order->slot[order->ready % WEFT_PATH_WINDOW])
		order->ready++;
	return 0;
}

/**
 * weft_reorder_end() - the peer has ended the stream
 * @order: what has come
 * @ssn: no segment has this number or one behind it
 *
 * Context: any.
 * Return: 0, -EEXIST if it has come before, or -EPROTO if it cannot be.
 */
int weft_reorder_end(struct weft_reorder *order, u32 ssn)
{
	if (order->ends)
		return ssn == order->end ? -EEXIST : -EPROTO;
	if (weft_path_before(ssn, order->beyond) || ssn - order->next > WEFT_PATH_WINDOW)
		return -EPROTO;
	order->ends = true;
	order->end = ssn;
	return 0;
}

/**
 * weft_reorder_at() - get a segment whose turn has come
 * @order: what has come
 * @ssn: its number, @order->next or behind
 *
 * Context: any.
 * Return: its FPDU, or NULL if it, or one before it, has not come.
 */
struct sk_buff *weft_reorder_at(const struct weft_reorder *order, u32 ssn)
{
	return weft_path_before(ssn, order->ready) ? order->slot[ssn % WEFT_PATH_WINDOW] : NULL;
}

/**
 * weft_reorder_pass() - the next segment was taken
 * @order: what has come; that segment has
 *
 * Context: any.
 */
void weft_reorder_pass(struct weft_reorder *order)
{
	struct sk_buff **slot = &order->slot[order->next % WEFT_PATH_WINDOW];

	order->bytes -= reorder_bytes(*slot);
	kfree_skb(*slot);
	*slot = NULL;
	order->next++;
}
