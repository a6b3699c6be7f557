// SPDX-License-Identifier: GPL-2.0
/* The window of messages on their way: how it begins and ends. */
#include <linux/slab.h>

#include "pair/inbound.h"

/**
 * weft_window_init() - prepare the window of a new queue pair
 * @w: zeroed
 * @max_sge: SGEs that a receive has room for
 *
 * The SGEs are allocated by themselves. As arrays of the largest size they would make each queue
 * pair larger than 2 KiB, which takes 4 KiB.
 *
 * Context: process, may sleep. The caller's memory cgroup is charged.
 * Return: 0 or -ENOMEM.
 */
int weft_window_init(struct weft_window *w, u32 max_sge)
{
	struct weft_sge *sge = kcalloc(WEFT_WINDOW * max_sge, sizeof(*sge), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!sge)
		return -ENOMEM;
	for (i = 0; i < WEFT_WINDOW; i++)
		w->slot[i].recv.sge = sge + i * max_sge;
	return 0;
}

/* Undoes weft_window_init(). */
void weft_window_destroy(struct weft_window *w)
{
	kfree(w->slot[0].recv.sge);
}

/* Prepares for a new stream. What was on its way is forgotten, without a completion. */
void weft_window_start(struct weft_window *w)
{
	u32 i;

	w->next = 1;
	for (i = 0; i < WEFT_WINDOW; i++) {
		w->slot[i].len = 0;
		w->slot[i].whole = false;
		w->slot[i].recv.active = false;
	}
}
