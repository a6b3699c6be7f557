/* SPDX-License-Identifier: GPL-2.0 */
/* Who waits until memory of a device's regions is not lent any more; see memory/lent.c. */
#ifndef WEFT_LENDING_H
#define WEFT_LENDING_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/**
 * struct weft_lending - what a device knows of lent memory
 * @begun: memory of a region was lent at some time; set once, and read without the lock
 * @lock: protects @waiting. Taken in any context
 * @waiting: the struct weft_lent_waiter of all its queue pairs
 */
struct weft_lending {
	bool begun;
	spinlock_t lock; /* of waiting */
	struct list_head waiting;
};

/**
 * struct weft_lent_waiter - one direction of a queue pair, which waits for a region's memory
 * @entry: in weft_lending.waiting, or empty
 * @work: what goes on
 * @lending: of its device; NULL: it has never waited
 *
 * @entry is protected by the device's lock, @lending by the direction's.
 */
struct weft_lent_waiter {
	struct list_head entry;
	struct work_struct *work;
	struct weft_lending *lending;
};

static inline void weft_lending_init(struct weft_lending *lending)
{
	spin_lock_init(&lending->lock);
	INIT_LIST_HEAD(&lending->waiting);
}

static inline void weft_lent_waiter_init(struct weft_lent_waiter *waiter,
					 struct work_struct *work)
{
	INIT_LIST_HEAD(&waiter->entry);
	waiter->work = work;
	waiter->lending = NULL;
}

#endif /* WEFT_LENDING_H */
