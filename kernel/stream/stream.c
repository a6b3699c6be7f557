// SPDX-License-Identifier: GPL-2.0
/* A queue pair on its stream: start, sending and end. Only this file knows both directions. */
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "base/context.h"
#include "base/limit.h"
#include "base/policy.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "llp/llp.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "pair/kernel.h"
#include "queue/cq.h"
#include "rx/place.h"
#include "rx/rx.h"
#include "stream/stream.h"
#include "tx/loan.h"
#include "tx/tx.h"

/*
 * Completes all posted work in error, in ERR and without a stream. Returns false if pages are still
 * lent; the worker completes the work when they are back.
 */
bool weft_stream_flush(struct weft_qp *qp)
{
	lockdep_assert_held(&qp->tx.lock.mutex);
	weft_ring_need_doorbell(&qp->sq, true);
	if (weft_qp_owns_rq(qp))
		weft_ring_need_doorbell(&qp->own_rq.ring, true);
	if (!weft_loan_settled(qp))
		return false;
	weft_tx_flush_requests(qp);
	weft_rx_flush_receives(qp);
	if (weft_qp_owns_rq(qp) || qp->last_wqe_told)
		return true;
	qp->last_wqe_told = true;
	weft_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	return true;
}

/* Sends in up to @rounds rounds; in ERR without a stream, flushes. Returns true if more is left. */
static bool stream_rounds(struct weft_qp *qp, int rounds)
{
	struct weft_tx *tx = &qp->tx;
	bool more;

	lockdep_assert_held(&tx->lock.mutex);
	if (!qp->llp) {
		if (weft_qp_state(qp) == IB_QPS_ERR)
			weft_stream_flush(qp);
		return false;
	}
	do {
		weft_ring_need_doorbell(&qp->sq, false);
		more = weft_tx_round(qp);
		if (!more && weft_gate_runs_out(&qp->gate))
			weft_qp_within(qp, WEFT_GATE_TIMEOUT);
		/* Stop for work that wants tx.lock: the connection may be about to end. */
	} while (more && --rounds && !weft_baton_is_wanted(&tx->lock));
	return more;
}

/* As stream_rounds(), but the worker sends the rest. */
void weft_stream_run(struct weft_qp *qp)
{
	lockdep_assert_held(&qp->tx.lock.mutex);
	if (stream_rounds(qp, WEFT_TX_ROUNDS))
		weft_qp_kick(qp);
}

/* Has packets received on this processor, on which the consumer posts. */
static void stream_follow(struct weft_qp *qp)
{
	lockdep_assert_held(&qp->tx.lock.mutex);
	if (qp->llp && weft_rule(WEFT_RULE_FOLLOW))
		weft_llp_follow(qp->llp);
}

/* One run of the transmit worker; @near: on the processor where it was started. */
static void stream_serve(struct weft_qp *qp, bool near)
{
	unsigned int flags;

	if (!weft_baton_try(&qp->tx.lock, WEFT_WANT_TX))
		return;
	/* The peer may be our disk: an allocation that waits for I/O would wait for this worker. */
	flags = memalloc_noio_save();
	if (near && READ_ONCE(qp->kernel->posted)) {
		WRITE_ONCE(qp->kernel->posted, false);
		stream_follow(qp);
	}
	if (!near)
		weft_stream_run(qp);
	else if (stream_rounds(qp, WEFT_TX_NEAR_ROUNDS))
		queue_work(weft_workqueue, &qp->worker.work);
	memalloc_noio_restore(flags);
	weft_qp_unlock(qp);
}

static void stream_work(struct work_struct *work)
{
	stream_serve(container_of(work, struct weft_qp, worker.work), false);
}

static void stream_near(struct work_struct *work)
{
	stream_serve(container_of(work, struct weft_kernel, near)->qp, true);
}

/*
 * Flushes posts in ERR in the process's own time, because nobody is charged for a worker's, and
 * posts could go on without end. The state is read again under tx.lock, because another thread may
 * have reset the queue pair.
 */
static void stream_flush_posted(struct weft_qp *qp)
{
	weft_baton_lock(&qp->tx.lock);
	weft_stream_run(qp);
	weft_qp_unlock(qp);
}

/*
 * A process posted to the send ring: sends or, in ERR, flushes. The worker sends if another thread
 * sends already or the caller is in a streak of requests. May sleep.
 */
