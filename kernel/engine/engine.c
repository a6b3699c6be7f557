// SPDX-License-Identifier: GPL-2.0
/* The engine of a queue pair: its life, and when its threads send; see engine.h. */
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "base/context.h"
#include "base/policy.h"
#include "base/weft.h"
#include "base/baton.h"
#include "engine/consumer.h"
#include "engine/engine.h"
#include "engine/whole.h"
#include "llp/llp.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "tx/tx.h"

/* A larger structure would take 4 KiB, the allocator's next size. */
static_assert(IS_ENABLED(CONFIG_LOCKDEP) || IS_ENABLED(CONFIG_DEBUG_SPINLOCK) ||
	      sizeof(struct weft_engine) <= SZ_2K);

/*
 * Completes all posted work in error, in ERR and without a stream. Returns false if pages are still
 * lent; the worker completes the work when they are back.
 */
bool weft_engine_flush(struct weft_qp *qp)
{
	struct weft_engine *engine = container_of(qp, struct weft_engine, qp);

	lockdep_assert_held(&qp->tx_lock.mutex);
	weft_ring_need_doorbell(&qp->sq, true);
	if (weft_qp_owns_rq(qp))
		weft_ring_need_doorbell(&qp->own_rq.ring, true);
	if (!weft_loan_settled(&engine->tx))
		return false;
	weft_tx_flush_requests(&engine->tx);
	weft_rx_flush_receives(&engine->rx);
	if (weft_qp_owns_rq(qp) || qp->last_wqe_told)
		return true;
	qp->last_wqe_told = true;
	weft_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	return true;
}

/* Sends in up to @rounds rounds; in ERR without a stream, flushes. Returns true if more is left. */
static bool engine_rounds(struct weft_qp *qp, int rounds)
{
	bool more;

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (!qp->llp) {
		if (weft_qp_state(qp) == IB_QPS_ERR)
			weft_engine_flush(qp);
		return false;
	}
	do {
		weft_ring_need_doorbell(&qp->sq, false);
		more = weft_tx_round(&container_of(qp, struct weft_engine, qp)->tx);
		/* Without an agreed FPDU, the gate has a timeout. */
		if (!more && READ_ONCE(qp->gate.shut) && !qp->gate.agreed)
			weft_qp_within(qp, WEFT_GATE_TIMEOUT);
		/* Stop for work that wants tx_lock: the connection may be about to end. */
	} while (more && --rounds && !atomic_long_read(&qp->tx_lock.wanted));
	return more;
}

/* As engine_rounds(), but the worker sends the rest. */
void weft_engine_run(struct weft_qp *qp)
{
	lockdep_assert_held(&qp->tx_lock.mutex);
	if (engine_rounds(qp, WEFT_TX_ROUNDS))
		weft_qp_kick(qp);
}

/* One run of the transmit worker; @near: on the processor where it was started. */
static void engine_serve(struct weft_qp *qp, bool near)
{
	unsigned int flags;

	if (!weft_baton_try(&qp->tx_lock, WEFT_WANT_TX))
		return;
	/* The peer may be our disk: an allocation that waits for I/O would wait for this worker. */
	flags = memalloc_noio_save();
	if (near && READ_ONCE(qp->consumer->posted)) {
		WRITE_ONCE(qp->consumer->posted, false);
		/* Has packets received on this processor, on which the consumer posts. */
		if (qp->llp && weft_rule(WEFT_RULE_FOLLOW))
			weft_llp_follow(qp->llp);
	}
	if (!near)
		weft_engine_run(qp);
	else if (engine_rounds(qp, WEFT_TX_NEAR_ROUNDS))
		queue_work(weft_workqueue, &qp->worker.work);
	memalloc_noio_restore(flags);
	weft_qp_unlock(qp);
}

static void engine_work(struct work_struct *work)
{
	engine_serve(container_of(work, struct weft_qp, worker.work), false);
}

static void engine_near(struct work_struct *work)
{
	engine_serve(container_of(work, struct weft_consumer, near)->qp, true);
}

static void engine_timer(struct timer_list *timer)
{
	weft_qp_kick(container_of(timer, struct weft_qp, worker.timer));
}

/*
 * Flushes posts in ERR in the process's own time, because nobody is charged for a worker's, and
 * posts could go on without end. The state is read again under tx_lock, because another thread may
 * have reset the queue pair.
 */
static void engine_flush_posted(struct weft_qp *qp)
{
	weft_baton_lock(&qp->tx_lock);
	weft_engine_run(qp);
	weft_qp_unlock(qp);
}

/*
 * A process posted to the send ring: sends or, in ERR, flushes. The worker sends if another thread
 * sends already or the caller is in a streak of requests. May sleep.
 */
int weft_engine_doorbell(struct weft_qp *qp)
{
	switch (weft_qp_state(qp)) {
	case IB_QPS_RTS:
		break;
	case IB_QPS_SQD:
		weft_qp_kick(qp);
		return 0;
	case IB_QPS_ERR:
		engine_flush_posted(qp);
		return 0;
	default:
		return -EINVAL;
	}
	if (weft_streak_goes_on(&qp->scq->streak) || !weft_baton_grab(&qp->tx_lock)) {
		/*
		 * The worker asks for the next doorbell when it is done. If this thread were
		 * preempted between the two calls, all other posters would wait for it.
		 */
		preempt_disable();
		weft_ring_need_doorbell(&qp->sq, false);
		weft_qp_kick(qp);
		preempt_enable();
		return 0;
	}
	if (qp->llp && weft_rule(WEFT_RULE_FOLLOW))
		weft_llp_follow(qp->llp);
	weft_engine_run(qp);
	weft_qp_unlock(qp);
	return 0;
}

