// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: their life and their states. */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "../conn.h"
#include "../device.h"
#include "../llp/llp.h"
#include "../rx_place.h"
#include "../trace.h"
#include "../workqueue.h"
#include "cq.h"
#include "mw.h"
#include "qp.h"
#include "srq.h"
#include "ucontext.h"

/* Numbers below are special on other fabrics, and programs may know that. */
#define WEFT_FIRST_QPN	16
#define WEFT_LAST_QPN	0xffffff

/* --- references --- */

static void weft_qp_release(struct kref *kref)
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
	kref_put(&qp->refs, weft_qp_release);
}

/* Finds a queue pair and takes a reference; see qp.h. */
struct weft_qp *weft_qp_get_by_num(struct weft_device *dev, unsigned long qpn)
{
	struct weft_qp *qp;

	rcu_read_lock();
	qp = xa_load(&dev->qps, qpn);
	/* Its first reference is dropped a grace period after it left the table. */
	if (qp)
		weft_qp_get(qp);
	rcu_read_unlock();
	return qp;
}

void weft_iw_add_ref(struct ib_qp *ib)
{
	weft_qp_get(to_weft_qp(ib));
}

void weft_iw_rem_ref(struct ib_qp *ib)
{
	weft_qp_put(to_weft_qp(ib));
}

/* iw_cm asks without wanting a reference: it takes one by itself. */
struct ib_qp *weft_iw_get_qp(struct ib_device *ib, int qpn)
{
	struct weft_qp *qp = weft_qp_get_by_num(to_weft_device(ib), qpn);

	if (!qp)
		return NULL;
	weft_qp_put(qp);
	return &qp->ib;
}

/* --- states --- */

/* Sets the state and lets the rings tell. The caller holds @lock. */
static void weft_qp_set_state(struct weft_qp *qp, enum ib_qp_state state)
{
	/* Pairs with weft_qp_state(): who sees the state sees why. */
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

static void weft_qp_event(struct weft_qp *qp, int type)
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
 * weft_qp_fail() - a queue pair in use cannot go on
 * @qp: the queue pair
 * @term: why, for the peer; NULL: nothing to tell it
 * @event: why, for the user: an enum ib_event_type, or -1 for none
 *
 * Any context. The first reason counts; in states in which no data flows this
 * does nothing.
 */
void weft_qp_fail(struct weft_qp *qp, const struct weft_term *term, int event)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&qp->lock, flags);
	first = qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD;
	if (first) {
		if (term) {
			qp->tx.term = *term;
			qp->tx.term_due = true;
		}
		weft_qp_set_state(qp, IB_QPS_ERR);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!first)
		return;
	trace_weft_qp_fail(qp, term, event);
	if (event >= 0)
		weft_qp_event(qp, event);
	weft_tx_kick(qp);
}

/* Moves a queue pair to ERR from whatever state it is in. */
static void weft_qp_error(struct weft_qp *qp)
{
	unsigned long flags;

	weft_qp_fail(qp, NULL, -1);
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state != IB_QPS_ERR) {
		weft_qp_set_state(qp, IB_QPS_ERR);
		/* A handshake may be going on, with no transmit side to tell it. */
		if (qp->conn)
			weft_conn_qp_failed(qp->conn);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	weft_tx_kick(qp);
}

/* Completes everything posted in error; see qp.h. */
bool weft_qp_flush(struct weft_qp *qp)
{
	weft_ring_need_doorbell(&qp->sq, true);
	if (weft_qp_owns_rq(qp))
		weft_ring_need_doorbell(&qp->own_rq.ring, true);
	if (!weft_lend_settled(qp))
		return false;
	weft_tx_flush_requests(qp);
	weft_rx_flush_receives(qp);
	if (weft_qp_owns_rq(qp) || qp->last_wqe_told)
		return true;
	qp->last_wqe_told = true;
	weft_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	return true;
}

/* --- for connections --- */

/* Ties a connection to a queue pair; see qp.h. */
int weft_qp_bind(struct weft_qp *qp, struct weft_conn *conn)
{
	int rv = -EINVAL;

	spin_lock_irq(&qp->lock);
	if (!qp->conn && (qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR)) {
		qp->conn = conn;
		rv = 0;
	}
	spin_unlock_irq(&qp->lock);
	return rv;
}

