// SPDX-License-Identifier: GPL-2.0
/* Completion queues: entries in, events out. */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/time_namespace.h>
#include <rdma/uverbs_ioctl.h>

#include "base/compat.h"
#include "base/compat/verbs.h"
#include "base/limit.h"
#include "base/trace.h"
#include "base/weft.h"
#include "queue/cq.h"
#include "queue/vector.h"

/* Returns true if the consumer armed the queue since the last event. The caller holds @lock. */
static bool cq_is_armed(const struct weft_cq *cq, bool solicited)
{
	const struct weft_cq_ctl *ctl = cq->ring.mem;
	u32 arm = READ_ONCE(ctl->arm);

	lockdep_assert_held(&cq->lock);
	return WEFT_CQ_ARM_SEQ(arm) != cq->served &&
	       (solicited || !WEFT_CQ_ARM_SOLICITED(arm));
}

/*
 * Notes that an event is raised. The next event needs another arming, and an event that
 * was put off needs its timer no more. The caller holds @lock.
 */
static void cq_serve(struct weft_cq *cq)
{
	struct weft_cq_ctl *ctl = cq->ring.mem;

	lockdep_assert_held(&cq->lock);
	cq->served = WEFT_CQ_ARM_SEQ(READ_ONCE(ctl->arm));
	WRITE_ONCE(ctl->notified, cq->served);
	if (cq->mod_waiting && hrtimer_try_to_cancel(&cq->mod_timer) >= 0)
		cq->mod_waiting = false;
}

/*
 * Returns true if moderation, which is in use, puts off the event that is due at @unpolled
 * completions, and starts the timer that ends the wait. The caller holds @lock.
 */
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