/* Receives were posted to a ring that asked for a doorbell. Any context. */
int weft_engine_post_recv(struct weft_qp *qp)
{
	switch (weft_qp_state(qp)) {
	case IB_QPS_RESET:
		return -EINVAL;
	case IB_QPS_ERR:
		weft_qp_kick(qp);
		return 0;
	default:
		weft_rq_wake(qp->rq);
		return 0;
	}
}

/* A process posted to the receive ring, which @qp owns. In ERR, flushes. May sleep. */
int weft_engine_recv_doorbell(struct weft_qp *qp)
{
	if (weft_qp_state(qp) != IB_QPS_ERR)
		return weft_engine_post_recv(qp);
	engine_flush_posted(qp);
	return 0;
}

/* --- life --- */

/* Makes the queue pair a kernel consumer's. Returns 0 or -ENOMEM. */
int weft_engine_for_kernel(struct weft_qp *qp)
{
	struct weft_consumer *consumer = kzalloc(sizeof(*consumer), GFP_KERNEL);

	if (!consumer)
		return -ENOMEM;
	consumer->qp = qp;
	weft_gather_init(&consumer->gather);
	INIT_WORK(&consumer->near, engine_near);
	qp->consumer = consumer;
	qp->worker.near = &consumer->near;
	return 0;
}

/**
 * weft_engine_init() - prepare the engine of a new queue pair
 * @qp: the queue pair, whose capacities, rings, @rq, owner and accessor are set
 * @attr: the queues that it uses
 *
 * Return: 0 or -ENOMEM.
 */
int weft_engine_init(struct weft_qp *qp, const struct ib_qp_init_attr *attr)
{
	struct weft_engine *engine = container_of(qp, struct weft_engine, qp);
	int ret;

	engine->tx.qp = qp;
	engine->rx.qp = qp;
	engine->rx.srq = attr->srq ? to_weft_srq(attr->srq) : NULL;
	engine->rx.rcq = to_weft_cq(attr->recv_cq);
	weft_baton_init(&qp->tx_lock);
	INIT_WORK(&qp->worker.work, engine_work);
	timer_setup(&qp->worker.timer, engine_timer, 0);
	ret = weft_inflight_init(&qp->inflight, qp->cap.max_send_wr);
	if (ret)
		return ret;
	ret = weft_rx_init(&engine->rx);
	if (ret)
		goto free_inflight;
	ret = qp->acc.kernel ? weft_engine_for_kernel(qp) : 0;
	if (ret)
		goto free_rx;
	return 0;

free_rx:
	weft_inbox_destroy(&engine->rx.sends);
free_inflight:
	weft_inflight_destroy(&qp->inflight);
	return ret;
}

/*
 * Undoes weft_engine_init(). The queue pair has no user any more: weft_engine_end() was called, or
 * nobody could find the queue pair yet.
 */
void weft_engine_destroy(struct weft_qp *qp)
{
	struct weft_engine *engine = container_of(qp, struct weft_engine, qp);

	/* No reference is left, so all loans are returned. */
	weft_baton_lock(&qp->tx_lock);
	weft_loan_settled(&engine->tx);
	weft_baton_unlock(&qp->tx_lock);
	kfree(qp->consumer);
	qp->consumer = NULL;
	qp->worker.near = NULL;
	/* Either side takes receives, so both must have ended before. */
	weft_inbox_destroy(&engine->rx.sends);
	weft_inflight_destroy(&qp->inflight);
}

static void engine_cancel(struct weft_qp *qp)
{
	cancel_work_sync(&qp->worker.work);
	if (qp->consumer)
		cancel_work_sync(&qp->consumer->near);
}

/* Ends the worker. Nobody else uses the queue pair. May sleep. */
void weft_engine_end(struct weft_qp *qp)
{
	if (qp->consumer)
		hrtimer_cancel(&qp->consumer->gather.timer); /* it starts the worker */
	/* Work that sees this starts no other work of the queue pair. */
	weft_baton_lock(&qp->tx_lock);
	qp->worker.ended = true;
	weft_baton_unlock(&qp->tx_lock);
	engine_cancel(qp);
	weft_rx_stop(&container_of(qp, struct weft_engine, qp)->rx);
	/* Timer and worker start each other, so the worker is ended a second time. */
	timer_delete_sync(&qp->worker.timer);
	engine_cancel(qp);
}

void weft_engine_glance(const struct weft_qp *qp, struct weft_flow *flow)
{
	const struct weft_tx *tx = &container_of(qp, struct weft_engine, qp)->tx;
	const struct weft_rx *rx = &container_of(qp, struct weft_engine, qp)->rx;

	flow->tx_fpdus = weft_glance(tx->fpdus);
	flow->tx_bytes = weft_glance(tx->bytes);
	flow->rx_fpdus = weft_glance(rx->framer.counts.fpdus);
	flow->rx_bytes = weft_glance(rx->framer.counts.bytes);
	flow->tx_taken = weft_glance(tx->batch.sent);
	flow->tx_waiting = weft_glance(tx->batch.laid_out) - flow->tx_taken;
	flow->tx_segment = weft_glance(tx->batch.emss);
	flow->tx_longest = weft_glance(tx->longest);
	flow->rx_kept_most = weft_glance(rx->kept_most);
	flow->rx_stalled = weft_glance(rx->stalled);
}
