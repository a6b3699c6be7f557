// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/context.h"
#include "llp/arrivals.h"
#include "wire/ddp.h"

/* A number less than this ahead of the gap may come; one up to this behind it has come already. */
#define ARRIVALS_AHEAD	0x8000U

/* @arrivals is zeroed; @turn is the number of the first message. */
void weft_arrivals_init(struct weft_arrivals *arrivals, u32 turn, u32 max, bool early)
{
	arrivals->early = early;
	xa_init(&arrivals->by_number);
	arrivals->turn = turn;
	arrivals->gap = turn;
	arrivals->max = max;
}

/*
 * Allocates a message of @room bytes, charged to the active memory cgroup. Until
 * weft_arrivals_add() succeeds the caller owns it and frees it by kfree(). NULL: no memory.
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

static u32 arrival_size(const struct weft_arrival *arrival)
{
	u32 len = arrival->placed ? min_t(u32, arrival->len, WEFT_DDP_MAX_LEN) : arrival->len;

	return struct_size(arrival, data, len);
}

/*
 * Keeps a message that has come, and owns it on success. @flags: for the allocation of an index
 * entry. Returns 0; -EEXIST: it has come before; -ERANGE: its number is too far ahead; -ENOBUFS: it
 * is behind the gap, and the limit is reached; -ENOMEM.
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

/* Frees the message that weft_arrivals_turn() has returned. */
void weft_arrivals_pass(struct weft_arrivals *arrivals)
{
	struct weft_arrival *arrival = xa_erase(&arrivals->by_number, arrivals->turn);

	arrivals->turn++;
	arrivals->held -= arrival_size(arrival);
	kfree(arrival);
}

/*
 * Offers each segment behind the gap to @placer, once, and frees the payload of a placed one.
 * Without memory for a copy of the header the message stays as it is, and is placed again in its
 * turn. It must not count as small then, because a peer could have more memory held than @max says.
 */
void weft_arrivals_offer(struct weft_arrivals *arrivals, weft_arrival_placer placer, void *ctx)
{
	struct weft_arrival *arrival, *head;
	unsigned long number;
	u32 rest;

	xa_for_each_marked(&arrivals->by_number, number, arrival, WEFT_ARRIVAL_NEW) {
		xa_clear_mark(&arrivals->by_number, number, WEFT_ARRIVAL_NEW);
		if (arrival->number - arrivals->gap >= ARRIVALS_AHEAD || arrival->control ||
		    !placer(ctx, arrival))
			continue;
		rest = min_t(u32, arrival->len, WEFT_DDP_MAX_LEN);
		head = kmemdup(arrival, struct_size(arrival, data, rest),
			       GFP_NOWAIT | __GFP_NOWARN);
		if (!head)
			continue;
		head->placed = true;
		arrivals->held -= arrival_size(arrival) - arrival_size(head);
		xa_store(&arrivals->by_number, arrival->number, head, GFP_NOWAIT);
		kfree(arrival);
	}
}

/* Drops all messages. Harmless when repeated. */
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
