// SPDX-License-Identifier: GPL-2.0
/* Receive queues: receives out, and the wait for them. */
#include <linux/minmax.h>

#include "base/limit.h"
#include "base/weft.h"
#include "queue/rq.h"

/* The most that are woken before others get the lock. */
#define WEFT_RQ_WAKE	64U

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

/*
 * Ends the wait of @waiter, if it waits, or gives back the receive that it was promised. The caller
 * holds @lock.
 */
static void rq_end_wait(struct weft_rq *rq, struct weft_waiter *waiter)
{
	lockdep_assert_held(&rq->lock);
	if (waiter->promised) {
		waiter->promised = false;
		rq->promised--;
	} else if (!list_empty(&waiter->entry)) {
		list_del_init(&waiter->entry);
		if (list_empty(&rq->waiting))
			weft_ring_need_doorbell(&rq->ring, false);
	}
}

/*
 * Returns how many receives are promised to nobody. A ring that makes no sense seems to have one
 * for each queue pair that waits, which is woken and so finds out. The caller holds @lock.
 */
static u32 rq_free(const struct weft_rq *rq)
{
	int pending = weft_ring_pending(&rq->ring);

	lockdep_assert_held(&rq->lock);
	if (pending < 0)
		return U32_MAX;
	/* A process may have moved its index back. */
	return pending > rq->promised ? pending - rq->promised : 0;
}

/*
 * Promises receives to the first that wait, and wakes these. Returns true if there is more to
 * promise: others get the lock in between. The caller holds @lock.
 */
static bool rq_promise(struct weft_rq *rq)
{
	u32 most = min(rq_free(rq), WEFT_RQ_WAKE);
	struct weft_waiter *waiter;
	u32 n;

	lockdep_assert_held(&rq->lock);
	for (n = 0; n < most && !list_empty(&rq->waiting); n++) {
		waiter = list_first_entry(&rq->waiting, struct weft_waiter, entry);
		rq_end_wait(rq, waiter);
		waiter->promised = true;
		rq->promised++;
		waiter->wake(waiter);
	}
	return n == WEFT_RQ_WAKE;
}

/*
 * As weft_rq_take() if somebody waits, or @waiter has to, but for the copy: no receive is taken
 * before those who have waited longer have theirs. The caller holds @lock.
 */
static noinline int rq_take_turn(struct weft_rq *rq, struct weft_waiter *waiter)
{
	int pending = weft_ring_pending(&rq->ring);

	lockdep_assert_held(&rq->lock);
	if (!waiter)
		return list_empty(&rq->waiting) && rq_free(rq) ? pending : 0;
	if (pending && (waiter->promised ||
			(rq_free(rq) && (list_empty(&rq->waiting) ||
					 list_is_first(&waiter->entry, &rq->waiting))))) {
		rq_end_wait(rq, waiter);
		return pending;
	}
	if (list_empty(&waiter->entry)) {
		rq_end_wait(rq, waiter);
		list_add_tail(&waiter->entry, &rq->waiting);
		waiter->head = rq->ring.head;
	}
	weft_ring_need_doorbell(&rq->ring, true);
	/* A post that saw no need for a doorbell is seen here: its receive is the first's. */
	rq_promise(rq);
	return 0;
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
 * @waiter: waits for its turn if there is no receive for it now, and is woken then;
 *	NULL: do not wait
 *
 * The entry's slot is free again when this returns.
 *
 * Context: any.
 * Return: 1; 0 if there is none, or there are only those for others that have waited longer;
 * -EINVAL if the producer index makes no sense.
 */
int weft_rq_take(struct weft_rq *rq, struct weft_recv *recv,
		 struct weft_waiter *waiter)
{
	unsigned long flags;
	int pending;

	spin_lock_irqsave(&rq->lock, flags);
	pending = weft_ring_pending(&rq->ring);
	if (unlikely(!pending || rq->promised || !list_empty(&rq->waiting)))
		pending = rq_take_turn(rq, waiter);
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
 * When this returns, nobody uses or wakes @waiter any more. A receive that it was
 * promised is the next one's.
 *
 * Context: any.
 */
void weft_rq_leave(struct weft_rq *rq, struct weft_waiter *waiter)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq_end_wait(rq, waiter);
	rq_promise(rq);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/**
 * weft_rq_moved() - has a waiter come closer to its turn?
 * @rq: the queue
 * @waiter: waiting
 *
 * Context: any.
 * Return: true if a receive was taken since the wait began, or since this last returned true.
 */
bool weft_rq_moved(struct weft_rq *rq, struct weft_waiter *waiter)
{
	unsigned long flags;
	bool moved;

	spin_lock_irqsave(&rq->lock, flags);
	moved = waiter->head != rq->ring.head;
	waiter->head = rq->ring.head;
	spin_unlock_irqrestore(&rq->lock, flags);
	return moved;
}

/**
 * weft_rq_wake() - promise what was posted to those that wait
 * @rq: the queue
 *
 * As many are woken as there are receives, those first that have waited longest. A doorbell without
 * a post wakes nobody. A shared queue may have thousands that wait, so others get the lock in
 * between: with interrupts off for as long as that takes, a process could stop a processor.
 *
 * Context: any.
 */
void weft_rq_wake(struct weft_rq *rq)
{
	unsigned long flags;
	bool more;

	do {
		spin_lock_irqsave(&rq->lock, flags);
		more = rq_promise(rq);
		spin_unlock_irqrestore(&rq->lock, flags);
	} while (more);
}
