/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues: a queue pair's own, and those that several share. */
#ifndef WEFT_RQ_H
#define WEFT_RQ_H

#include <linux/list.h>
#include <linux/spinlock.h>

#include "queue/ring.h"

/**
 * struct weft_recv - a receive work request in progress
 * @active: there is one
 * @num_sge: SGEs
 * @wr_id: from the work request
 * @room: bytes the SGEs hold
 * @sge: scatter list, with room for the queue's max_sge; owned by the taker
 */
struct weft_recv {
	bool active;
	u32 num_sge;
	u64 wr_id;
	u64 room;
	struct weft_sge *sge;
};

/**
 * struct weft_waiter - a queue pair that waits for a receive, under the queue's lock
 * @entry: in the queue's list while it waits for a post
 * @promised: it has waited, and a receive that was posted is kept for it
 * @head: the queue's index when its wait began, or weft_rq_moved() last returned true
 * @wake: called under the queue's lock when a receive is promised; never changes
 */
struct weft_waiter {
	struct list_head entry;
	bool promised;
	u32 head;
	void (*wake)(struct weft_waiter *waiter);
};

/**
 * struct weft_rq - receives that were posted and not yet taken
 * @lock: protects the rest, and a kernel consumer's producer index. Any context. Inside the
 *	socket lock; inside it come only the locks of weft_llp_resume()
 * @ring: the entries
 * @max_sge: SGEs that an entry has room for
 * @promised: how many receives are kept for woken waiters
 * @waiting: struct weft_waiter, oldest first; each leaves before its queue pair is freed
 */
struct weft_rq {
	spinlock_t lock; /* of all below */
	struct weft_ring ring;
	u32 max_sge;
	u32 promised;
	struct list_head waiting;
};

int weft_rq_create(struct weft_rq *rq, u32 entries, u32 max_sge,
		   struct ib_udata *udata, struct weft_mmap *map);
int weft_rq_take(struct weft_rq *rq, struct weft_recv *recv,
		 struct weft_waiter *waiter);
void weft_rq_leave(struct weft_rq *rq, struct weft_waiter *waiter);
bool weft_rq_moved(struct weft_rq *rq, struct weft_waiter *waiter);
void weft_rq_wake(struct weft_rq *rq);

#endif /* WEFT_RQ_H */
