// SPDX-License-Identifier: GPL-2.0
/* Completion queues: entries in, events out. */
#include <linux/time_namespace.h>
#include <rdma/uverbs_ioctl.h>

#include "base/compat.h"
#include "base/compat_verbs.h"
#include "base/trace.h"
#include "base/weft.h"
#include "queue/cq.h"

/* Has the consumer armed the queue since the last event? */
static bool cq_is_armed(const struct weft_cq *cq, bool solicited)
{
	const struct weft_cq_ctl *ctl = cq->ring.mem;
	u32 arm = READ_ONCE(ctl->arm);

	lockdep_assert_held(&cq->lock);
	return WEFT_CQ_ARM_SEQ(arm) != cq->served && (solicited || !WEFT_CQ_ARM_SOLICITED(arm));
}

/* Notes that an event is raised: the next one needs another arming, and a deferred one no timer. */
static void cq_serve(struct weft_cq *cq)
{
	struct weft_cq_ctl *ctl = cq->ring.mem;

	lockdep_assert_held(&cq->lock);
	cq->served = WEFT_CQ_ARM_SEQ(READ_ONCE(ctl->arm));
	WRITE_ONCE(ctl->notified, cq->served);
	if (cq->mod_waiting && hrtimer_try_to_cancel(&cq->mod_timer) >= 0)
		cq->mod_waiting = false;
}

