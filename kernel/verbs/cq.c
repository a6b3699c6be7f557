// SPDX-License-Identifier: GPL-2.0
/* Completion queues: entries in, events out. */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "../compat.h"
#include "../device.h"
#include "../trace.h"
#include "cq.h"
#include "qp.h"

/* Whether the consumer asked for an event since the last. The caller holds @lock. */
static bool weft_cq_is_armed(const struct weft_cq *cq, bool solicited)
{
	const struct weft_cq_ctl *ctl = cq->ring.mem;
	u32 arm = READ_ONCE(ctl->arm);

	return WEFT_CQ_ARM_SEQ(arm) != cq->served &&
	       (solicited || !WEFT_CQ_ARM_SOLICITED(arm));
}

/*
 * An event is raised: the next wants another arming, and what was put off is told
 * with it. The caller holds @lock.
 */
static void weft_cq_serve(struct weft_cq *cq)
{
	struct weft_cq_ctl *ctl = cq->ring.mem;

	cq->served = WEFT_CQ_ARM_SEQ(READ_ONCE(ctl->arm));
	WRITE_ONCE(ctl->notified, cq->served);
	if (cq->mod_waiting && hrtimer_try_to_cancel(&cq->mod_timer) >= 0)
		cq->mod_waiting = false;
}

/*
 * Whether the event that is due is put off until there are more completions than
 * @unpolled, or time is up. The caller holds @lock.
 */