/* Raises an event that was put off. The timer calls with @time_is_up. Any context. */
static void cq_catch_up(struct weft_cq *cq, bool time_is_up)
{
	const struct weft_cq_ctl *ctl;
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	if (time_is_up)
		cq->mod_waiting = false;
	ctl = cq->ring.mem;
	/* Armed for solicited completions only, a consumer may get an event too many here. */
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

/* Tells the consumer by an asynchronous event that an entry was lost. */
static void cq_tell_dead(struct weft_cq *cq)
{
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
}

/* The phase of the entry at a free-running index. */
static u8 cq_phase(const struct weft_ring *ring, u32 index)
{
	return index & ring->size ? 0 : WEFT_CQE_PHASE;
}

/* As weft_cq_put(), which see. In line, so that a single completion costs no more than it must. */
static __always_inline bool cq_put(struct weft_cq *cq, struct weft_cq_row *row,
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
		row->died |= !cq->dead;
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
	smp_store_release(&cqe->word, WEFT_CQE_WORD(wc->flags | phase,
						    wc->status, wc->opcode));
	row->unpolled = used + 1;
	row->solicited |= wc->solicited;
	row->failed |= wc->status != IB_WC_SUCCESS;
	return true;
}

/*
 * Returns true if the consumer waits for one of the completions that were added: it is to be
 * woken. The caller holds @lock.
 */
static __always_inline bool cq_wakes(struct weft_cq *cq, const struct weft_cq_row *row)
{
	lockdep_assert_held(&cq->lock);
	if (!row->unpolled)
		return false;
	smp_mb(); /* entries before the arm word; pairs with the fence after arming */
	if (!cq_is_armed(cq, row->solicited || row->failed) ||
	    (unlikely(cq->mod_count || cq->mod_period) && !row->failed &&
	     cq_puts_off(cq, row->unpolled)))
		return false;
	cq_serve(cq);
	return true;
}

/* Calls the consumer. No lock is held, since a kernel consumer may poll right here. */
static __always_inline void cq_tell(struct weft_cq *cq, bool wake, bool died)
{
	if (wake)
		weft_vector_call(cq);
	if (unlikely(died))
		cq_tell_dead(cq);
}

/**
 * weft_cq_put() - add a completion
 * @cq: the queue
 * @row: the completions that are being added
 * @wc: the next of them, which a consumer may see at once
 *
 * A full queue is dead from then on: its consumer gets IB_EVENT_CQ_ERR once, and polling
 * fails.
 *
 * Context: any, between weft_cq_begin() and weft_cq_end().
 * Return: true if added; false if the completion is lost.
 */
bool weft_cq_put(struct weft_cq *cq, struct weft_cq_row *row, const struct weft_completion *wc)
{
	return cq_put(cq, row, wc);
}

/* As weft_cq_end(), if there is somebody to tell. */
void weft_cq_end_told(struct weft_cq *cq, const struct weft_cq_row *row)
	__releases(&cq->lock)
{
	bool wake = cq_wakes(cq, row);

	spin_unlock_irqrestore(&cq->lock, row->flags);
	cq_tell(cq, wake, row->died);
}

/**
 * weft_cq_add() - add one completion and wake its consumer
 * @cq: the queue
 * @wc: the completion
 *
 * Context: any.
 * Return: true if added; false if the completion is lost, see weft_cq_put().
 */
bool weft_cq_add(struct weft_cq *cq, const struct weft_completion *wc)
{
	struct weft_cq_row row = {};
	unsigned long flags;
	bool added, wake;

	spin_lock_irqsave(&cq->lock, flags);
	added = cq_put(cq, &row, wc);
	wake = cq_wakes(cq, &row);
	spin_unlock_irqrestore(&cq->lock, flags);
	cq_tell(cq, wake, row.died);
	return added;
}

/* Prepares the fields of a new queue that are not zero. */
void weft_cq_init(struct weft_cq *cq)
{
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resizing);
	hrtimer_setup(&cq->mod_timer, cq_time_is_up, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	weft_vector_init(cq);
}

/**
 * weft_create_cq() - create a completion queue
 * @ib: allocated by the core
 * @attr: entries wanted
 * @attrs: the user's request, or NULL
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL for an entry count of zero or past the limit or unknown
 * flags; -ENOMEM.
 */
int weft_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = weft_udata_of(attrs);
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_create_cq_resp resp = {};
	int ret;

	/* IGNORE_OVERRUN allows a device not to look for room. This one looks. */
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
	ret = weft_ring_create(&cq->ring, attr->cqe, sizeof(struct weft_cqe),
			       udata, &resp.ring);
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

/* Marks slots as empty, by the phase that their next entries do not have. */
static void cq_blank(const struct weft_ring *ring, u32 index, u32 num)
{
	struct weft_cqe *cqe;

	for (; num--; index++) {
		cqe = weft_ring_slot(ring, index);
		cqe->word = cq_phase(ring, index) ^ WEFT_CQE_PHASE;
	}
}

/* Copies an entry and gives it the phase of the new ring. */
static void cq_copy(const struct weft_ring *to, const struct weft_ring *from, u32 index)
{
	struct weft_cqe *cqe = weft_ring_slot(to, index);

	*cqe = *(struct weft_cqe *)weft_ring_slot(from, index);
	cqe->word = (cqe->word & ~WEFT_CQE_PHASE) | cq_phase(to, index);
}

/**
 * weft_cq_move_begin() - begin to move a queue's entries to another ring
 * @cq: the queue; the caller holds its @resizing
 * @move: @to is set; the rest is filled in here
 *
 * Context: process.
 * Return: 0, or -EINVAL if @to is too small or the consumer index makes no sense.
 */
int weft_cq_move_begin(struct weft_cq *cq, struct weft_cq_move *move)
{
	const struct weft_cq_ctl *ctl;
	u32 used;

	lockdep_assert_held(&cq->resizing);
	spin_lock_irq(&cq->lock);
	ctl = cq->ring.mem;
	move->from = READ_ONCE(ctl->consumer);
	used = cq->ring.head - move->from;
	spin_unlock_irq(&cq->lock);
	move->at = move->from;
	if (used > cq->ring.size || used > move->to.size)
		return -EINVAL;
	cq_blank(&move->to, move->from, move->to.size);
	return 0;
}

/*
 * Moves the last entries and the queue's words, and exchanges the rings. Returns 0, or
 * -EINVAL as weft_cq_move_begin(). The caller holds @lock.
 */
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

/**
 * weft_cq_move_on() - move some more entries
 * @cq: the queue; the caller holds its @resizing
 * @move: begun by weft_cq_move_begin()
 *
 * An entry does not change until it is polled, so all but the last few are copied
 * without the queue's lock: under it, interrupts would be off while a million entries
 * are copied. If the consumer polls an entry meanwhile, a newer one may be copied from
 * its slot. That does no harm, since the copy gets the phase of the old index, which
 * marks the slot as empty for the entry that comes there next.
 *
 * Context: process.
 * Return: 1 if there are more; 0 if the queue uses the new ring now, with the old one in
 * @move->to; -EINVAL as weft_cq_move_begin().
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

/**
 * weft_resize_cq() - replace the ring by one of another size
 * @ib: the queue
 * @entries: wanted
 * @udata: the user's request, or NULL
 *
 * Completions may arrive meanwhile.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL for an entry count that is zero, past the limit, or smaller than
 * the number of unpolled completions; -ENOMEM.
 */
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
	ret = weft_ring_create(&move.to, entries, sizeof(struct weft_cqe), udata,
			       &resp.ring);
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
	/* The completions of an event that was put off may fill a smaller ring. */
	if (!ret && moderated)
		cq_catch_up(cq, false);
destroy:
	weft_ring_destroy(&move.to); /* the old ring after a move, else the new one */
	return ret;
}

/**
 * weft_modify_cq() - moderate the events of a completion queue
 * @ib: the queue
 * @count: raise an event at this many unpolled completions; 0: at no number
 * @period: raise it after this many microseconds at the latest; 0: no such limit. With
 *	both 0 each completion raises one
 *
 * A failed completion and a full queue raise an event at once.
 *
 * Context: any.
 * Return: 0; -EOPNOTSUPP to the core's adaptive moderation of kernel consumers. The core
 * stops its work item before it destroys the queue, and our timer would queue it again.
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
	/* An event that was put off by the old rule might never come by the new one. */
	cq_catch_up(cq, false);
	return 0;
}

/* Ends a completion queue; no queue pair uses it any more. */
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
