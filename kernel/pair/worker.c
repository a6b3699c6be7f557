// SPDX-License-Identifier: GPL-2.0
/* The worker of a queue pair, and the work that is started when tx.lock is free. */
#include <linux/jiffies.h>
#include <linux/lockdep.h>

#include "base/policy.h"
#include "base/workqueue.h"
#include "pair/kernel.h"
#include "pair/qp.h"

/**
 * weft_qp_unlock() - let tx.lock go, and start the work that left word
 * @qp: the queue pair, which the caller keeps from being freed
 *
 * Context: process, tx.lock held.
 */
void weft_qp_unlock(struct weft_qp *qp)
{
	bool ended = qp->worker.ended;
	unsigned long wanted, flags;

	lockdep_assert_held(&qp->tx.lock.mutex);
	wanted = weft_baton_unlock(&qp->tx.lock);
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