/* Does moderation defer the event at @unpolled completions? Starts the timer that ends the wait. */
static noinline bool cq_puts_off(struct weft_cq *cq, u32 unpolled)
{
	lockdep_assert_held(&cq->lock);
	if (unpolled >= min_t(u32, cq->mod_count ?: U32_MAX, cq->ring.size))
		return false;
	if (cq->mod_period && !cq->mod_waiting) {
		cq->mod_waiting = true;
		hrtimer_start(&cq->mod_timer, ns_to_ktime(cq->mod_period * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	}
	return true;
}

/* Raises a deferred event. The timer calls with @time_is_up. */
static void cq_catch_up(struct weft_cq *cq, bool time_is_up)
{
	const struct weft_cq_ctl *ctl;
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	if (time_is_up)
		cq->mod_waiting = false;
	ctl = cq->ring.mem;
	/* A consumer that waits for solicited completions only may get one event too many. */
	notify = cq->ring.head != READ_ONCE(ctl->consumer) && cq_is_armed(cq, true);
	if (notify)
		cq_serve(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify)
		weft_vector_call(cq);
}

static enum hrtimer_restart cq_time_is_up(struct hrtimer *timer)
{
	cq_catch_up(container_of(timer, struct weft_cq, mod_timer), true);
	return HRTIMER_NORESTART;
}

static void cq_notify_dead(struct weft_cq *cq)
{
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
}

static u8 cq_phase(const struct weft_ring *ring, u32 index)
{
	return index & ring->size ? 0 : WEFT_CQE_PHASE;
}

/*
 * Adds a completion, which the consumer may poll before weft_cq_end(). A full queue is dead from
 * then on: its consumer gets IB_EVENT_CQ_ERR once. Returns false if the completion is lost. In
 * line here, so that a single completion costs no more than it must.
 */
__always_inline bool weft_cq_put(struct weft_cq *cq, struct weft_cq_adds *adds,
				 const struct weft_completion *wc)
{
	struct weft_cq_ctl *ctl = cq->ring.mem;
	struct weft_cqe *cqe;
	u32 used;
	u8 phase;

	lockdep_assert_held(&cq->lock);
	trace_weft_completion(cq, wc);
	/* A hostile consumer index only makes this queue look full or roomy. */
	used = cq->ring.head - smp_load_acquire(&ctl->consumer);
	if (unlikely(cq->dead || used >= cq->ring.size)) {
		adds->died |= !cq->dead;
		cq->dead = true;
		WRITE_ONCE(ctl->overflow, 1);
		return false;
	}
	phase = cq_phase(&cq->ring, cq->ring.head);
	cqe = weft_ring_slot(&cq->ring, cq->ring.head++);
	cqe->wr_id = wc->wr_id;
	cqe->timestamp = cq->timestamps ? ktime_get_raw_ns() + cq->clock_offset : 0;
	cqe->qp_num = wc->qpn;
	cqe->byte_len = wc->byte_len;
	cqe->ex = wc->ex;
	/* Pairs with the consumer's load-acquire: the entry before its phase. */
	smp_store_release(&cqe->word, WEFT_CQE_WORD(wc->flags | phase, wc->status, wc->opcode));
	adds->unpolled = used + 1;
	adds->solicited |= wc->solicited;
	adds->failed |= wc->status != IB_WC_SUCCESS;
	return true;
}

/*
 * Ends an addition of completions: releases the queue's lock and wakes the consumer. In line here,
 * as weft_cq_put().
 */
__always_inline void weft_cq_end(struct weft_cq *cq, const struct weft_cq_adds *adds)
	__releases(&cq->lock)
{
	bool wake = false;

	lockdep_assert_held(&cq->lock);
	if (adds->unpolled) {
		smp_mb(); /* entries before the arm word; pairs with the fence after arming */
		wake = cq_is_armed(cq, adds->solicited || adds->failed) &&
		       (likely(!cq->mod_count && !cq->mod_period) || adds->failed ||
			!cq_puts_off(cq, adds->unpolled));
	}
	if (wake)
		cq_serve(cq);
	spin_unlock_irqrestore(&cq->lock, adds->flags);
	/* Without a lock, because a kernel consumer may poll in the call. */
	if (wake)
		weft_vector_call(cq);
	if (unlikely(adds->died))
		cq_notify_dead(cq);
}

/* Adds one completion and wakes the consumer. Returns false if the completion is lost. */
bool weft_cq_add(struct weft_cq *cq, const struct weft_completion *wc)
{
	struct weft_cq_adds adds = {};
	bool added;

	spin_lock_irqsave(&cq->lock, adds.flags);
	added = weft_cq_put(cq, &adds, wc);
	weft_cq_end(cq, &adds);
	return added;
}

void weft_cq_init(struct weft_cq *cq)
{
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resizing);
	hrtimer_setup(&cq->mod_timer, cq_time_is_up, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	weft_vector_init(cq);
}

int weft_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_create_cq_resp resp = {};
	int ret;

	/* IGNORE_OVERRUN allows a device not to check for room. This device checks. */
	if (attr->flags & ~(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
			    IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN))
		return -EOPNOTSUPP;
	if (!attr->cqe || !weft_limit_allows(dev, WEFT_LIMIT_CQE, attr->cqe))
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (!weft_limit_count(dev, WEFT_LIMIT_CQ, &dev->num_cq))
		return -ENOMEM;
	weft_cq_init(cq);
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	if (udata) {
		struct timespec64 ahead = {};

		timens_add_monotonic(&ahead);
		cq->clock_offset = timespec64_to_ns(&ahead);
	}
	ret = weft_ring_create(&cq->ring, attr->cqe, sizeof(struct weft_cqe), udata, &resp.ring);
	if (ret)
		goto drop;
	ib->cqe = cq->ring.size;
	if (!udata)
		return 0;
	resp.cqe = cq->ring.size;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!ret)
		return 0;
	weft_ring_destroy(&cq->ring);
drop:
	atomic_dec(&dev->num_cq);
	return ret;
}

static void cq_copy(const struct weft_ring *to, const struct weft_ring *from, u32 index)
{
	struct weft_cqe *cqe = weft_ring_slot(to, index);

	*cqe = *(struct weft_cqe *)weft_ring_slot(from, index);
	cqe->word = (cqe->word & ~WEFT_CQE_PHASE) | cq_phase(to, index);
}

/* Returns -EINVAL if move->to is too small, or if the consumer index makes no sense. */
int weft_cq_move_begin(struct weft_cq *cq, struct weft_cq_move *move)
{
	const struct weft_cq_ctl *ctl;
	struct weft_cqe *cqe;
	u32 used, n;

	lockdep_assert_held(&cq->resizing);
	spin_lock_irq(&cq->lock);
	ctl = cq->ring.mem;
	move->from = READ_ONCE(ctl->consumer);
	used = cq->ring.head - move->from;
	spin_unlock_irq(&cq->lock);
	move->at = move->from;
	if (used > cq->ring.size || used > move->to.size)
		return -EINVAL;
	/* Marks all slots as empty: with the phase that their next entries do not have. */
	for (n = 0; n < move->to.size; n++) {
		cqe = weft_ring_slot(&move->to, move->from + n);
		cqe->word = cq_phase(&move->to, move->from + n) ^ WEFT_CQE_PHASE;
	}
	return 0;
}

