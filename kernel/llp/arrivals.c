// SPDX-License-Identifier: GPL-2.0
/* The messages of a lower layer that has messages; see arrivals.h. */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/context.h"
#include "llp/arrivals.h"
#include "wire/ddp.h"

/* How far ahead of the gap a number may be. */
#define ARRIVALS_AHEAD	0x8000U

/**
 * weft_arrivals_init() - prepare for a new stream
 * @arrivals: zeroed
 * @turn: number of the message that comes first
 * @max: the most memory of messages before a gap is closed
 *
 * Context: any.
 */
void weft_arrivals_init(struct weft_arrivals *arrivals, u32 turn, u32 max)
{
	xa_init(&arrivals->by_number);
	arrivals->turn = turn;
	arrivals->gap = turn;
	arrivals->max = max;
}

/**
 * weft_arrival_new() - make a message that is to be received
 * @room: bytes of it
 *
 * The active memory cgroup pays for it.
 *
 * Context: as weft_payer_alloc().
 * Return: the message with @room bytes of length, the caller's until weft_arrivals_add(), and
 * freed by kfree(); or NULL.
 */
struct weft_arrival *weft_arrival_new(u32 room)
{
	struct weft_arrival *arrival = weft_payer_alloc(struct_size(arrival, data, room));

	if (!arrival)
		return NULL;
	arrival->number = 0;
	arrival->len = room;
	arrival->control = false;
	arrival->placed = false;
	return arrival;
}

/* The memory that a message takes. */
static u32 arrival_size(const struct weft_arrival *arrival)
{
	u32 len = arrival->placed ? min_t(u32, arrival->len, WEFT_DDP_MAX_LEN) : arrival->len;

	return struct_size(arrival, data, len);
}

/**
 * weft_arrivals_add() - a message has come
 * @arrivals: the messages of its stream
 * @arrival: the message, its number set; owned by @arrivals on success
 * @flags: how to allocate
 *
 * Context: as @flags say; as with all of these, one call at a time.
 * Return: 0; -EEXIST if it has come before; -ERANGE if its number is too far ahead; -ENOBUFS if
 * too much is held already; -ENOMEM.
 */
int weft_arrivals_add(struct weft_arrivals *arrivals, struct weft_arrival *arrival, gfp_t flags)
{
	u32 ahead = arrival->number - arrivals->gap;
	int ret;

	if (ahead >= -ARRIVALS_AHEAD)
		return -EEXIST;
	if (ahead >= ARRIVALS_AHEAD)
		return -ERANGE;
	if (ahead && arrivals->held >= arrivals->max)
		return -ENOBUFS;
	ret = xa_insert(&arrivals->by_number, arrival->number, arrival, flags);
	if (ret)
		return ret == -EBUSY ? -EEXIST : ret;
	arrivals->held += arrival_size(arrival);
	WRITE_ONCE(arrivals->most, max(arrivals->most, arrivals->held));
	if (ahead)
		xa_set_mark(&arrivals->by_number, arrival->number, WEFT_ARRIVAL_NEW);
	else
		do
			arrivals->gap++;
		while (xa_load(&arrivals->by_number, arrivals->gap));
	return 0;
}

/**
 * weft_arrivals_pass() - the message whose turn it is was taken
 * @arrivals: the messages; weft_arrivals_turn() is not NULL
 *
 * Context: any; as with all of these, one call at a time.
 */
void weft_arrivals_pass(struct weft_arrivals *arrivals)
{
	struct weft_arrival *arrival = xa_erase(&arrivals->by_number, arrivals->turn);

	arrivals->turn++;
	arrivals->held -= arrival_size(arrival);
	kfree(arrival);
}

/*
 * Forgets the payload of a message that was placed. Without memory for the rest alone the message
 * is kept as it is, and placed once more in its turn; if it passed for a small one, a peer could
 * have more memory held than @max says.
 */
static void arrival_placed(struct weft_arrivals *arrivals, struct weft_arrival *arrival)
{
	u32 rest = min_t(u32, arrival->len, WEFT_DDP_MAX_LEN);
	struct weft_arrival *head;

	head = kmemdup(arrival, struct_size(arrival, data, rest), GFP_NOWAIT | __GFP_NOWARN);
	if (!head)
		return;
	head->placed = true;
	arrivals->held -= arrival_size(arrival) - arrival_size(head);
	xa_store(&arrivals->by_number, arrival->number, head, GFP_NOWAIT);
	kfree(arrival);
}

/**
 * weft_arrivals_offer() - have messages placed that have come before their turn
 * @arrivals: the messages
 * @placer: called once for each of them that is behind the gap
 * @ctx: for @placer
 *
 * Context: any; as with all of these, one call at a time.
 */
void weft_arrivals_offer(struct weft_arrivals *arrivals, weft_arrival_placer placer, void *ctx)
{
	struct weft_arrival *arrival;
	unsigned long number;

	xa_for_each_marked(&arrivals->by_number, number, arrival, WEFT_ARRIVAL_NEW) {
		xa_clear_mark(&arrivals->by_number, number, WEFT_ARRIVAL_NEW);
		if (arrival->number - arrivals->gap < ARRIVALS_AHEAD && !arrival->control &&
		    placer(ctx, arrival))
			arrival_placed(arrivals, arrival);
	}
}

/**
 * weft_arrivals_drop() - drop all messages
 * @arrivals: the messages; none is added any more
 *
 * Harmless when repeated.
 *
 * Context: any; as with all of these, one call at a time.
 */
void weft_arrivals_drop(struct weft_arrivals *arrivals)
{
	struct weft_arrival *arrival;
	unsigned long number;

	xa_for_each(&arrivals->by_number, number, arrival)
		kfree(arrival);
	xa_destroy(&arrivals->by_number);
	arrivals->turn = arrivals->gap;
	arrivals->held = 0;
}