/* Lets data flow; see qp.h. */
int weft_qp_start(struct weft_qp *qp, struct weft_llp *llp,
		  const struct weft_mpa_agreed *agreed, bool initiator)
{
	u32 peer = agreed->extended ? WEFT_PEER_EXTENDED : 0;
	int rv;

	mutex_lock(&qp->tx.lock);
	qp->agreed = *agreed;
	qp->agreed.ird = min_t(u16, agreed->ird, WEFT_MAX_RD_ATOM);
	qp->agreed.ord = min_t(u16, agreed->ord, WEFT_MAX_RD_ATOM);
	qp->initiator = initiator;
	rv = weft_tx_start(qp);
	if (rv)
		goto unlock;

	weft_llp_lock(llp);
	spin_lock_irq(&qp->lock);
	if (qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR) {
		qp->llp = llp;
		/* Before the state: who sees RTS may post what the peer can do. */
		weft_ring_set_peer(&qp->sq, peer);
		if (weft_qp_owns_rq(qp))
			weft_ring_set_peer(&qp->own_rq.ring, peer);
		weft_qp_set_state(qp, IB_QPS_RTS);
	} else {
		rv = -EINVAL;
	}
	spin_unlock_irq(&qp->lock);
	if (!rv)
		weft_rx_start(qp);
	weft_llp_unlock(llp);

	if (rv) {
		weft_tx_stop(qp);
		goto unlock;
	}
	weft_tx_kick(qp);
	/* The peer's first bytes may be here already. */
	queue_work(weft_workqueue, &qp->rx.work);
unlock:
	mutex_unlock(&qp->tx.lock);
	return rv;
}

/* Takes it off its stream; see qp.h. */
bool weft_qp_stop(struct weft_qp *qp)
{
	struct weft_llp *llp;
	bool settled = true;

	spin_lock_irq(&qp->lock);
	if (qp->state != IB_QPS_ERR && qp->conn)
		weft_qp_set_state(qp, IB_QPS_ERR);
	spin_unlock_irq(&qp->lock);

	mutex_lock(&qp->tx.lock);
	llp = qp->llp;
	if (llp) {
		weft_llp_lock(llp);
		qp->llp = NULL;
		qp->rx.state = WEFT_RX_STOPPED;
		weft_llp_unlock(llp);
		weft_tx_complete(qp);
		weft_tx_stop(qp);
	}
	mutex_unlock(&qp->tx.lock);
	weft_rx_stop(qp);

	mutex_lock(&qp->tx.lock);
	if (weft_qp_state(qp) == IB_QPS_ERR)
		settled = weft_qp_flush(qp);
	mutex_unlock(&qp->tx.lock);
	return settled;
}

/* Ends a binding; see qp.h. */
void weft_qp_unbind(struct weft_qp *qp)
{
	spin_lock_irq(&qp->lock);
	qp->conn = NULL;
	spin_unlock_irq(&qp->lock);
}

/* --- verbs --- */

static bool weft_qp_caps_ok(const struct weft_device *dev,
			    const struct ib_qp_cap *cap)
{
	return weft_limit_allows(dev, WEFT_LIMIT_QP_WR, cap->max_send_wr) &&
	       weft_limit_allows(dev, WEFT_LIMIT_QP_WR, cap->max_recv_wr) &&
	       weft_limit_allows(dev, WEFT_LIMIT_SGE, cap->max_send_sge) &&
	       weft_limit_allows(dev, WEFT_LIMIT_SGE, cap->max_recv_sge) &&
	       weft_limit_allows(dev, WEFT_LIMIT_INLINE, cap->max_inline_data);
}

static int weft_qp_make_rings(struct weft_qp *qp, struct ib_udata *udata,
			      struct weft_create_qp_resp *resp)
{
	u32 blocks = max(weft_sq_blocks_for_sge(qp->cap.max_send_sge),
			 weft_sq_blocks_for_inline(qp->cap.max_inline_data));
	int rv;

	qp->cap.max_inline_data = blocks * WEFT_SQ_BLOCK - WEFT_SQ_SGE_OFFSET;
	rv = weft_ring_create(&qp->sq, qp->cap.max_send_wr * blocks,
			      WEFT_SQ_BLOCK, udata, &resp->sq);
	if (rv)
		return rv;
	resp->sq_blocks = qp->sq.size;
	resp->sq_max_blocks = blocks;
	weft_ring_need_doorbell(&qp->sq, true);
	if (!weft_qp_owns_rq(qp))
		return 0;
	rv = weft_rq_create(&qp->own_rq, qp->cap.max_recv_wr,
			    qp->cap.max_recv_sge, udata, &resp->rq);
	if (rv) {
		weft_ring_destroy(&qp->sq);
		return rv;
	}
	resp->rq_entries = qp->own_rq.ring.size;
	resp->rq_max_sge = qp->own_rq.max_sge;
	return 0;
}

/**
 * weft_create_qp() - create a queue pair
 * @ib: allocated by the core
 * @attr: what is wanted; its capacities become what is granted
 * @udata: the user's request, or NULL for a kernel consumer
 *
 * Return: 0; -EOPNOTSUPP for anything but a plain RC queue pair; -EINVAL for a
 * capacity past the device's limit; -ENOMEM, also past the number of queue
 * pairs.
 */
