// SPDX-License-Identifier: GPL-2.0
/* How data begins to flow over a queue pair's stream, and how the flow ends. */
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "base/weft.h"
#include "base/policy.h"
#include "engine/engine.h"
#include "engine/whole.h"
#include "llp/llp.h"
#include "memory/mr.h"
#include "rx/rx.h"
#include "tx/tx.h"

/* --- events of the stream, for its owner --- */

static void engine_readable(struct weft_llp *llp)
{
	weft_rx_readable(&container_of(llp->owner, struct weft_engine, qp)->rx);
}

/* May run inside our own send, so the worker sends. */
static void engine_writable(struct weft_llp *llp)
{
	struct weft_qp *qp = llp->owner;

	/* A call before weft_engine_start() is ignored: the start kicks the worker. */
	if (!READ_ONCE(qp->llp))
		return;
	weft_qp_assert_locked(qp);
	weft_qp_kick(qp);
}

static void engine_changed(struct weft_llp *llp)
{
	struct weft_qp *qp = llp->owner;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->user)
		qp->user->ops->post(qp->user, WEFT_QP_CHANGED);
	spin_unlock_irqrestore(&qp->lock, flags);
}

const struct weft_llp_ops weft_engine_ops = {
	.readable = engine_readable,
	.writable = engine_writable,
	.changed = engine_changed,
};

/* --- for connections --- */

int weft_engine_bind(struct weft_qp *qp, struct weft_qp_user *user)
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
static u32 engine_longest(const struct weft_qp *qp, struct weft_llp *llp)
{
	struct weft_settings *settings = &qp->dev->settings;
	struct sockaddr_storage local, remote;
	u32 longest;

	if (qp->agreed.marks_out)
		return WEFT_FPDU_ONE_SEGMENT;
	if (!llp->class->addresses(llp, &local, &remote) &&
	    weft_peers_longest(&settings->peers, &remote, &longest))
		return longest;
	return qp->agreed.extended &&
	       READ_ONCE(settings->value[WEFT_SET_FPDU]) == WEFT_FPDU_LARGE ?
	       WEFT_FPDU_ANY_LENGTH : WEFT_FPDU_ONE_SEGMENT;
}

int weft_engine_start(struct weft_qp *qp, struct weft_llp *llp,
		      const struct weft_mpa_agreed *agreed, bool initiator)
{
	struct weft_engine *engine = container_of(qp, struct weft_engine, qp);
	u32 peer = agreed->extended ? WEFT_PEER_EXTENDED : 0;
	int ret;

	lockdep_assert_held(&qp->tx_lock.mutex);
	/* Under @lock, because a query at any moment must not see a depth beyond our limit. */
	spin_lock_irq(&qp->lock);
	qp->agreed = *agreed;
	qp->agreed.ird = min_t(u16, agreed->ird, WEFT_MAX_RD_ATOM);
	qp->agreed.ord = min_t(u16, agreed->ord, WEFT_MAX_RD_ATOM);
	spin_unlock_irq(&qp->lock);
	WRITE_ONCE(qp->initiator, initiator); /* weft_qp_kick() reads it at any time */
	if (llp->arrivals) {
		ret = weft_inbox_init(&engine->rx.sends, WEFT_INBOX, qp->rq->max_sge, qp->owner);
		if (ret)
			return ret;
	}
	ret = weft_tx_start(&engine->tx);
	if (ret)
		return ret;
	engine->tx.longest = engine_longest(qp, llp);

	weft_llp_call(llp, lock);
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
		weft_rx_start(&engine->rx);
	weft_llp_call(llp, unlock);

	if (ret) {
		weft_tx_stop(&engine->tx);
		return ret;
	}
	weft_qp_kick(qp);
	/* The peer's first bytes may be here already. */
	weft_llp_call(llp, resume);
	return 0;
}

