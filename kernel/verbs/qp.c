// SPDX-License-Identifier: GPL-2.0
/* Queue pairs, as verbs and as iw_cm asks for them. */
#include <linux/lockdep.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/uverbs_ioctl.h>

#include "base/context.h"
#include "base/limit.h"
#include "base/weft.h"
#include "memory/mw.h"
#include "pair/qp.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "rx/rx.h"
#include "stream/stream.h"
#include "tx/tx.h"
#include "verbs/qp.h"

/* Numbers below are special on other fabrics, and programs may know that. */
#define WEFT_FIRST_QPN	16
#define WEFT_LAST_QPN	0xffffff

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

static bool qp_caps_ok(const struct weft_device *dev,
		       const struct ib_qp_cap *cap)
{
	return weft_limit_allows(dev, WEFT_LIMIT_QP_WR, cap->max_send_wr) &&
	       weft_limit_allows(dev, WEFT_LIMIT_QP_WR, cap->max_recv_wr) &&
	       weft_limit_allows(dev, WEFT_LIMIT_SGE, cap->max_send_sge) &&
	       weft_limit_allows(dev, WEFT_LIMIT_SGE, cap->max_recv_sge) &&
	       weft_limit_allows(dev, WEFT_LIMIT_INLINE, cap->max_inline_data);
}

static int qp_make_rings(struct weft_qp *qp, struct ib_udata *udata,
			 struct weft_create_qp_resp *resp)
{
	u32 blocks = max(weft_sq_blocks_for_sge(qp->cap.max_send_sge),
			 weft_sq_blocks_for_inline(qp->cap.max_inline_data));
	int ret;

	qp->cap.max_inline_data = blocks * WEFT_SQ_BLOCK - WEFT_SQ_SGE_OFFSET;
	ret = weft_ring_create(&qp->sq, qp->cap.max_send_wr * blocks,
			       WEFT_SQ_BLOCK, udata, &resp->sq);
	if (ret)
		return ret;
	resp->sq_blocks = qp->sq.size;
	resp->sq_max_blocks = blocks;
	weft_ring_need_doorbell(&qp->sq, true);
	if (!weft_qp_owns_rq(qp))
		return 0;
	ret = weft_rq_create(&qp->own_rq, qp->cap.max_recv_wr,
			     qp->cap.max_recv_sge, udata, &resp->rq);
	if (ret) {
		weft_ring_destroy(&qp->sq);
		return ret;
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
	int ret;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (!qp_caps_ok(dev, &attr->cap) || !attr->send_cq || !attr->recv_cq)
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
	qp->acc.dev = dev;
	qp->acc.pd = ib->pd;
	qp->acc.rights = WEFT_ACCESS_REMOTE;
	qp->acc.kernel = !udata;
	if (udata) {
		qp->owner = &rdma_udata_to_drv_context(udata, struct weft_ucontext, ib)->ib;
		qp->net_cookie = current->nsproxy->net_ns->net_cookie;
	}
	qp->rq = attr->srq ? &to_weft_srq(attr->srq)->rq : &qp->own_rq;
	qp->sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->cap = attr->cap;
	if (attr->srq) {
		qp->cap.max_recv_wr = 0;
		qp->cap.max_recv_sge = 0;
	}
	qp->scq = to_weft_cq(attr->send_cq);
	qp->rcq = to_weft_cq(attr->recv_cq);
	ret = qp_make_rings(qp, udata, &resp);
	if (ret)
		goto drop;
	ret = weft_rx_init(qp);
	if (ret)
		goto free_rings;
	weft_stream_init(qp);
	ret = weft_tx_init(qp);
	if (ret)
		goto free_rx;
	/* What iWARP calls Idle: ready to be connected, whatever the owner does before. */
	spin_lock_irq(&qp->lock);
	weft_qp_set_state(qp, IB_QPS_INIT);
	spin_unlock_irq(&qp->lock);
	if (udata) {
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret)
			goto free_tx;
	}
	/* Last: from here on it can be found, and connected, by whoever guesses its number. */
	ret = xa_alloc_cyclic(&dev->qps, &qp->acc.qpn, ib,
			      XA_LIMIT(WEFT_FIRST_QPN, WEFT_LAST_QPN),
			      &dev->next_qpn, GFP_KERNEL);
	if (ret < 0)
		goto free_tx;
	ib->qp_num = qp->acc.qpn;
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
	return ret;
}

