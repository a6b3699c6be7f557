// SPDX-License-Identifier: GPL-2.0
/* Receive queues: receives out, and the wait for them; and those that queue pairs share. */
#include <linux/minmax.h>
#include <rdma/uverbs_ioctl.h>

#include "base/weft.h"
#include "queue/rq.h"

/*
 * Most promises at a time. Each waiter reads its stream in a softirq, and thousands may wait for a
 * shared queue, so each has the next woken when it has its receive.
 */
#define WEFT_RQ_WAKE	8U

int weft_rq_create(struct weft_rq *rq, u32 entries, u32 max_sge,
		   struct ib_udata *udata, struct weft_mmap *map)
{
	spin_lock_init(&rq->lock);
	INIT_LIST_HEAD(&rq->waiting);
	rq->max_sge = max_sge;
	return weft_ring_create(&rq->ring, entries, weft_rq_stride(max_sge), udata, map);
}

/* Ends the wait of @waiter, if any, or gives back the receive that it was promised. */
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
 * Returns how many receives are promised to nobody. If the producer index makes no sense, claims
 * one for each waiter, so that each waiter is woken and finds the error.
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

/* Promises receives to the first waiters and wakes these. Returns true if more may be left. */
static void rq_promise(struct weft_rq *rq)
{
	u32 most = min(rq_free(rq), WEFT_RQ_WAKE - rq->promised);
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
}

/* weft_rq_take() but for the copy. Nobody takes a receive before those that have waited longer. */
static noinline int rq_may_take(struct weft_rq *rq, struct weft_waiter *waiter)
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
	/* A post that rang no doorbell, because the word was not set yet, is seen here. */
	rq_promise(rq);
	return 0;
}

/*
 * Copies the oldest receive to @recv, checked, and frees its slot. Returns 1; -EINVAL if the
 * producer index makes no sense; or 0 if there is no receive, or others have waited longer. Then
 * @waiter, unless it is NULL, waits behind them and is woken.
 */
int weft_rq_take(struct weft_rq *rq, struct weft_recv *recv, struct weft_waiter *waiter)
{
	const struct weft_rq_wr *slot;
	unsigned long flags;
	const u64 *from;
	u32 num, i;
	int pending;
	u64 room, *to;

	BUILD_BUG_ON(sizeof(*recv->sge) != 2 * sizeof(*from));
	spin_lock_irqsave(&rq->lock, flags);
	pending = weft_ring_pending(&rq->ring);
	if (unlikely(!pending || rq->promised || !list_empty(&rq->waiting)))
		pending = rq_may_take(rq, waiter);
	if (pending > 0) {
		/* Reads each word once, so that the checked values are those used. */
		slot = weft_ring_slot(&rq->ring, rq->ring.head);
		from = (const u64 *)(slot + 1);
		to = (u64 *)recv->sge;
		num = READ_ONCE(slot->num_sge);
		if (num > rq->max_sge || READ_ONCE(slot->reserved))
			num = 0; /* too small for anything but an empty message */
		for (i = 0, room = 0; i < num; i++) {
			to[2 * i] = READ_ONCE(from[2 * i]);
			to[2 * i + 1] = READ_ONCE(from[2 * i + 1]);
			room += recv->sge[i].length;
		}
		recv->active = true;
		recv->wr_id = READ_ONCE(slot->wr_id);
		recv->num_sge = num;
		recv->room = min_t(u64, room, WEFT_MAX_MSG);
		weft_ring_release(&rq->ring, ++rq->ring.head);
	}
	if (unlikely(!list_empty(&rq->waiting)))
		rq_promise(rq);
	spin_unlock_irqrestore(&rq->lock, flags);
	return pending > 0 ? 1 : pending;
}

/* Ends a wait. Nobody uses @waiter afterwards; a receive promised to it is promised to the next. */
void weft_rq_leave(struct weft_rq *rq, struct weft_waiter *waiter)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq_end_wait(rq, waiter);
	rq_promise(rq);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/* Was a receive taken since the wait began, or since this last returned true? */
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

/* Promises posted receives to waiters, the longest wait first. */
void weft_rq_wake(struct weft_rq *rq)
{
	unsigned long flags;

	spin_lock_irqsave(&rq->lock, flags);
	rq_promise(rq);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/* --- shared receive queues: their life, and their events --- */

/* Raises one event for each limit that was set, and one ever for a ring that makes no sense. */
void weft_srq_taken(struct weft_srq *srq, int taken)
{
	struct ib_event event = { .device = srq->ib.device, .element.srq = &srq->ib };
	unsigned long flags;
	bool raise = false;
	int left;

	if (taken >= 0 && !READ_ONCE(srq->limit))
		return;
	spin_lock_irqsave(&srq->rq.lock, flags);
	left = weft_ring_pending(&srq->rq.ring);
	if (taken < 0) {
		event.event = IB_EVENT_SRQ_ERR;
		raise = !srq->broken;
		srq->broken = true;
	} else if (left >= 0 && (u32)left < srq->limit) {
		WRITE_ONCE(srq->limit, 0);
		event.event = IB_EVENT_SRQ_LIMIT_REACHED;
		raise = true;
	}
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	if (raise && srq->ib.event_handler)
		srq->ib.event_handler(&event, srq->ib.srq_context);
}

int weft_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr, struct ib_udata *udata)
{
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_create_srq_resp resp = {};
	struct weft_srq *srq = to_weft_srq(ib);
	int ret;

	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr ||
	    !weft_limit_allows(dev, WEFT_LIMIT_SRQ_WR, attr->attr.max_wr) ||
	    !weft_limit_allows(dev, WEFT_LIMIT_SGE, attr->attr.max_sge))
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (!weft_limit_count(dev, WEFT_LIMIT_SRQ, &dev->num_srq))
		return -ENOMEM;
	ret = weft_rq_create(&srq->rq, attr->attr.max_wr, attr->attr.max_sge, udata, &resp.ring);
	if (ret)
		goto drop;
	attr->attr.max_wr = srq->rq.ring.size;
	if (!udata)
		return 0;
	resp.entries = srq->rq.ring.size;
	resp.max_sge = srq->rq.max_sge;
	resp.srq_num = atomic_inc_return(&dev->next_srq) & 0xffffff;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!ret)
		return 0;
	weft_ring_destroy(&srq->rq.ring);
drop:
	atomic_dec(&dev->num_srq);
	return ret;
}

/*
 * The limit is checked when a receive is taken, as in rxe. So a program may set it before its first
 * post, and a limit above the number of receives raises its event when the next one is taken.
 */
int weft_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct weft_srq *srq = to_weft_srq(ib);

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->rq.ring.size)
		return -EINVAL;
	spin_lock_irq(&srq->rq.lock);
	WRITE_ONCE(srq->limit, attr->srq_limit);
	spin_unlock_irq(&srq->rq.lock);
	return 0;
}

/* The limit is 0 again after it was reached. */
int weft_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct weft_srq *srq = to_weft_srq(ib);

	attr->max_wr = srq->rq.ring.size;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

int weft_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	weft_ring_destroy(&to_weft_srq(ib)->rq.ring);
	atomic_dec(&to_weft_device(ib->device)->num_srq);
	return 0;
}