bool weft_engine_stop(struct weft_qp *qp)
{
	struct weft_engine *engine = container_of(qp, struct weft_engine, qp);
	struct weft_llp *llp = qp->llp;

	lockdep_assert_held(&qp->tx_lock.mutex);
	/*
	 * Takes the bytes that have come before a graceful close: TCP has acknowledged them, and a
	 * receive for them may have been posted just before the disconnect.
	 */
	if (llp && weft_qp_state(qp) == IB_QPS_SQD) {
		weft_llp_call(llp, lock);
		weft_rx_run(&engine->rx);
		weft_llp_call(llp, unlock);
	}
	spin_lock_irq(&qp->lock);
	if (qp->state != IB_QPS_ERR && qp->user)
		weft_qp_set_state(qp, IB_QPS_ERR);
	spin_unlock_irq(&qp->lock);

	if (llp) {
		weft_llp_call(llp, lock);
		WRITE_ONCE(qp->llp, NULL);
		engine->rx.stopped = true;
		weft_llp_held(llp, await, 1);
		weft_llp_call(llp, unlock);
		weft_tx_complete(&engine->tx);
		weft_tx_stop(&engine->tx);
	}
	weft_rx_stop(&engine->rx);
	return weft_qp_state(qp) != IB_QPS_ERR || weft_engine_flush(qp);
}

void weft_engine_unbind(struct weft_qp *qp)
{
	weft_baton_forget(&qp->tx_lock, WEFT_WANT_CONN);
	spin_lock_irq(&qp->lock);
	qp->user = NULL;
	spin_unlock_irq(&qp->lock);
}

/* --- moves to ERR, SQD and RESET --- */

/*
 * Ends the connection of a queue pair in ERR or SQD: in the caller's time if the caller is the
 * process that made the queue pair, otherwise by the worker, because kernel consumers may hold
 * locks that iw_cm's one queue waits for, and no process pays for another. The caller has a
 * reference, because the connection's goes meanwhile.
 */
static void engine_settle(struct weft_qp *qp)
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
void weft_engine_error(struct weft_qp *qp)
{
	unsigned long flags;

	weft_qp_break(qp, NULL, NULL, -1);
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state != IB_QPS_ERR) {
		weft_qp_set_state(qp, IB_QPS_ERR);
		/* During a handshake no transmit side notifies the connection. */
		if (qp->user)
			qp->user->ops->post(qp->user, WEFT_QP_FAILED);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	engine_settle(qp);
}

/* Empties the queues. Returns -EBUSY with a connection, or while pages are lent. */
int weft_engine_reset(struct weft_qp *qp)
{
	struct weft_engine *engine = container_of(qp, struct weft_engine, qp);
	int ret = 0;

	weft_baton_lock(&qp->tx_lock);
	spin_lock_irq(&qp->lock);
	if (qp->user || engine->tx.loans) {
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
		weft_inbox_start(&engine->rx.sends);
		/* The rights and windows were the old peer's. */
		WRITE_ONCE(qp->acc.rights, WEFT_ACCESS_REMOTE);
		weft_mw_forget(&qp->acc);
	}
	weft_qp_unlock(qp);
	return ret;
}

/* Begins a graceful end: the message in progress is finished, and no other is begun. */
int weft_engine_drain(struct weft_qp *qp)
{
	int ret = -EINVAL;

	spin_lock_irq(&qp->lock);
	if (qp->state == IB_QPS_RTS) {
		weft_qp_set_state(qp, IB_QPS_SQD);
		ret = 0;
	} else if (qp->user && (qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR)) {
		/* During a handshake there is nothing to finish: give it up. */
		weft_qp_set_state(qp, IB_QPS_ERR);
		qp->user->ops->post(qp->user, WEFT_QP_CLOSING);
		ret = 0;
	} else if (qp->state == IB_QPS_SQD || qp->state == IB_QPS_ERR) {
		ret = 0; /* the peer was first */
	}
	spin_unlock_irq(&qp->lock);
	engine_settle(qp);
	return ret;
}
