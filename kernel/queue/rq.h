/* SPDX-License-Identifier: GPL-2.0 */
/* Receive queues: a queue pair's own, and those that several share. */
#ifndef WEFT_RQ_H
#define WEFT_RQ_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "queue/ring.h"

/* A receive work request in progress. */
struct weft_recv {
	bool active; /* there is one */
	u32 num_sge; /* SGEs */
	u64 wr_id; /* from the work request */
	u64 room; /* bytes the SGEs hold */
	/* Scatter list, with room for the queue's max_sge; owned by the taker */
	struct weft_sge *sge;
};

/* A queue pair that waits for a receive, under the queue's lock. */
struct weft_waiter {
	struct list_head entry; /* in the queue's list while it waits for a post */
	bool promised; /* it has waited, and a receive that was posted is kept for it */
	u32 head; /* the queue's index when its wait began, or weft_rq_moved() last returned true */
	/* Called under the queue's lock when a receive is promised; never changes */
	void (*wake)(struct weft_waiter *waiter);
};

/* Receives that were posted and not yet taken. */
struct weft_rq {
	/*
	 * Protects the rest, and a kernel consumer's producer index. Any context. Inside the socket
	 * lock; inside it come only the locks of @resume (llp/class.h)
	 */
	spinlock_t lock; /* see above */
	struct weft_ring ring; /* the entries */
	u32 max_sge; /* SGEs that an entry has room for */
	u32 promised; /* how many receives are kept for woken waiters */
	/* Struct weft_waiter, oldest first; each leaves before its queue pair is freed */
	struct list_head waiting;
};

int weft_rq_create(struct weft_rq *rq, u32 entries, u32 max_sge,
		   struct ib_udata *udata, struct weft_mmap *map);
int weft_rq_take(struct weft_rq *rq, struct weft_recv *recv, struct weft_waiter *waiter);
void weft_rq_leave(struct weft_rq *rq, struct weft_waiter *waiter);
bool weft_rq_moved(struct weft_rq *rq, struct weft_waiter *waiter);
void weft_rq_wake(struct weft_rq *rq);

/* A receive queue that queue pairs share. */
struct weft_srq {
	/* The core's view; the core frees the whole after the last queue pair on it */
	struct ib_srq ib;
	struct weft_rq rq; /* the receives */
	u32 limit; /* raise an event below this number of receives; 0: never. Under rq.lock */
	bool broken; /* the user's index made no sense, and an event said so. Under rq.lock */
};

static inline struct weft_srq *to_weft_srq(struct ib_srq *ib)
{
	return container_of(ib, struct weft_srq, ib);
}

void weft_srq_taken(struct weft_srq *srq, int taken);

int weft_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr, struct ib_udata *udata);
int weft_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int weft_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int weft_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);

#endif /* WEFT_RQ_H */
