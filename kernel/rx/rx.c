// SPDX-License-Identifier: GPL-2.0
/* The receive engine: when the stream is read, and when the reading ends. */
#include "base/weft.h"
#include "llp/llp.h"
#include "mpa/framer.h"
#include "rx/rx.h"

/* Ends the connection if the waiting message got no receive in time, after all bytes were read. */
static noinline void rx_give_up(struct weft_rx *rx)
{
	WRITE_ONCE(rx->expired, false);
	/* Since the timer ran, the wait may have ended, and a new one begun. */
	if (!rx->stalled || rx->stopped || timer_pending(&rx->rnr))
		return;
	/* The receives of a shared queue went to others, whose turn was before. */
	if (weft_rq_moved(rx->qp->rq, &rx->waiting)) {
		mod_timer(&rx->rnr, jiffies + WEFT_RNR_TIMEOUT);
		return;
	}
	weft_count(rx->acc->dev->counters, WEFT_CNT_RNR_TIMEOUTS, 1);
	weft_rx_refuse(rx, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, WEFT_DU_NO_BUFFER);
}

/* Reads all that can be read now. Softirq or process context. */
void weft_rx_run(struct weft_rx *rx)
{
	const struct weft_framer_counts *now = &rx->framer.counts;
	struct weft_counters __percpu *counters = rx->acc->dev->counters;
	struct weft_framer_counts before = *now;
	struct weft_qp *qp = rx->qp;
	unsigned long flags;
	bool more;

	weft_qp_assert_locked(qp);
	if (rx->running)
		return; /* @await may call back at once */
	WRITE_ONCE(rx->woken, false);
	if (unlikely(weft_qp_state(qp) == IB_QPS_ERR)) {
		rx->stopped = true;
		weft_rq_leave(rx->qp->rq, &rx->waiting); /* a receive may be kept for it */
	}
	rx->running = true;
	more = weft_rx_read(rx);
	rx->running = false;
	if (unlikely(rx->framer.starved)) {
		/* Reads again later. The wait for a receive, with the same timer, begins anew. */
		rx->stalled = false;
		mod_timer(&rx->rnr, jiffies + WEFT_RX_RETRY);
	}
	if (unlikely(READ_ONCE(rx->expired)))
		rx_give_up(rx);
	if (unlikely(rx->failure != WEFT_RX_FINE))
		weft_rx_fail(rx);
	/* Once for all packets that were read. */
	if (now->bytes != before.bytes) {
		weft_count(counters, WEFT_CNT_RX_FPDUS, now->fpdus - before.fpdus);
		weft_count(counters, WEFT_CNT_RX_BYTES, now->bytes - before.bytes);
	}
	if (now->split != before.split)
		weft_count(counters, WEFT_CNT_RX_SPLIT_FPDUS, now->split - before.split);
	if (now->staged != before.staged)
		weft_count(counters, WEFT_CNT_RX_STAGED_FPDUS, now->staged - before.staged);
	/* Goes on only if the stream has ended and all its bytes were taken. */
	if (more || (rx->framer.stage && rx->stalled && !rx->stopped) ||
	    weft_llp_held(qp->llp, end) <
		    (rx->framer.ahead ? WEFT_LLP_LAST_BYTES : WEFT_LLP_ALL_READ))
		return;
	/*
	 * A reset is no orderly end: the changed event reports the reset. All bytes before are
	 * read.
	 */
	if (qp->llp->class->state(qp->llp) == WEFT_LLP_DEAD)
		return;
	if (!rx->stopped && weft_framer_amid(&rx->framer)) {
		/* The stream ended in the middle of an FPDU: no orderly end. */
		rx->stopped = true;
		weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
		return;
	}
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->user)
		qp->user->ops->post(qp->user, WEFT_QP_PEER_CLOSED);
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* The stream has bytes, or has ended. Softirq or process context. */
void weft_rx_readable(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;

	/* A call before weft_engine_start() is ignored, because the start resumes the stream. */
	if (!READ_ONCE(qp->llp))
		return;
	weft_qp_assert_locked(qp);
	/* Head-of-line: all bytes behind a message that waits for a receive wait as well. */
	if (weft_qp_state(qp) == IB_QPS_ERR || !rx->stalled || READ_ONCE(rx->woken) ||
	    READ_ONCE(rx->expired))
		weft_rx_run(rx);
}

/*
 * Has the next thread that gets the stream's lock read the stream. Any context; weft_rx_stop()
 * waits for the callers before the stream is closed.
 */
static void rx_resume(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;
	struct weft_llp *llp = READ_ONCE(qp->llp);

	WRITE_ONCE(rx->woken, true);
	smp_wmb(); /* pairs with the xchg() of the stream's @resumed */
	if (llp)
		weft_llp_call(llp, resume);
}

/* A receive was posted, and is kept for the waiting message. With the receive queue's lock. */
static void rx_woken(struct weft_waiter *waiter)
{
	rx_resume(container_of(waiter, struct weft_rx, waiting));
}

/* The wait for a receive, or for memory, is over. */
static void rx_expired(struct timer_list *timer)
{
	struct weft_rx *rx = container_of(timer, struct weft_rx, rnr);

	WRITE_ONCE(rx->expired, true);
	rx_resume(rx);
}

/* @qp, @srq and @rcq are set, and the queue pair's @rq and @owner. */
int weft_rx_init(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;

	rx->acc = &qp->acc;
	rx->stopped = true;
	INIT_LIST_HEAD(&rx->waiting.entry);
	rx->waiting.wake = rx_woken;
	timer_setup(&rx->rnr, rx_expired, 0);
	return weft_inbox_init(&rx->sends, 1, rx->qp->rq->max_sge, qp->owner);
}

void weft_rx_start(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;

	weft_qp_assert_locked(qp);
	rx->extended = qp->agreed.extended;
	rx->empty_first = qp->agreed.p2p && qp->agreed.rtr == WEFT_RTR_SEND && !qp->initiator;
	rx->failure = WEFT_RX_FINE;
	rx->stopped = false;
	weft_inbox_start(&rx->sends);
	rx->read_msn = 1;
	rx->atomic_msn = 1;
	rx->written = (struct weft_written){};
	rx->first = true;
	rx->kept_most = 0;
	rx->stalled = false;
	rx->woken = false;
	rx->expired = false;
	rx->seg.known = false;
	rx->seg.hdr_len = 0;
	weft_framer_start(&rx->framer, &qp->agreed, qp->owner);
}

/* Ends all waits. The stream is gone, and nobody resumes the reading any more. */
void weft_rx_stop(struct weft_rx *rx)
{
	weft_rq_leave(rx->qp->rq, &rx->waiting);
	timer_delete_sync(&rx->rnr);
	weft_framer_free(&rx->framer);
}