int weft_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata)
{
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_create_qp_resp resp = {};
	struct weft_qp *qp = to_weft_qp(ib);
	int rv;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (!weft_qp_caps_ok(dev, &attr->cap) || !attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (!weft_limit_count(dev, WEFT_LIMIT_QP, &dev->num_qp))
		return -ENOMEM;
	qp->dev = dev;
	kref_init(&qp->refs);
	init_completion(&qp->gone);
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->post_lock);
	qp->access = WEFT_ACCESS_REMOTE;
	if (udata)
		qp->owner = &rdma_udata_to_drv_context(udata, struct weft_ucontext, ib)->ib;
	qp->rq = attr->srq ? &to_weft_srq(attr->srq)->rq : &qp->own_rq;
	qp->sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->cap = attr->cap;
	if (attr->srq) {
		qp->cap.max_recv_wr = 0;
		qp->cap.max_recv_sge = 0;
	}
	qp->scq = to_weft_cq(attr->send_cq);
	qp->rcq = to_weft_cq(attr->recv_cq);
	rv = weft_qp_make_rings(qp, udata, &resp);
	if (rv)
		goto drop;
	rv = weft_rx_init(qp);
	if (rv)
		goto free_rings;
	rv = weft_tx_init(qp);
	if (rv)
		goto free_rx;
	/* What iWARP calls Idle: ready to be connected, whatever the owner does before. */
	weft_qp_set_state(qp, IB_QPS_INIT);
	if (udata) {
		rv = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (rv)
			goto free_tx;
	}
	/* Last: from here on it can be found, and connected, by whoever guesses its number. */
	rv = xa_alloc_cyclic(&dev->qps, &qp->qpn, qp,
			     XA_LIMIT(WEFT_FIRST_QPN, WEFT_LAST_QPN),
			     &dev->next_qpn, GFP_KERNEL);
	if (rv < 0)
		goto free_tx;
	ib->qp_num = qp->qpn;
	attr->cap = qp->cap;
	return 0;

free_tx:
	weft_tx_destroy(qp);
free_rx:
	weft_rx_destroy(qp);
free_rings:
	weft_ring_destroy(&qp->sq);
	weft_ring_destroy(&qp->own_rq.ring);
drop:
	atomic_dec(&dev->num_qp);
	return rv;
}

/* Starts over with empty queues. Only without a connection, and with all pages back. */
static int weft_qp_reset(struct weft_qp *qp)
{
	int rv = 0;

	mutex_lock(&qp->tx.lock);
	spin_lock_irq(&qp->lock);
	if (qp->conn || qp->tx.lending) {
		rv = -EBUSY;
	} else {
		weft_qp_set_state(qp, IB_QPS_RESET);
		weft_ring_need_doorbell(&qp->sq, true);
		if (weft_qp_owns_rq(qp))
			weft_ring_need_doorbell(&qp->own_rq.ring, false);
	}
	spin_unlock_irq(&qp->lock);
	if (!rv) {
		weft_ring_forget(&qp->sq);
		if (weft_qp_owns_rq(qp))
			weft_ring_forget(&qp->own_rq.ring);
		qp->last_wqe_told = false;
		qp->tx.tail = qp->tx.head;
		qp->tx.unsent = qp->tx.head;
		qp->rx.recv.active = false;
		weft_mw_forget(qp); /* the next peer is another */
	}
	mutex_unlock(&qp->tx.lock);
	return rv;
}

/* A graceful end: nothing new is begun, and what was begun is finished. */
static int weft_qp_drain(struct weft_qp *qp)
{
	int rv = -EINVAL;

	spin_lock_irq(&qp->lock);
	if (qp->state == IB_QPS_RTS) {
		weft_qp_set_state(qp, IB_QPS_SQD);
		rv = 0;
	} else if (qp->conn && (qp->state == IB_QPS_INIT || qp->state == IB_QPS_RTR)) {
		/* A handshake goes on: give it up, there is nothing to finish. */
		weft_qp_set_state(qp, IB_QPS_ERR);
		weft_conn_qp_closing(qp->conn);
		rv = 0;
	} else if (qp->state == IB_QPS_SQD || qp->state == IB_QPS_ERR) {
		rv = 0; /* the peer was first */
	}
	spin_unlock_irq(&qp->lock);
	weft_tx_kick(qp);
	return rv;
}

