// SPDX-License-Identifier: GPL-2.0
/* A kernel consumer's part of a queue pair; see consumer.h. */
#include <linux/lockdep.h>

#include "base/compat.h"
#include "engine/consumer.h"
#include "pair/qp.h"

static struct weft_qp *gather_qp(const struct weft_gather *gather)
{
	return container_of(gather, struct weft_consumer, gather)->qp;
}

/* Returns true if the post is held. If not, the caller starts the worker, which sends all. */
bool weft_gather_holds(struct weft_gather *gather)
{
	struct weft_qp *qp = gather_qp(gather);
	u64 moment;

	lockdep_assert_held(&qp->post_lock);
	if (!weft_rule(WEFT_RULE_GATHER) && !gather->held)
		return false;
	if (!gather->held && gather->until) {
		gather->until--;
		if (!gather->going) {
			if (!gather->until)
				gather->before = ktime_get_ns();
			return false;
		}
	} else if (!gather->held) {
		gather->enough = WEFT_GATHER_MOST; /* a trial */
		if (gather->before) {
			/* The previous post was sent on its own: the gap to it is the measure. */
			moment = WEFT_GATHER_POSTS * (ktime_get_ns() - gather->before);
			gather->before = 0;
			if (moment < WEFT_GATHER_NS || moment > WEFT_GATHER_MAX_NS)
				moment = WEFT_GATHER_NS;
			gather->moment = moment;
		}
	}
	if (++gather->held < gather->enough)
		return true;
	gather->held = 0;
	if (gather->enough == WEFT_GATHER_MOST) {
		gather->going = true;
		gather->pause = WEFT_GATHER_SOON;
		gather->until = 0;
	}
	return false;
}

/* The hold has timed out. Returns true if posts were held: the caller starts the worker. */
bool weft_gather_end(struct weft_gather *gather)
{
	struct weft_qp *qp = gather_qp(gather);
	bool held = gather->held;

	lockdep_assert_held(&qp->post_lock);
	if (!held)
		return false;
	gather->going = gather->held >= WEFT_GATHER_LEAST;
	gather->enough = gather->held;
	gather->pause = min(2 * gather->pause, WEFT_GATHER_LATE);
	gather->until = gather->pause;
	gather->held = 0;
	return true;
}

static enum hrtimer_restart gather_is_over(struct hrtimer *timer)
{
	struct weft_gather *gather = container_of(timer, struct weft_gather, timer);
	struct weft_qp *qp = gather_qp(gather);
	unsigned long flags;

	spin_lock_irqsave(&qp->post_lock, flags);
	if (weft_gather_end(gather)) {
		weft_ring_need_doorbell(&qp->sq, false); /* the worker asks for the next doorbell */
		weft_qp_kick(qp); /* within the lock, as in weft_post_send() */
	}
	spin_unlock_irqrestore(&qp->post_lock, flags);
	return HRTIMER_NORESTART;
}

/* Starts the timer when the first post is held. */
void weft_gather_wait(struct weft_gather *gather)
{
	struct weft_qp *qp = gather_qp(gather);

	lockdep_assert_held(&qp->post_lock);
	hrtimer_start(&gather->timer, ns_to_ktime(gather->moment), HRTIMER_MODE_REL_SOFT);
}

void weft_gather_init(struct weft_gather *gather)
{
	hrtimer_setup(&gather->timer, gather_is_over, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	gather->moment = WEFT_GATHER_NS;
	gather->enough = WEFT_GATHER_MOST;
	gather->pause = WEFT_GATHER_SOON;
	gather->until = gather->pause;
}
