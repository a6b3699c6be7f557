// SPDX-License-Identifier: GPL-2.0
/* The worker of a queue pair: how it is started, and who may wait for tx.lock. */
#include <linux/jiffies.h>
#include <linux/lockdep.h>

#include "base/policy.h"
#include "base/workqueue.h"
#include "pair/kernel.h"
#include "pair/qp.h"

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
bool weft_qp_trylock(struct weft_qp *qp, enum weft_want who)
{
	struct weft_worker *worker = &qp->worker;

	if (mutex_trylock(&qp->tx.lock))
		return true;
	set_bit(who, &worker->wanted);
	/*
	 * Pairs with the barrier in weft_qp_unlock(): if the lock still looks taken here,
	 * its holder sees the bit after it has let the lock go.
	 */
	smp_mb__after_atomic();
	if (!mutex_trylock(&qp->tx.lock))
		return false;
	clear_bit(who, &worker->wanted);
	return true;
}

/*
 * Starts the transmit worker behind the other work that is @wanted. If the worker had much to do
 * and were started with the others, it would take the lock before them, time after time. The
 * receive side's work lets the lock go in any case, and the worker is started then.
 */
static void qp_tell_tx(struct weft_qp *qp, unsigned long wanted)
{
	if (wanted & BIT(WEFT_WANT_RX))
		set_bit(WEFT_WANT_TX, &qp->worker.wanted);
	else if (wanted & ~BIT(WEFT_WANT_TX))
		weft_qp_within(qp, 1);
	else
		weft_qp_kick(qp);
}

/* Starts the work again that could not have the lock. */
static noinline void qp_tell_wanted(struct weft_qp *qp)
{
	unsigned long wanted = xchg(&qp->worker.wanted, 0);
	unsigned long flags;

	if (wanted & BIT(WEFT_WANT_TX))
		qp_tell_tx(qp, wanted);
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
	struct weft_worker *worker = &qp->worker;
	bool ended = worker->ended;

	lockdep_assert_held(&qp->tx.lock);
	mutex_unlock(&qp->tx.lock);
	smp_mb(); /* pairs with the barrier in weft_qp_trylock() */
	if (unlikely(READ_ONCE(worker->wanted)) && !ended)
		qp_tell_wanted(qp);
}

/* Starts the worker when the queue pair's timer is up. */
void weft_qp_timer(struct timer_list *timer)
{
	weft_qp_kick(container_of(timer, struct weft_qp, worker.timer));
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
	timer_reduce(&qp->worker.timer, jiffies + delay);
}

/*
 * Returns true if the transmit worker of a consumer of the kernel runs near the poster. In a
 * softirq or a worker of high priority it runs next there, without a switch between threads. The
 * thread of a program that asks the peer has the answer before it would sleep. Others post more
 * in a row, which a worker of their own priority sends together.
 */
static bool worker_is_near(const struct weft_qp *qp)
{
	if (!qp->kernel || !weft_rule(WEFT_RULE_NEAR))
		return false;
	if (in_serving_softirq())
		return true;
	if (current->flags & PF_WQ_WORKER)
		return task_nice(current) < 0;
	return READ_ONCE(qp->initiator);
}

/**
 * weft_qp_kick() - start the transmit worker
 * @qp: the queue pair
 *
 * Context: any, with or without locks.
 */
void weft_qp_kick(struct weft_qp *qp)
{
	if (worker_is_near(qp))
		queue_work(weft_near_workqueue, &qp->kernel->near);
	else
		queue_work(weft_workqueue, &qp->worker.work);
}
