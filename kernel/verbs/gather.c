// SPDX-License-Identifier: GPL-2.0
/* Gathering the posts of a kernel consumer; see gather.h. */
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "base/compat.h"
#include "pair/qp.h"
#include "verbs/gather.h"

/**
 * weft_gather_start() - begin with each post sent at once
 * @gather: all but its queue pair and its timer is set
 *
 * Context: any.
 */
void weft_gather_start(struct weft_gather *gather)
{
	gather->going = false;
	gather->held = 0;
	gather->pause = WEFT_GATHER_SOON;
	gather->until = gather->pause;
}

/**
 * weft_gather_holds() - decide whether a post is held
 * @gather: of the queue pair, whose transmit worker waits for a doorbell
 *
 * Context: any; post_lock held.
 * Return: true if the post waits, for others or for the timer; false if the worker is to be
 * started, which sends all that was held.
 */
bool weft_gather_holds(struct weft_gather *gather)
{
	lockdep_assert_held(&gather->qp->post_lock);
	if (!gather->held && !gather->going && gather->until) {
		gather->until--;
		return false;
	}
	if (++gather->held < WEFT_GATHER_MOST)
		return true;
	gather->held = 0;
	gather->going = true;
	return false;
}

/**
 * weft_gather_end() - the moment is over
 * @gather: of the queue pair
 *
 * Context: any; post_lock held.
 * Return: true if posts were held: the worker is to be started.
 */
bool weft_gather_end(struct weft_gather *gather)
{
	bool held = gather->held;

	lockdep_assert_held(&gather->qp->post_lock);
	if (!held)
		return false;
	gather->going = gather->held >= WEFT_GATHER_LEAST;
	gather->pause = gather->going ? WEFT_GATHER_SOON :
					min(2 * gather->pause, WEFT_GATHER_LATE);
	gather->until = gather->pause;
	gather->held = 0;
	return true;
}

static enum hrtimer_restart gather_is_over(struct hrtimer *timer)
{
	struct weft_gather *gather = container_of(timer, struct weft_gather, timer);
	struct weft_qp *qp = gather->qp;
	unsigned long flags;
	bool kick;

	spin_lock_irqsave(&qp->post_lock, flags);
	kick = weft_gather_end(gather);
	if (kick)
		weft_ring_need_doorbell(&qp->sq, false); /* the worker asks again */
	spin_unlock_irqrestore(&qp->post_lock, flags);
	if (kick)
		weft_qp_kick(qp);
	return HRTIMER_NORESTART;
}

/**
 * weft_gather_create() - let a queue pair gather its posts
 * @qp: a queue pair of the kernel's own, which nobody else knows yet
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int weft_gather_create(struct weft_qp *qp)
{
	struct weft_gather *gather = kzalloc(sizeof(*gather), GFP_KERNEL);

	if (!gather)
		return -ENOMEM;
	gather->qp = qp;
	hrtimer_setup(&gather->timer, gather_is_over, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	weft_gather_start(gather);
	qp->gather = gather;
	return 0;
}

/* Undoes weft_gather_create(), if it was called. Nobody posts any more. May sleep. */
void weft_gather_destroy(struct weft_qp *qp)
{
	struct weft_gather *gather = qp->gather;

	if (!gather)
		return;
	hrtimer_cancel(&gather->timer);
	qp->gather = NULL;
	kfree(gather);
}