static int cq_move_end(struct weft_cq *cq, struct weft_cq_move *move)
{
	struct weft_cq_ctl *old = cq->ring.mem;
	struct weft_cq_ctl *new = move->to.mem;
	u32 consumer = READ_ONCE(old->consumer);
	u32 used = cq->ring.head - consumer;

	lockdep_assert_held(&cq->lock);
	if (used > cq->ring.size || used > move->to.size ||
	    consumer - move->from > cq->ring.head - move->from)
		return -EINVAL;
	for (; move->at != cq->ring.head; move->at++)
		cq_copy(&move->to, &cq->ring, move->at);
	new->consumer = consumer;
	new->arm = READ_ONCE(old->arm);
	new->notified = cq->served;
	new->overflow = cq->dead;
	move->to.head = cq->ring.head;
	swap(cq->ring, move->to);
	cq->ib.cqe = cq->ring.size;
	return 0;
}

/*
 * Moves some entries. All but the last few are copied without the queue's lock, because interrupts
 * would be off while a million entries are copied. An entry does not change until it is polled. If
 * the consumer polls an entry meanwhile, a newer one may be copied from its slot: the copy does no
 * harm, because it gets the phase of the old index, which marks the slot as empty for the next
 * entry there. Returns 1 if entries are left; 0 after the exchange, with the old ring in move->to.
 */
int weft_cq_move_on(struct weft_cq *cq, struct weft_cq_move *move)
{
	int ret = 1;
	u32 n;

	lockdep_assert_held(&cq->resizing);
	spin_lock_irq(&cq->lock);
	if (cq->ring.head - move->at <= WEFT_CQ_SLICE)
		ret = cq_move_end(cq, move);
	spin_unlock_irq(&cq->lock);
	for (n = 0; ret > 0 && n < WEFT_CQ_SLICE; n++)
		cq_copy(&move->to, &cq->ring, move->at++);
	return ret;
}

int weft_resize_cq(struct ib_cq *ib, unsigned int entries, struct ib_udata *udata)
{
	struct weft_create_cq_resp resp = {};
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_cq_move move = {};
	bool moderated;
	int ret;

	if (!entries || !weft_limit_allows(to_weft_device(ib->device), WEFT_LIMIT_CQE, entries))
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	ret = weft_ring_create(&move.to, entries, sizeof(struct weft_cqe), udata, &resp.ring);
	if (ret)
		return ret;
	if (udata) {
		resp.cqe = move.to.size;
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret)
			goto destroy;
	}
	mutex_lock(&cq->resizing);
	ret = weft_cq_move_begin(cq, &move);
	if (!ret) {
		while ((ret = weft_cq_move_on(cq, &move)) > 0)
			cond_resched();
	}
	moderated = READ_ONCE(cq->mod_count) || READ_ONCE(cq->mod_period);
	mutex_unlock(&cq->resizing);
	/* The completions of a deferred event may fill a smaller ring. */
	if (!ret && moderated)
		cq_catch_up(cq, false);
destroy:
	weft_ring_destroy(&move.to); /* the old ring after a move, else the new one */
	return ret;
}

/*
 * Moderates events. A failed completion and a full queue raise one at once. The core's adaptive
 * moderation is refused, because the core stops its work item before it destroys the queue, and our
 * timer would queue the item again.
 */
int weft_modify_cq(struct ib_cq *ib, u16 count, u16 period)
{
	struct weft_cq *cq = to_weft_cq(ib);
	unsigned long flags;

	if (ib->dim)
		return -EOPNOTSUPP;
	spin_lock_irqsave(&cq->lock, flags);
	cq->mod_count = count;
	cq->mod_period = period;
	spin_unlock_irqrestore(&cq->lock, flags);
	/* An event that was deferred by the old rule might never come by the new one. */
	cq_catch_up(cq, false);
	return 0;
}

int weft_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_ring ring;

	hrtimer_cancel(&cq->mod_timer);
	weft_vector_end(cq);
	/* `rdma res show` may still read the queue. */
	spin_lock_irq(&cq->lock);
	ring = cq->ring;
	cq->ring.mem = NULL;
	spin_unlock_irq(&cq->lock);
	weft_ring_destroy(&ring);
	atomic_dec(&to_weft_device(ib->device)->num_cq);
	return 0;
}