static int qp_move(struct weft_qp *qp, enum ib_qp_state to)
{
	int ret = 0;

	switch (to) {
	case IB_QPS_RESET:
		return weft_stream_reset(qp);
	case IB_QPS_ERR:
		weft_stream_error(qp);
		return 0;
	case IB_QPS_SQD:
		return weft_stream_drain(qp);
	case IB_QPS_INIT:
		spin_lock_irq(&qp->lock);
		if (qp->state == IB_QPS_RESET)
			weft_qp_set_state(qp, IB_QPS_INIT);
		else if (qp->state != IB_QPS_INIT)
			ret = -EINVAL;
		spin_unlock_irq(&qp->lock);
		return ret;
	case IB_QPS_RTR:
		/* librdmacm passes through here before it accepts. */
		spin_lock_irq(&qp->lock);
		if (qp->state == IB_QPS_INIT)
			weft_qp_set_state(qp, IB_QPS_RTR);
		else if (qp->state != IB_QPS_RTR)
			ret = -EINVAL;
		spin_unlock_irq(&qp->lock);
		return ret;
	case IB_QPS_RTS:
		/* A connection brings a queue pair here, nobody else. */
		return weft_qp_state(qp) == IB_QPS_RTS ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

/*
 * The rights that a consumer means. rdma_cm speaks for its consumers while it makes a
 * queue pair ready to be connected, and then these three attributes are all that it
 * gives an iWARP queue pair. Who accepts grants reads and writes, since it knows of no
 * atomics; who connects grants 0, since it asks before it knows how the two will be
 * connected. All three are meant. Anybody else means what he says.
 */
static int qp_rights(const struct ib_qp_attr *attr, int mask)
{
	const int both = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	int flags = attr->qp_access_flags;

	if (mask != (IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT) ||
	    (attr->qp_state != IB_QPS_INIT && attr->qp_state != IB_QPS_RTR))
		return flags;
	return !flags || flags == both ? WEFT_ACCESS_REMOTE : flags;
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
 * So ib_modify_qp_is_ok() is not asked, which wants all of that for each step. A step that
 * fails changes nothing.
 *
 * Return: 0; -EINVAL for a step there is not, or another state than the caller
 * believes; -EBUSY for RESET while a connection exists or pages are lent; -EOPNOTSUPP for a change
 * of the capacities, for an alternate path, and for an event when SQD is through: the end of
 * the connection tells.
 */
int weft_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct weft_qp *qp = to_weft_qp(ib);
	int ret;

	if (mask & (~IB_QP_ATTR_STANDARD_BITS | IB_QP_CAP | IB_QP_ALT_PATH))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != weft_qp_state(qp))
		return -EINVAL;
	ret = mask & IB_QP_STATE ? qp_move(qp, attr->qp_state) : 0;
	if (!ret && (mask & IB_QP_ACCESS_FLAGS))
		WRITE_ONCE(qp->acc.rights, qp_rights(attr, mask));
	return ret;
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
	attr->qp_access_flags = READ_ONCE(qp->acc.rights);
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

	xa_erase(&qp->dev->qps, qp->acc.qpn);
	/*
	 * Who found it by its number has a reference when this returns. That includes iw_cm,
	 * which finds it by weft_iw_get_qp() and takes its reference by a call of its own,
	 * with interrupts off between: so no reference of ours could close that gap, and
	 * the call must not return before it. Expedited, since a process that ends destroys
	 * its queue pairs one after the other: thousands, at some 20 ms each.
	 */
	synchronize_rcu_expedited();
	WRITE_ONCE(qp->dying, true);
	weft_stream_error(qp); /* kicks the worker, which sees that */
	weft_qp_put(qp);
	wait_for_completion(&qp->gone);
	weft_stream_end(qp);
	weft_mw_forget(&qp->acc);
	weft_tx_destroy(qp);
	weft_rx_destroy(qp);
	weft_ring_destroy(&qp->sq);
	weft_ring_destroy(&qp->own_rq.ring);
	atomic_dec(&qp->dev->num_qp);
	return 0;
}