static bool weft_cq_puts_off(struct weft_cq *cq, u32 unpolled)
{
	if (likely(!cq->mod_count && !cq->mod_period))
		return false;
	if (unpolled >= min_t(u32, cq->mod_count ?: U32_MAX, cq->ring.size))
		return false;
	if (cq->mod_period && !cq->mod_waiting) {
		cq->mod_waiting = true;
		hrtimer_start(&cq->mod_timer, ns_to_ktime(cq->mod_period * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	}
	return true;
}

/* Raises the event that was put off, if one was; @time_is_up: by the timer. Any context. */
static void weft_cq_catch_up(struct weft_cq *cq, bool time_is_up)
{
	const struct weft_cq_ctl *ctl;
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&cq->lock, flags);
	if (time_is_up)
		cq->mod_waiting = false;
	ctl = cq->ring.mem;
	/* For whom solicited ones alone count it may be one too many. */
	notify = cq->ring.head != READ_ONCE(ctl->consumer) && weft_cq_is_armed(cq, true);
	if (notify)
		weft_cq_serve(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (notify && cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

static enum hrtimer_restart weft_cq_time_is_up(struct hrtimer *timer)
{
	weft_cq_catch_up(container_of(timer, struct weft_cq, mod_timer), true);
	return HRTIMER_NORESTART;
}

/* An entry was lost: nothing in this queue can be trusted to be complete. */
static void weft_cq_tell_dead(struct weft_cq *cq)
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
static u8 weft_cq_phase(const struct weft_ring *ring, u32 index)
{
	return index & ring->size ? 0 : WEFT_CQE_PHASE;
}

/**
 * weft_cq_add() - add a completion and wake who waits for it
 * @cq: the queue
 * @wc: the completion
 *
 * Any context. A queue without room is lost: its consumer gets IB_EVENT_CQ_ERR
 * once, and polling says so.
 *
 * Return: false if the completion is lost.
 */
bool weft_cq_add(struct weft_cq *cq, const struct weft_completion *wc)
{
	struct weft_cq_ctl *ctl;
	bool notify, first;
	struct weft_cqe *cqe;
	unsigned long flags;
	u8 phase;
	u32 used;

	trace_weft_completion(cq, wc);
	spin_lock_irqsave(&cq->lock, flags);
	ctl = cq->ring.mem;
	/* A hostile consumer index only makes this queue look full or roomy. */
	used = cq->ring.head - smp_load_acquire(&ctl->consumer);
	if (cq->dead || (used >= cq->ring.size && !cq->ignore_overrun)) {
		first = !cq->dead;
		cq->dead = true;
		WRITE_ONCE(ctl->overflow, 1);
		spin_unlock_irqrestore(&cq->lock, flags);
		if (first)
			weft_cq_tell_dead(cq);
		return false;
	}
	phase = weft_cq_phase(&cq->ring, cq->ring.head);
	cqe = weft_ring_slot(&cq->ring, cq->ring.head++);
	cqe->wr_id = wc->wr_id;
	cqe->timestamp = cq->timestamps ? ktime_get_raw_ns() : 0;
	cqe->qp_num = wc->qpn;
	cqe->byte_len = wc->byte_len;
	cqe->ex = wc->ex;
	/* Pairs with the consumer's load-acquire: the entry before its phase. */
	smp_store_release(&cqe->word, WEFT_CQE_WORD(wc->flags | phase,
						    wc->status, wc->opcode));
	smp_mb(); /* the entry before the arm word; pairs with the fence after arming */
	notify = weft_cq_is_armed(cq, wc->solicited || wc->status) &&
		 (wc->status || !weft_cq_puts_off(cq, used + 1));
	if (notify)
		weft_cq_serve(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	/* Outside the lock, since a kernel consumer may poll right here. */
	if (notify && cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	return true;
}

/* Prepares what is not zero in a new queue. */
void weft_cq_init(struct weft_cq *cq)
{
	spin_lock_init(&cq->lock);
	hrtimer_setup(&cq->mod_timer, weft_cq_time_is_up, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
}

/**
 * weft_create_cq() - create a completion queue
 * @ib: allocated by the core
 * @attr: entries wanted
 * @udata: the user's request, or NULL
 *
 * Return: 0; -EINVAL for an entry count of zero or past the limit or unknown
 * flags; -ENOMEM.
 */
int weft_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata)
{
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_create_cq_resp resp = {};
	int rv;

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
	cq->ignore_overrun = attr->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
	rv = weft_ring_create(&cq->ring, attr->cqe, sizeof(struct weft_cqe),
			      udata, &resp.ring);
	if (rv)
		goto drop;
	ib->cqe = cq->ring.size;
	if (!udata)
		return 0;
	resp.cqe = cq->ring.size;
	rv = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!rv)
		return 0;
	weft_ring_destroy(&cq->ring);
drop:
	atomic_dec(&dev->num_cq);
	return rv;
}

/* Gives slots the phase that the entries to come do not have. */
static void weft_cq_blank(const struct weft_ring *ring, u32 index, u32 num)
{
	struct weft_cqe *cqe;

	for (; num--; index++) {
		cqe = weft_ring_slot(ring, index);
		cqe->word = weft_cq_phase(ring, index) ^ WEFT_CQE_PHASE;
	}
}

/*
 * Goes on in @to, whose slots are blank for what follows @blank_from. On
 * success @to has the memory that was left. The caller holds @lock.
 */
static int weft_cq_move(struct weft_cq *cq, struct weft_ring *to, u32 blank_from)
{
	struct weft_cq_ctl *old = cq->ring.mem;
	struct weft_cq_ctl *new = to->mem;
	u32 consumer = READ_ONCE(old->consumer);
	u32 used = cq->ring.head - consumer;
	u32 late = min(consumer - blank_from, to->size);
	struct weft_cqe *cqe;
	u32 i;

	if (used > cq->ring.size || used > to->size)
		return -EINVAL;
	/* What was polled since the slots were made blank. */
	weft_cq_blank(to, consumer + to->size - late, late);
	for (i = consumer; i != cq->ring.head; i++) {
		cqe = weft_ring_slot(to, i);
		*cqe = *(struct weft_cqe *)weft_ring_slot(&cq->ring, i);
		cqe->word = (cqe->word & ~WEFT_CQE_PHASE) | weft_cq_phase(to, i);
	}
	new->consumer = consumer;
	new->arm = READ_ONCE(old->arm);
	new->notified = cq->served;
	new->overflow = cq->dead;
	to->head = cq->ring.head;
	swap(cq->ring, *to);
	cq->ib.cqe = cq->ring.size;
	return 0;
}

/**
 * weft_resize_cq() - go on in a ring of another size
 * @ib: the queue
 * @entries: wanted
 * @udata: the user's request, or NULL
 *
 * Completions may arrive meanwhile. May sleep.
 *
 * Return: 0; -EINVAL for an entry count of zero, past the limit, or smaller
 * than what is to be polled; -ENOMEM.
 */
int weft_resize_cq(struct ib_cq *ib, int entries, struct ib_udata *udata)
{
	struct weft_create_cq_resp resp = {};
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_ring ring = {};
	bool moderated;
	u32 from;
	int rv;

	if (entries <= 0 ||
	    !weft_limit_allows(to_weft_device(ib->device), WEFT_LIMIT_CQE,
			       entries))
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	rv = weft_ring_create(&ring, entries, sizeof(struct weft_cqe), udata,
			      &resp.ring);
	if (rv)
		return rv;
	if (udata) {
		resp.cqe = ring.size;
		rv = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (rv)
			goto destroy;
	}
	spin_lock_irq(&cq->lock);
	from = READ_ONCE(((struct weft_cq_ctl *)cq->ring.mem)->consumer);
	spin_unlock_irq(&cq->lock);
	weft_cq_blank(&ring, from, ring.size);
	spin_lock_irq(&cq->lock);
	rv = weft_cq_move(cq, &ring, from);
	moderated = cq->mod_count || cq->mod_period;
	spin_unlock_irq(&cq->lock);
	/* What was put off may fill the new ring. */
	if (!rv && moderated)
		weft_cq_catch_up(cq, false);
destroy:
	weft_ring_destroy(&ring); /* the old one, if it went well */
	return rv;
}

/**
 * weft_modify_cq() - set how many completions are worth an event
 * @ib: the queue
 * @count: so many, if they are not polled meanwhile; 0: no number is
 * @period: or fewer, after so many microseconds; 0: never. With both 0, each is
 *
 * A failure is told of at once, as are all when the queue is full. Any context.
 *
 * Return: 0; -EOPNOTSUPP to the core's own adaptation for kernel consumers: it ends
 * its work for a queue before the queue, and the timer would begin it once more.
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
	/* What waits by the old rule might wait for ever by the new one. */
	weft_cq_catch_up(cq, false);
	return 0;
}

/* Ends a completion queue; no queue pair uses it any more. */
int weft_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_ring ring;

	hrtimer_cancel(&cq->mod_timer);
	/* Who asks for the resource's details may still look. */
	spin_lock_irq(&cq->lock);
	ring = cq->ring;
	cq->ring.mem = NULL;
	spin_unlock_irq(&cq->lock);
	weft_ring_destroy(&ring);
	atomic_dec(&to_weft_device(ib->device)->num_cq);
	return 0;
}

static enum ib_wc_opcode weft_wc_opcode(u8 opcode)
{
	switch (opcode) {
	case WEFT_OP_WRITE:
	case WEFT_OP_WRITE_IMM:
		return IB_WC_RDMA_WRITE;
	case WEFT_OP_READ:
	case WEFT_OP_READ_INV:
		return IB_WC_RDMA_READ;
	case WEFT_OP_CMP_SWP:
		return IB_WC_COMP_SWAP;
	case WEFT_OP_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case WEFT_OP_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case WEFT_OP_REG_MR:
		return IB_WC_REG_MR;
	case WEFT_OP_RECV:
		return IB_WC_RECV;
	case WEFT_OP_RECV_WRITE_IMM:
		return IB_WC_RECV_RDMA_WITH_IMM;
	default:
		return IB_WC_SEND;
	}
}

/* Says in the core's words what an entry says. */
static void weft_wc_fill(struct ib_wc *wc, const struct weft_cqe *cqe,
			 struct weft_qp *qp)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = WEFT_CQE_STATUS(cqe->word);
	wc->opcode = weft_wc_opcode(WEFT_CQE_OPCODE(cqe->word));
	wc->byte_len = cqe->byte_len;
	wc->qp = &qp->ib;
	if (wc->status) {
		wc->vendor_err = cqe->ex;
	} else if (cqe->word & WEFT_CQE_WITH_INV) {
		wc->ex.invalidate_rkey = cqe->ex;
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
	} else if (cqe->word & WEFT_CQE_WITH_IMM) {
		wc->ex.imm_data = (__force __be32)cqe->ex;
		wc->wc_flags = IB_WC_WITH_IMM;
	}
}

/**
 * weft_poll_cq() - take completions, for kernel consumers
 * @ib: a queue of the kernel's own
 * @num: at most so many
 * @wc: where they go
 *
 * Any context.
 *
 * Return: how many, or -EINVAL on a user's queue.
 */
int weft_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc)
{
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_cq_ctl *ctl;
	unsigned long flags;
	int n = 0;

	if (cq->ring.entry)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, flags);
	while (n < num && cq->polled != cq->ring.head) {
		const struct weft_cqe *cqe = weft_ring_slot(&cq->ring, cq->polled++);
		struct weft_qp *qp = xa_load(&to_weft_device(ib->device)->qps,
					     cqe->qp_num);

		/* Destroyed since: its completions go with it. */
		if (qp)
			weft_wc_fill(&wc[n++], cqe, qp);
	}
	ctl = cq->ring.mem;
	WRITE_ONCE(ctl->consumer, cq->polled);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/**
 * weft_req_notify_cq() - ask for an event, for kernel consumers
 * @ib: a queue of the kernel's own
 * @flags: for which completions; whether to tell of missed ones
 *
 * Any context.
 *
 * Return: 1 if asked to tell of missed ones and there are entries to poll,
 * else 0; -EINVAL on a user's queue.
 */
int weft_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct weft_cq *cq = to_weft_cq(ib);
	struct weft_cq_ctl *ctl;
	unsigned long irq;
	bool pending_any, solicited_only;
	int rv = 0;

	if (cq->ring.entry)
		return -EINVAL;
	spin_lock_irqsave(&cq->lock, irq);
	ctl = cq->ring.mem;
	pending_any = cq->armed != cq->served &&
		      !WEFT_CQ_ARM_SOLICITED(READ_ONCE(ctl->arm));
	cq->armed = (cq->armed + 1) & 0x7fffffff;
	solicited_only = !pending_any &&
			 (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	WRITE_ONCE(ctl->arm, WEFT_CQ_ARM(cq->armed, solicited_only ? 1 : 0));
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		rv = cq->polled != cq->ring.head;
	spin_unlock_irqrestore(&cq->lock, irq);
	return rv;
}