static int weft_qp_move(struct weft_qp *qp, enum ib_qp_state to)
{
	int rv = 0;

	switch (to) {
	case IB_QPS_RESET:
		return weft_qp_reset(qp);
	case IB_QPS_ERR:
		weft_qp_error(qp);
		return 0;
	case IB_QPS_SQD:
		return weft_qp_drain(qp);
	case IB_QPS_INIT:
		spin_lock_irq(&qp->lock);
		if (qp->state == IB_QPS_RESET)
			weft_qp_set_state(qp, IB_QPS_INIT);
		else if (qp->state != IB_QPS_INIT)
			rv = -EINVAL;
		spin_unlock_irq(&qp->lock);
		return rv;
	case IB_QPS_RTR:
		/* librdmacm passes through here before it accepts. */
		spin_lock_irq(&qp->lock);
		if (qp->state == IB_QPS_INIT)
			weft_qp_set_state(qp, IB_QPS_RTR);
		else if (qp->state != IB_QPS_RTR)
			rv = -EINVAL;
		spin_unlock_irq(&qp->lock);
		return rv;
	case IB_QPS_RTS:
		/* A connection brings a queue pair here, nobody else. */
		return weft_qp_state(qp) == IB_QPS_RTS ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

/*
 * The rights that a consumer means. rdma_cm speaks for its consumers: who accepts
 * grants reads and writes, since it knows of no atomics; who connects grants 0,
 * since it asks before it knows how the two will be connected. All three are meant.
 */
static int weft_qp_rights(int flags)
{
	const int both = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;

	return !flags || (flags & both) == both ? flags | WEFT_ACCESS_REMOTE : flags;
}

/**
 * weft_modify_qp() - change a queue pair
 * @ib: the queue pair
 * @attr: new values
 * @mask: which of them count
 * @udata: unused
 *
 * A new one is in INIT. RESET to INIT and RTR by the user, from there to RTS by a connection
 * alone, SQD for a graceful end, ERR and RESET from anywhere. The peer's rights count from the
 * next request on. What InfiniBand negotiates by hand (addresses,
 * sequence numbers, timers, read depths) is taken and has no effect: the connection settles it.
 *
 * Return: 0; -EINVAL for a step there is not, or another state than the caller
 * believes; -EBUSY for RESET while a connection exists or pages are lent; -EOPNOTSUPP for a change
 * of the capacities and for an alternate path.
 */
int weft_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct weft_qp *qp = to_weft_qp(ib);

	if (mask & (~IB_QP_ATTR_STANDARD_BITS | IB_QP_CAP | IB_QP_ALT_PATH))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != weft_qp_state(qp))
		return -EINVAL;
	if (mask & IB_QP_ACCESS_FLAGS)
		WRITE_ONCE(qp->access, weft_qp_rights(attr->qp_access_flags));
	return mask & IB_QP_STATE ? weft_qp_move(qp, attr->qp_state) : 0;
}

/**
 * weft_query_qp() - tell what a queue pair is
 * @ib: the queue pair
 * @attr: where its values go
 * @mask: ignored: everything is told
 * @init: where its creation's values go
 *
 * What InfiniBand alone has (numbers and addresses of the peer, sequence
 * numbers, timers) is zero. Read depths are those of the connection, once there is one.
 *
 * Return: 0.
 */
int weft_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct weft_qp *qp = to_weft_qp(ib);

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = weft_qp_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = ib_mtu_int_to_enum(READ_ONCE(qp->dev->netdev->mtu));
	attr->qp_access_flags = READ_ONCE(qp->access);
	attr->max_rd_atomic = qp->agreed.ord;
	attr->max_dest_rd_atomic = qp->agreed.ird;
	attr->port_num = 1;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    READ_ONCE(qp->tx.head) != READ_ONCE(qp->tx.tail);
	attr->cap = qp->cap;
	init->event_handler = ib->event_handler;
	init->qp_context = ib->qp_context;
	init->srq = ib->srq;
	init->qp_type = IB_QPT_RC;
	init->send_cq = &qp->scq->ib;
	init->recv_cq = &qp->rcq->ib;
	init->sq_sig_type = qp->sq_sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->cap = qp->cap;
	init->port_num = 1;
	return 0;
}

/**
 * weft_destroy_qp() - end a queue pair
 * @ib: the queue pair
 * @udata: unused
 *
 * Ends its connection and waits until nobody knows it any more.
 *
 * Return: 0.
 */
int weft_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct weft_qp *qp = to_weft_qp(ib);

	xa_erase(&qp->dev->qps, qp->qpn);
	/* Who found it has a reference then: also iw_cm, between weft_iw_get_qp() and its own. */
	synchronize_rcu_expedited();
	WRITE_ONCE(qp->dying, true);
	weft_qp_error(qp); /* kicks the worker, which sees that */
	weft_qp_put(qp);
	wait_for_completion(&qp->gone);
	weft_mw_forget(qp);
	weft_rx_stop(qp);
	weft_tx_destroy(qp);
	weft_rx_destroy(qp);
	weft_ring_destroy(&qp->sq);
	weft_ring_destroy(&qp->own_rq.ring);
	atomic_dec(&qp->dev->num_qp);
	return 0;
}
