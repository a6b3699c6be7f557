// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of a queue pair that both directions share: references, state, lock and worker.
 * The directions themselves are above, in tx/ and rx/.
 */
#include <linux/lockdep.h>
#include <linux/sizes.h>

#include "base/context.h"
#include "base/trace.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "pair/qp.h"

/* Each queue pair takes this much memory: the allocator's next size is 4 KiB. */
static_assert(IS_ENABLED(CONFIG_LOCKDEP) || IS_ENABLED(CONFIG_DEBUG_SPINLOCK) ||
	      sizeof(struct weft_qp) <= SZ_2K);

/* --- references --- */

static void qp_release(struct kref *kref)
{
	complete(&container_of(kref, struct weft_qp, refs)->gone);
}

/* Takes one more reference. Any context. */
void weft_qp_get(struct weft_qp *qp)
{
	kref_get(&qp->refs);
}

/* Drops a reference. Any context. */
void weft_qp_put(struct weft_qp *qp)
{
	kref_put(&qp->refs, qp_release);
}

/* Finds a queue pair and takes a reference; see qp.h. */
struct weft_qp *weft_qp_get_by_num(struct weft_device *dev, unsigned long qpn)
{
	struct ib_qp *ib;

	rcu_read_lock();
	ib = xa_load(&dev->qps, qpn);
	/* The first reference is dropped a grace period after the entry left the table. */
	if (ib)
		weft_qp_get(to_weft_qp(ib));
	rcu_read_unlock();
	return ib ? to_weft_qp(ib) : NULL;
}

/* Returns the lane of a queue pair's connections; see qp.h. */
struct weft_lane *weft_qp_lane(const struct weft_qp *qp)
{
	return qp->owner ?
	       container_of(qp->owner, const struct weft_ucontext, ib)->lane :
	       qp->dev->lane;
}

/* --- states --- */

/* Sets the state, and publishes it in the rings. The caller holds @lock. */
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

/* Tells the owner of an asynchronous event, an enum ib_event_type. Any context. */
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

/**
 * weft_qp_fail() - fail a queue pair in use
 * @qp: the queue pair
 * @term: the reason, for the peer; NULL: no Terminate is sent
 * @event: the reason, for the user: an enum ib_event_type, or -1 for none
 *
 * Only the first reason counts. In states in which no data flows this does nothing.
 *
 * Context: any; takes @lock.
 */
void weft_qp_fail(struct weft_qp *qp, const struct weft_term *term, int event)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&qp->lock, flags);
	first = qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD;
	if (first) {
		if (term)
			weft_ending_set(&qp->ending, term);
		weft_qp_set_state(qp, IB_QPS_ERR);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!first)
		return;
	trace_weft_qp_fail(qp, term, event);
	if (event >= 0)
		weft_qp_event(qp, event);
	weft_qp_kick(qp);
}

/* --- tx.lock --- */

/*
 * A thread of the owner holds tx.lock while its doorbell sends, and may be preempted
 * there for as long as its cgroup's quota and its scheduling class want. So no work that
 * serves others waits for the lock: the workers and the connection's work try it and, if
 * it is taken, set a bit and return. The holder starts them again when it lets the lock
 * go. If they waited, a few throttled threads would hold every place on the workqueues,
 * and with these every other queue pair.
 *
 * Only threads of the owner that change this queue pair may wait by mutex_lock().
 */

/**
 * weft_qp_trylock() - take tx.lock, or be started again when it is free
 * @qp: the queue pair
 * @who: the work to start
 *
 * Context: process; does not sleep.
 * Return: true if the caller has the lock; false if another has it, who starts @who when
 * it lets the lock go.
 */
bool weft_qp_trylock(struct weft_qp *qp, enum weft_tx_want who)
{
	struct weft_tx *tx = &qp->tx;

	if (mutex_trylock(&tx->lock))
		return true;
	set_bit(who, &tx->wanted);
	/*
	 * Pairs with the barrier in weft_qp_unlock(): if the lock still looks taken here,
	 * its holder sees the bit after it has let the lock go.
	 */
	smp_mb__after_atomic();
	if (!mutex_trylock(&tx->lock))
		return false;
	clear_bit(who, &tx->wanted);
	return true;
}

/* Starts the work again that could not have the lock. */
static noinline void qp_tell_wanted(struct weft_qp *qp)
{
	unsigned long wanted = xchg(&qp->tx.wanted, 0);
	unsigned long flags;

	/*
	 * The connection's work goes first, or a transmit worker with much to do would
	 * take the lock before it, time after time.
	 */
	if (wanted & BIT(WEFT_WANT_TX)) {
		if (wanted & BIT(WEFT_WANT_CONN))
			weft_qp_within(qp, 1);
		else
			weft_qp_kick(qp);
	}
	if (wanted & BIT(WEFT_WANT_RX))
		queue_work(weft_workqueue, &qp->rx.work);
	/* Does nothing if the timer was started for a new wait meanwhile. */
	if (wanted & BIT(WEFT_WANT_RNR))
		queue_delayed_work(weft_workqueue, &qp->rx.rnr, 0);
	if (wanted & BIT(WEFT_WANT_CONN)) {
		spin_lock_irqsave(&qp->lock, flags);
		if (qp->user)
			qp->user->ops->unlocked(qp->user);
		spin_unlock_irqrestore(&qp->lock, flags);
	}
}

/**
 * weft_qp_unlock() - let tx.lock go, and start the work that wanted it
 * @qp: the queue pair, which the caller keeps from being freed
 *
 * Context: process, tx.lock held.
 */
void weft_qp_unlock(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	bool ended = tx->ended;

	lockdep_assert_held(&qp->tx.lock);
	mutex_unlock(&tx->lock);
	smp_mb(); /* pairs with the barrier in weft_qp_trylock() */
	if (unlikely(READ_ONCE(tx->wanted)) && !ended)
		qp_tell_wanted(qp);
}

/* Starts the worker when the queue pair's timer is up. */
void weft_qp_timer(struct timer_list *timer)
{
	weft_qp_kick(container_of(timer, struct weft_qp, tx.timer));
}

/**
 * weft_qp_within() - start the transmit worker after a while
 * @qp: the queue pair
 * @delay: the longest while, in jiffies
 *
 * Of several calls the earliest time counts. A caller whose wait is longer calls again
 * each time the worker runs.
 *
 * Context: any, with or without locks.
 */
void weft_qp_within(struct weft_qp *qp, unsigned long delay)
{
	timer_reduce(&qp->tx.timer, jiffies + delay);
}

/**
 * weft_qp_kick() - start the transmit worker
 * @qp: the queue pair
 *
 * Context: any, with or without locks.
 */
void weft_qp_kick(struct weft_qp *qp)
{
	queue_work(weft_workqueue, &qp->tx.work);
}
