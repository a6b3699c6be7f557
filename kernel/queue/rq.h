/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues: a queue pair's own, and those that several share. */
#ifndef WEFT_RQ_H
#define WEFT_RQ_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

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
 * struct weft_waiter - a queue pair that waits for a receive
 * @entry: in the queue's list while it waits; under the queue's lock
 * @work: queued by the next post
 */
struct weft_waiter {
	struct list_head entry;
	struct work_struct *work;
};

/**
 * struct weft_rq - receives that were posted and not yet taken
 * @lock: protects all fields, and for a kernel consumer the producer's end of the ring
 *	as well. Any context; inside the socket lock; only a workqueue's lock is taken
 *	under it
 * @ring: the entries
 * @max_sge: SGEs that an entry has room for
 * @waiting: the struct weft_waiter that found the queue empty. The next post wakes them
 *	all. Each leaves the list before its queue pair is freed
 */
struct weft_rq {
	spinlock_t lock; /* of all below */
	struct weft_ring ring;
	u32 max_sge;
	struct list_head waiting;
};

int weft_rq_create(struct weft_rq *rq, u32 entries, u32 max_sge,
		   struct ib_udata *udata, struct weft_mmap *map);
int weft_rq_take(struct weft_rq *rq, struct weft_recv *recv,
		 struct weft_waiter *waiter);
void weft_rq_leave(struct weft_rq *rq, struct weft_waiter *waiter);
void weft_rq_wake(struct weft_rq *rq);

#endif /* WEFT_RQ_H */
