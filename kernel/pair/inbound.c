// SPDX-License-Identifier: GPL-2.0
/* The window of messages on their way: how it begins, grows and ends. */
#include <linux/mm.h>

#include "base/context.h"
#include "pair/inbound.h"

/**
 * weft_window_init() - make a window
 * @w: zeroed, or one that holds no message
 * @size: how many messages it may hold, a power of two
 * @max_sge: SGEs that a receive has room for
 * @owner: of the queue pair, who is charged
 *
 * A window that is larger already stays so: it is fit for streams in order as well.
 *
 * Context: process, may sleep.
 * Return: 0, or -ENOMEM with the window as it was.
 */
int weft_window_init(struct weft_window *w, u32 size, u32 max_sge,
		     const struct ib_ucontext *owner)
{
	struct weft_inbound *slot;
	struct weft_sge *sge;
	u32 i;

	if (w->size >= size)
		return 0;
	slot = weft_charge_zalloc(owner, size, sizeof(*slot) + max_sge * sizeof(*sge));
	if (!slot)
		return -ENOMEM;
	sge = (struct weft_sge *)(slot + size);
	for (i = 0; i < size; i++)
		slot[i].recv.sge = sge + i * max_sge;
	kvfree(w->slot);
	w->slot = slot;
	w->size = size;
	return 0;
}

/* Undoes weft_window_init(). */
void weft_window_destroy(struct weft_window *w)
{
	kvfree(w->slot);
}

/* Prepares for a new stream. What was on its way is forgotten, without a completion. */
void weft_window_start(struct weft_window *w)
{
	u32 i;

	w->next = 1;
	for (i = 0; i < w->size; i++) {
		w->slot[i].len = 0;
		w->slot[i].whole = false;
		w->slot[i].kept = false;
		w->slot[i].recv.active = false;
	}
}
