// SPDX-License-Identifier: GPL-2.0
/* The worker of a queue pair, and the work that is started when tx.lock is free. */
#include <linux/jiffies.h>
#include <linux/lockdep.h>

#include "base/policy.h"
#include "base/workqueue.h"
#include "pair/kernel.h"
#include "pair/qp.h"

/* Unlocks tx.lock and starts the work that found it taken. The caller keeps @qp alive. */
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

void weft_qp_timer(struct timer_list *timer)
{
	weft_qp_kick(container_of(timer, struct weft_qp, worker.timer));
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
 * Returns true if the transmit worker runs on the processor of a kernel poster. If that is a
 * softirq or a high-priority worker, the transmit worker runs next, without a thread switch. The
 * initiator's thread gets the answer before it would sleep. Others post more in a row, for one
 * worker to send.
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

/* Starts the transmit worker. Any context, with or without locks. */
void weft_qp_kick(struct weft_qp *qp)
{
	if (worker_is_near(qp))
		queue_work(weft_near_workqueue, &qp->kernel->near);
	else
		queue_work(weft_workqueue, &qp->worker.work);
}
