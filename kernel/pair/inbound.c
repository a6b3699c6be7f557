// SPDX-License-Identifier: GPL-2.0
/* The window of messages on their way: how it begins, grows and ends. */
#include <linux/slab.h>

#include "pair/inbound.h"

/*
 * Gives each slot of a window memory for its SGEs. These are allocated by themselves. As arrays
 * of the largest size they would make each queue pair larger than 2 KiB, which takes 4 KiB.
 */
static int window_give_sges(struct weft_inbound *slot, u32 size, u32 max_sge)
{
	struct weft_sge *sge = kcalloc(size * max_sge, sizeof(*sge), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!sge)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		slot[i].recv.sge = sge + i * max_sge;
	return 0;
}

/**
 * weft_window_init() - prepare the window of a new queue pair, of one message
 * @w: zeroed
 * @max_sge: SGEs that a receive has room for
 *
 * Context: process, may sleep. The caller's memory cgroup is charged.
 * Return: 0 or -ENOMEM.
 */
int weft_window_init(struct weft_window *w, u32 max_sge)
{
	w->size = 1;
	w->slot = &w->one;
	return window_give_sges(w->slot, w->size, max_sge);
}

/**
 * weft_window_widen() - make a window one of WEFT_WINDOW messages, for streams not in order
 * @w: a window that holds no message
 * @max_sge: as for weft_window_init()
 *
 * It stays so wide, for later streams as well, and is fit for those in order.
 *
 * Context: process, may sleep. The caller's memory cgroup is charged.
 * Return: 0, or -ENOMEM with the window as it was.
 */
int weft_window_widen(struct weft_window *w, u32 max_sge)
{
	struct weft_inbound *slot;
	int ret;

	if (w->size == WEFT_WINDOW)
		return 0;
	BUILD_BUG_ON_NOT_POWER_OF_2(WEFT_WINDOW);
	slot = kcalloc(WEFT_WINDOW, sizeof(*slot), GFP_KERNEL_ACCOUNT);
	ret = slot ? window_give_sges(slot, WEFT_WINDOW, max_sge) : -ENOMEM;
	if (ret) {
		kfree(slot);
		return ret;
	}
	kfree(w->one.recv.sge);
	w->one.recv.sge = NULL;
	w->slot = slot;
	w->size = WEFT_WINDOW;
	return 0;
}

/* Undoes weft_window_init() and weft_window_widen(). */
void weft_window_destroy(struct weft_window *w)
{
	if (!w->slot)
		return;
	kfree(w->slot[0].recv.sge);
	if (w->slot != &w->one)
		kfree(w->slot);
}

/* Prepares for a new stream. What was on its way is forgotten, without a completion. */
void weft_window_start(struct weft_window *w)
{
	u32 i;

	w->next = 1;
	for (i = 0; i < w->size; i++) {
		w->slot[i].len = 0;
		w->slot[i].whole = false;
		w->slot[i].recv.active = false;
	}
}
