// SPDX-License-Identifier: GPL-2.0
/* The window of the peer's messages; see inbound.h. */
#include <linux/mm.h>

#include "base/context.h"
#include "pair/inbound.h"

/*
 * Allocates @size slots, a power of two, charged to @owner, in a window without messages. A larger
 * window stays, because it serves ordered streams as well. On -ENOMEM @w is unchanged. May sleep.
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

void weft_window_destroy(struct weft_window *w)
{
	kvfree(w->slot);
}

/* Prepares for a new stream: drops all messages without completions. */
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
