// SPDX-License-Identifier: GPL-2.0
/* Receive queues: receives out, and the wait for them. */
#include "base/limit.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "queue/rq.h"

/* The most that are woken before others get the lock. */
#define WEFT_RQ_WAKE	64

/**
 * weft_rq_create() - make a receive queue
 * @rq: to be filled in
 * @entries: receives it must hold
 * @max_sge: SGEs of each
 * @udata: the user's request, or NULL for a kernel consumer
 * @map: result: how the user maps the ring
 *
 * The caller ends it with weft_ring_destroy() of its ring.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno value.
 */
int weft_rq_create(struct weft_rq *rq, u32 entries, u32 max_sge,
		   struct ib_udata *udata, struct weft_mmap *map)
{
	spin_lock_init(&rq->lock);
	INIT_LIST_HEAD(&rq->waiting);
	rq->max_sge = max_sge;
	return weft_ring_create(&rq->ring, entries, weft_rq_stride(max_sge),
				udata, map);
}

/* Returns true if @waiter waits. */
static bool rq_waits(const struct weft_waiter *waiter)
{
	return waiter && !list_empty(&waiter->entry);
}

/* Ends the wait of @waiter, if it waits. The caller holds @lock. */
static noinline void rq_end_wait(struct weft_rq *rq, struct weft_waiter *waiter)
{
	lockdep_assert_held(&rq->lock);
	if (!rq_waits(waiter))
		return;
	list_del_init(&waiter->entry);
	if (list_empty(&rq->waiting))
		weft_ring_need_doorbell(&rq->ring, false);
}

/*
 * Begins a wait, unless a receive was posted meanwhile. Returns the number of receives, as
 * weft_ring_pending(). The caller holds @lock.
 */
static int rq_wait(struct weft_rq *rq, struct weft_waiter *waiter)
{
	int pending;

	lockdep_assert_held(&rq->lock);
	weft_ring_need_doorbell(&rq->ring, true);
	pending = weft_ring_pending(&rq->ring);
	if (!pending) {
		if (list_empty(&waiter->entry))
			list_add_tail(&waiter->entry, &rq->waiting);
	} else if (list_empty(&rq->waiting)) {
		weft_ring_need_doorbell(&rq->ring, false);
	}
	return pending;
}

/* Copies an entry and reads each word once, so that the checked values are those used. */
static void rq_copy(const struct weft_rq *rq, struct weft_recv *recv)
{
	const struct weft_rq_wr *slot = weft_ring_slot(&rq->ring, rq->ring.head);
	const u64 *from = (const u64 *)(slot + 1);
	u64 *to = (u64 *)recv->sge;
	u32 num = READ_ONCE(slot->num_sge);
	u64 room = 0;
	u32 i;

	BUILD_BUG_ON(sizeof(*recv->sge) != 2 * sizeof(*from));
	if (num > rq->max_sge || READ_ONCE(slot->reserved))
		num = 0; /* too small for anything but an empty message */
	for (i = 0; i < num; i++) {
		to[2 * i] = READ_ONCE(from[2 * i]);
		to[2 * i + 1] = READ_ONCE(from[2 * i + 1]);
		room += recv->sge[i].length;
	}
	recv->active = true;
	recv->wr_id = READ_ONCE(slot->wr_id);
	recv->num_sge = num;
	recv->room = min_t(u64, room, WEFT_MAX_MSG);
}

/**
 * weft_rq_take() - take the oldest receive
 * @rq: the queue
 * @recv: where its private copy goes, checked
 * @waiter: woken by the next post if there is none now; NULL: do not wait
 *
 * The entry's slot is free again when this returns.
 *
 * Context: any.
 * Return: 1; 0 if there is none; -EINVAL if the producer index makes no sense.
 */
int weft_rq_take(struct weft_rq *rq, struct weft_recv *recv,
		 struct weft_waiter *waiter)
{
	unsigned long flags;
	int pending;

	spin_lock_irqsave(&rq->lock, flags);
	pending = weft_ring_pending(&rq->ring);
	if (!pending && waiter)
		pending = rq_wait(rq, waiter);
	if (pending && unlikely(rq_waits(waiter)))
		rq_end_wait(rq, waiter);
	if (pending > 0) {
		rq_copy(rq, recv);
		weft_ring_release(&rq->ring, ++rq->ring.head);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return pending > 0 ? 1 : pending;
}

/**
 * weft_rq_leave() - end a wait
 * @rq: the queue
 * @waiter: waiting or not
 *
 * When this returns, nobody uses @waiter or queues its work any more.
 *
 * Context: any.
 */
void weft_rq_leave(struct weft_rq *rq, struct weft_waiter *waiter)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq_end_wait(rq, waiter);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/* Wakes some of those on @woken. Returns true if others are left. The caller holds @lock. */
static bool rq_wake_some(struct weft_rq *rq, struct list_head *woken)
{
	struct weft_waiter *waiter;
	int left = WEFT_RQ_WAKE;

	lockdep_assert_held(&rq->lock);
	while (left-- && !list_empty(woken)) {
		waiter = list_first_entry(woken, struct weft_waiter, entry);
		rq_end_wait(rq, waiter);
		queue_work(weft_workqueue, waiter->work);
	}
	return !list_empty(woken);
}

/**
 * weft_rq_wake() - wake all that wait, after a post
 * @rq: the queue
 *
 * To wake only the first would not do: its queue pair may have failed, so that it takes
 * nothing and the others wait on. A doorbell without a post wakes nobody. A shared queue may have
 * thousands that wait, so others get the lock in between: with interrupts off for as long as that
 * takes, a process could stop a processor.
 *
 * Context: any.
 */
void weft_rq_wake(struct weft_rq *rq)
{
	unsigned long flags;
	LIST_HEAD(woken);

	spin_lock_irqsave(&rq->lock, flags);
	if (weft_ring_pending(&rq->ring))
		list_splice_init(&rq->waiting, &woken);
	while (rq_wake_some(rq, &woken)) {
		spin_unlock_irqrestore(&rq->lock, flags);
		spin_lock_irqsave(&rq->lock, flags);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
}