int weft_stream_doorbell(struct weft_qp *qp)
{
	switch (weft_qp_state(qp)) {
	case IB_QPS_RTS:
		break;
	case IB_QPS_SQD:
		weft_qp_kick(qp);
		return 0;
	case IB_QPS_ERR:
		stream_flush_posted(qp);
		return 0;
	default:
		return -EINVAL;
	}
	if (weft_streak_goes_on(&qp->scq->streak) || !weft_baton_grab(&qp->tx.lock)) {
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
	stream_follow(qp);
	weft_stream_run(qp);
	weft_qp_unlock(qp);
	return 0;
}

/* A process posted to the receive ring, which @qp owns. In ERR, flushes. May sleep. */
int weft_stream_recv_doorbell(struct weft_qp *qp)
{
	if (weft_qp_state(qp) != IB_QPS_ERR)
		return weft_rx_doorbell(qp);
	stream_flush_posted(qp);
	return 0;
}

/*
 * Ends the connection of a queue pair in ERR or SQD: in the caller's time if the caller is the
 * process that made the queue pair, otherwise by the worker, because kernel consumers may hold
 * locks that iw_cm's one queue waits for, and no process pays for another. The caller has a
 * reference, because the connection's goes meanwhile.
 */
static void stream_settle(struct weft_qp *qp)
{
	struct task_struct *maker = qp->ib.res.task;
	struct weft_qp_user *user = NULL;
	unsigned long flags;

	if (maker && same_thread_group(maker, current)) {
		spin_lock_irqsave(&qp->lock, flags);
		user = qp->user;
		if (user)
			user->ops->hold(user);
		spin_unlock_irqrestore(&qp->lock, flags);
	}
	if (!user || !user->ops->serve(user))
		weft_qp_kick(qp);
}

/* Moves a queue pair to ERR from any state. */
void weft_stream_error(struct weft_qp *qp)
{
	unsigned long flags;

	weft_qp_break(qp, NULL, NULL, -1);
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state != IB_QPS_ERR) {
		weft_qp_set_state(qp, IB_QPS_ERR);
		/* During a handshake no transmit side notifies the connection. */
		if (qp->user)
			qp->user->ops->failed(qp->user);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	stream_settle(qp);
}

/* --- events of the stream, for its owner --- */

static void stream_readable(struct weft_llp *llp)
{
	weft_rx_readable(llp->owner);
}

static void stream_writable(struct weft_llp *llp)
{
	weft_tx_writable(llp->owner);
}

static void stream_changed(struct weft_llp *llp)
{
	struct weft_qp *qp = llp->owner;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->user)
		qp->user->ops->changed(qp->user);
	spin_unlock_irqrestore(&qp->lock, flags);
}

const struct weft_llp_ops weft_stream_ops = {
	.readable = stream_readable,
	.writable = stream_writable,
	.changed = stream_changed,
};

/* --- for connections --- */

int weft_stream_bind(struct weft_qp *qp, struct weft_qp_user *user)
{
	int ret = -EINVAL;

	spin_lock_irq(&qp->lock);
	if (!qp->user && (qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR)) {
		qp->user = user;
		ret = 0;
	}
	spin_unlock_irq(&qp->lock);
	return ret;
}

/*
 * Returns the longest FPDU for this peer: as the operator set for its address; otherwise of any
 * length only to Weft, which takes large ones.
 */
static u32 stream_longest(const struct weft_qp *qp, struct weft_llp *llp)
{
	struct weft_settings *settings = &qp->dev->settings;
	struct sockaddr_storage local, remote;
	u32 longest;

	if (qp->agreed.marks_out)
		return WEFT_FPDU_ONE_SEGMENT;
	if (!weft_llp_addresses(llp, &local, &remote) &&
	    weft_peers_longest(&settings->peers, &remote, &longest))
		return longest;
	return qp->agreed.extended &&
	       weft_setting(settings, WEFT_SET_FPDU) == WEFT_FPDU_LARGE ?
	       WEFT_FPDU_ANY_LENGTH : WEFT_FPDU_ONE_SEGMENT;
}

int weft_stream_start(struct weft_qp *qp, struct weft_llp *llp,
		      const struct weft_mpa_agreed *agreed, bool initiator)
{
	u32 peer = agreed->extended ? WEFT_PEER_EXTENDED : 0;
	int ret;

	lockdep_assert_held(&qp->tx.lock.mutex);
	/* Under @lock, because a query at any moment must not see a depth beyond our limit. */
	spin_lock_irq(&qp->lock);
	qp->agreed = *agreed;
	qp->agreed.ird = min_t(u16, agreed->ird, WEFT_MAX_RD_ATOM);
	qp->agreed.ord = min_t(u16, agreed->ord, WEFT_MAX_RD_ATOM);
	spin_unlock_irq(&qp->lock);
	WRITE_ONCE(qp->initiator, initiator); /* weft_qp_kick() reads it at any time */
	if (llp->class->arrivals) {
		ret = weft_window_init(&qp->rx.sends, WEFT_WINDOW, qp->rx.rq->max_sge, qp->owner);
		if (ret)
			return ret;
	}
	ret = weft_tx_start(qp);
	if (ret)
		return ret;
	qp->tx.longest = stream_longest(qp, llp);

	weft_llp_lock(llp);
	spin_lock_irq(&qp->lock);
	if (qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR) {
		WRITE_ONCE(qp->llp, llp);
		/* Before the state: a program that sees RTS may use the features of the peer. */
		weft_ring_set_peer(&qp->sq, peer);
		if (weft_qp_owns_rq(qp))
			weft_ring_set_peer(&qp->own_rq.ring, peer);
		weft_qp_set_state(qp, IB_QPS_RTS);
	} else {
		ret = -EINVAL;
	}
	spin_unlock_irq(&qp->lock);
	if (!ret)
		weft_rx_start(qp);
	weft_llp_unlock(llp);

	if (ret) {
		weft_tx_stop(qp);
		return ret;
	}
	weft_qp_kick(qp);
	/* The peer's first bytes may be here already. */
	weft_llp_resume(llp);
	return 0;
}

