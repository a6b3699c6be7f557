// SPDX-License-Identifier: GPL-2.0
/* What both directions of a queue pair share: references, state, and the worker. */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched.h>

#include "base/policy.h"
#include "base/trace.h"
#include "base/weft.h"
#include "base/baton.h"
#include "pair/qp.h"

/* --- references --- */

static void qp_release(struct kref *kref)
{
	complete(&container_of(kref, struct weft_qp_entry, refs)->gone);
}

void weft_qp_put(struct weft_qp *qp)
{
	kref_put(&qp->entry->refs, qp_release);
}

struct weft_qp *weft_qp_get_by_num(struct weft_device *dev, unsigned long qpn)
{
	struct weft_qp *qp = NULL;
	struct weft_qp_entry *entry;

	rcu_read_lock();
	entry = xa_load(&dev->qps, qpn);
	if (entry && kref_get_unless_zero(&entry->refs))
		qp = container_of(entry->ib, struct weft_qp, ib);
	rcu_read_unlock();
	return qp;
}

/* --- states --- */

/* Also publishes the state in the rings. */
void weft_qp_set_state(struct weft_qp *qp, enum ib_qp_state state)
{
	lockdep_assert_held(&qp->lock);
	/* Pairs with weft_qp_state(): a reader that sees the state sees its reason, too. */
	smp_store_release(&qp->state, state);
	weft_ring_set_state(&qp->sq, state);
	/* In ERR, posts must come to the kernel to be flushed. */
	if (state == IB_QPS_ERR)
		weft_ring_need_doorbell(&qp->sq, true);
	if (!weft_qp_owns_rq(qp))
		return;
	weft_ring_set_state(&qp->own_rq.ring, state);
	if (state == IB_QPS_ERR)
		weft_ring_need_doorbell(&qp->own_rq.ring, true);
}

/* @type: enum ib_event_type. Any context. */
void weft_qp_event(struct weft_qp *qp, int type)
{
	struct ib_event event = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = type,
	};

	if (qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

/* Only the first failure counts. In states in which no data flows this does nothing; see qp.h. */
bool weft_qp_break(struct weft_qp *qp, const struct weft_term *term,
		   const struct weft_blame *blame, int event)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&qp->lock, flags);
	first = qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD;
	if (first) {
		if (term)
			weft_ending_set(&qp->ending, term, blame);
		weft_qp_set_state(qp, IB_QPS_ERR);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!first)
		return false;
	trace_weft_qp_fail(qp, term, event);
	if (event >= 0)
		weft_qp_event(qp, event);
	return true;
}

void weft_qp_fail_for(struct weft_qp *qp, const struct weft_term *term,
		      const struct weft_blame *blame, int event)
{
	if (weft_qp_break(qp, term, blame, event))
		weft_qp_kick(qp);
}

void weft_qp_fail(struct weft_qp *qp, const struct weft_term *term, int event)
{
	weft_qp_fail_for(qp, term, NULL, event);
}

/* --- the worker --- */

/* Unlocks tx_lock and starts the work that found it taken. The caller keeps @qp alive. */
void weft_qp_unlock(struct weft_qp *qp)
{
	bool ended = qp->worker.ended;
	unsigned long wanted, flags;

	lockdep_assert_held(&qp->tx_lock.mutex);
	wanted = weft_baton_unlock(&qp->tx_lock);
	if (likely(!wanted) || ended)
		return;
	if (wanted & BIT(WEFT_WANT_TX))
		weft_qp_kick(qp);
	if (wanted & BIT(WEFT_WANT_CONN)) {
		spin_lock_irqsave(&qp->lock, flags);
		if (qp->user)
			qp->user->ops->unlocked(qp->user);
		spin_unlock_irqrestore(&qp->lock, flags);
	}
}

/*
 * Starts the transmit worker after at most @delay jiffies. Of several calls the earliest time
 * counts, so a caller with a longer wait calls again each time the worker runs. Any context.
 */
void weft_qp_within(struct weft_qp *qp, unsigned long delay)
{
	timer_reduce(&qp->worker.timer, jiffies + delay);
}

/*
 * Starts the transmit worker. Any context, with or without locks. If a kernel poster is a softirq
 * or a high-priority worker, the transmit worker runs next on its processor, without a thread
 * switch. The initiator's thread gets the answer before it would sleep. Others post more in a row,
 * for one worker to send.
 */
void weft_qp_kick(struct weft_qp *qp)
{
	bool near = qp->worker.near && weft_rule(WEFT_RULE_NEAR);

	if (near && !in_serving_softirq())
		near = current->flags & PF_WQ_WORKER ? task_nice(current) < 0 :
						       READ_ONCE(qp->initiator);
	if (near)
		queue_work(weft_near_workqueue, qp->worker.near);
	else
		queue_work(weft_workqueue, &qp->worker.work);
}