/*
 * Takes the bytes that have come before a graceful close: TCP has acknowledged them, and a receive
 * for them may have been posted just before the disconnect.
 */
static void stream_read_out(struct weft_qp *qp)
{
	lockdep_assert_held(&qp->tx.lock.mutex);
	if (weft_qp_state(qp) != IB_QPS_SQD)
		return;
	weft_llp_lock(qp->llp);
	weft_rx_run(qp);
	weft_llp_unlock(qp->llp);
}

bool weft_stream_stop(struct weft_qp *qp)
{
	struct weft_llp *llp = qp->llp;

	lockdep_assert_held(&qp->tx.lock.mutex);
	if (llp)
		stream_read_out(qp);
	spin_lock_irq(&qp->lock);
	if (qp->state != IB_QPS_ERR && qp->user)
		weft_qp_set_state(qp, IB_QPS_ERR);
	spin_unlock_irq(&qp->lock);

	if (llp) {
		weft_llp_lock(llp);
		WRITE_ONCE(qp->llp, NULL);
		qp->rx.stopped = true;
		weft_llp_await(llp, 1);
		weft_llp_unlock(llp);
		weft_tx_complete(qp);
		weft_tx_stop(qp);
	}
	weft_rx_stop(&qp->rx);
	return weft_qp_state(qp) != IB_QPS_ERR || weft_stream_flush(qp);
}

void weft_stream_unbind(struct weft_qp *qp)
{
	weft_baton_forget(&qp->tx.lock, WEFT_WANT_CONN);
	spin_lock_irq(&qp->lock);
	qp->user = NULL;
	spin_unlock_irq(&qp->lock);
}

/* Empties the queues. Returns -EBUSY with a connection, or while pages are lent. */
int weft_stream_reset(struct weft_qp *qp)
{
	int ret = 0;

	weft_baton_lock(&qp->tx.lock);
	spin_lock_irq(&qp->lock);
	if (qp->user || qp->tx.loans) {
		ret = -EBUSY;
	} else {
		weft_qp_set_state(qp, IB_QPS_RESET);
		weft_ring_need_doorbell(&qp->sq, true);
		if (weft_qp_owns_rq(qp))
			weft_ring_need_doorbell(&qp->own_rq.ring, false);
	}
	spin_unlock_irq(&qp->lock);
	if (!ret) {
		weft_ring_forget(&qp->sq);
		if (weft_qp_owns_rq(qp))
			weft_ring_forget(&qp->own_rq.ring);
		qp->last_wqe_told = false;
		weft_inflight_forget(&qp->inflight);
		weft_window_start(&qp->rx.sends);
		/* The rights and windows were the old peer's. */
		WRITE_ONCE(qp->acc.rights, WEFT_ACCESS_REMOTE);
		weft_mw_forget(&qp->acc);
	}
	weft_qp_unlock(qp);
	return ret;
}

/* Begins a graceful end: the message in progress is finished, and no other is begun. */
int weft_stream_drain(struct weft_qp *qp)
{
	int ret = -EINVAL;

	spin_lock_irq(&qp->lock);
	if (qp->state == IB_QPS_RTS) {
		weft_qp_set_state(qp, IB_QPS_SQD);
		ret = 0;
	} else if (qp->user && (qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR)) {
		/* During a handshake there is nothing to finish: give it up. */
		weft_qp_set_state(qp, IB_QPS_ERR);
		qp->user->ops->closing(qp->user);
		ret = 0;
	} else if (qp->state == IB_QPS_SQD || qp->state == IB_QPS_ERR) {
		ret = 0; /* the peer was first */
	}
	spin_unlock_irq(&qp->lock);
	stream_settle(qp);
	return ret;
}

void weft_stream_init(struct weft_qp *qp)
{
	INIT_WORK(&qp->worker.work, stream_work);
	if (qp->kernel)
		INIT_WORK(&qp->kernel->near, stream_near);
	timer_setup(&qp->worker.timer, weft_qp_timer, 0);
}

static void stream_cancel(struct weft_qp *qp)
{
	cancel_work_sync(&qp->worker.work);
	if (qp->kernel)
		cancel_work_sync(&qp->kernel->near);
}

/* Ends the worker. Nobody else uses the queue pair. May sleep. */
void weft_stream_end(struct weft_qp *qp)
{
	if (qp->kernel)
		weft_gather_stop(&qp->kernel->gather); /* its timer starts the worker */
	/* Work that sees this starts no other work of the queue pair. */
	weft_baton_lock(&qp->tx.lock);
	qp->worker.ended = true;
	weft_baton_unlock(&qp->tx.lock);
	stream_cancel(qp);
	weft_rx_stop(&qp->rx);
	/* Timer and worker start each other, so the worker is ended a second time. */
	timer_delete_sync(&qp->worker.timer);
	stream_cancel(qp);
}
