// SPDX-License-Identifier: GPL-2.0
/* Queue pairs, for verbs. */
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/uverbs_ioctl.h>

#include "base/context.h"
#include "base/weft.h"
#include "engine/engine.h"
#include "memory/mr.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "verbs/verbs.h"

/* Other fabrics give lower numbers a special meaning, and programs may rely on that. */
#define WEFT_FIRST_QPN	16
#define WEFT_LAST_QPN	0xffffff

/* Returns true if the capacities are within limits. Those of receives are unused beside an SRQ. */
static bool qp_caps_ok(const struct weft_device *dev, const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	return weft_limit_allows(dev, WEFT_LIMIT_QP_WR, cap->max_send_wr) &&
	       weft_limit_allows(dev, WEFT_LIMIT_SGE, cap->max_send_sge) &&
	       weft_limit_allows(dev, WEFT_LIMIT_INLINE, cap->max_inline_data) &&
	       (attr->srq ||
		(weft_limit_allows(dev, WEFT_LIMIT_QP_WR, cap->max_recv_wr) &&
		 weft_limit_allows(dev, WEFT_LIMIT_SGE, cap->max_recv_sge)));
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

/* Fills in a new queue pair, as far as this needs no allocation. */
static void qp_set(struct weft_qp *qp, const struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	qp->dev = to_weft_device(qp->ib.device);
	spin_lock_init(&qp->lock);
	spin_lock_init(&qp->post_lock);
	qp->acc.dev = qp->dev;
	qp->acc.pd = qp->ib.pd;
	qp->acc.rights = WEFT_ACCESS_REMOTE;
	qp->acc.kernel = !udata;
	if (udata) {
		qp->owner = &rdma_udata_to_drv_context(udata, struct weft_ucontext, ib)->ib;
		qp->net_cookie = current->nsproxy->net_ns->net_cookie;
	}
	qp->rq = &qp->own_rq;
	qp->sq_sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->cap = attr->cap;
	if (attr->srq) {
		qp->rq = &to_weft_srq(attr->srq)->rq;
		qp->cap.max_recv_wr = 0;
		qp->cap.max_recv_sge = 0;
	}
	qp->scq = to_weft_cq(attr->send_cq);
}

/*
 * Creates a queue pair, and puts the capacities that are granted into @attr. Without @udata it is a
 * kernel consumer's. Returns -EOPNOTSUPP for anything but a plain RC queue pair; -EINVAL for a
 * capacity beyond the device's limit; -ENOMEM, also beyond the limit on queue pairs.
 */
int weft_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_create_qp_resp resp = {};
	struct weft_qp *qp = to_weft_qp(ib);
	int ret;

	if (attr->qp_type != IB_QPT_RC || attr->create_flags)
		return -EOPNOTSUPP;
	if (!qp_caps_ok(dev, attr) || !attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (!weft_limit_count(dev, WEFT_LIMIT_QP, &dev->num_qp))
		return -ENOMEM;
	qp_set(qp, attr, udata);
	ret = -ENOMEM;
	qp->entry = kzalloc(sizeof(*qp->entry), GFP_KERNEL_ACCOUNT);
	if (!qp->entry)
		goto drop;
	qp->entry->ib = ib;
	kref_init(&qp->entry->refs);
	init_completion(&qp->entry->gone);
	ret = qp_make_rings(qp, udata, &resp);
	if (ret)
		goto free_entry;
	ret = weft_engine_init(qp, attr);
	if (ret)
		goto free_rings;
	/* iWARP's Idle: its owner can connect it without a further step. */
	spin_lock_irq(&qp->lock);
	weft_qp_set_state(qp, IB_QPS_INIT);
	spin_unlock_irq(&qp->lock);
	if (udata) {
		ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret)
			goto free_engine;
	}
	/* Last, because from here on others can find it by its number, and connect it. */
	ret = xa_alloc_cyclic(&dev->qps, &qp->acc.qpn, qp->entry,
			      XA_LIMIT(WEFT_FIRST_QPN, WEFT_LAST_QPN), &dev->next_qpn, GFP_KERNEL);
	if (ret < 0)
		goto free_engine;
	ib->qp_num = qp->acc.qpn;
	attr->cap = qp->cap;
	return 0;

free_engine:
	weft_engine_destroy(qp);
free_rings:
	weft_ring_destroy(&qp->sq);
	weft_ring_destroy(&qp->own_rq.ring);
free_entry:
	kfree(qp->entry);
drop:
	atomic_dec(&dev->num_qp);
	return ret;
}

static int qp_move(struct weft_qp *qp, enum ib_qp_state to)
{
	enum ib_qp_state from;
	int ret = 0;

	switch (to) {
	case IB_QPS_RESET:
		return weft_engine_reset(qp);
	case IB_QPS_ERR:
		weft_engine_error(qp);
		return 0;
	case IB_QPS_SQD:
		return weft_engine_drain(qp);
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		/* librdmacm passes through RTR before it accepts. */
		from = to == IB_QPS_INIT ? IB_QPS_RESET : IB_QPS_INIT;
		spin_lock_irq(&qp->lock);
		if (qp->state == from)
			weft_qp_set_state(qp, to);
		else if (qp->state != to)
			ret = -EINVAL;
		spin_unlock_irq(&qp->lock);
		return ret;
	case IB_QPS_RTS:
		/* Only a connection moves a queue pair here. */
		return weft_qp_state(qp) == IB_QPS_RTS ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

/*
 * Changes a queue pair. Only a connection moves it to RTS; SQD ends a connection gracefully; ERR
 * and RESET are possible from every state. New rights of the peer apply from its next request on;
 * RESET restores the first ones. A step that fails changes nothing. Attributes that InfiniBand
 * negotiates by hand (addresses, sequence numbers, timers, read depths) have no effect, because the
 * connection settles them. ib_modify_qp_is_ok() wants all of them, so it is not used.
 *
 * While rdma_cm prepares an iWARP queue pair, it sets exactly three attributes, with rights of its
 * own: the accepting side grants reads and writes (rdma_cm knows no atomics there), the connecting
 * side 0 (rdma_cm asks too early). Both mean all three rights. All other consumers mean the rights
 * they set.
 */
int weft_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	const int both = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	int ret, rights = attr->qp_access_flags;
	struct weft_qp *qp = to_weft_qp(ib);
	bool in_use;

	if (mask & (~IB_QP_ATTR_STANDARD_BITS | IB_QP_CAP | IB_QP_ALT_PATH))
		return -EOPNOTSUPP;
	/* The end of the connection already tells of the end of SQD. */
	if ((mask & IB_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify)
		return -EOPNOTSUPP;
	/*
	 * iw_cm_disconnect() has no reference in kernels without contrib/'s patch, and another
	 * thread may be in weft_destroy_qp().
	 */
	rcu_read_lock(); /* the entry is freed before the queue pair */
	in_use = kref_get_unless_zero(&qp->entry->refs);
	rcu_read_unlock();
	if (!in_use)
		return -EINVAL;
	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != weft_qp_state(qp))
		ret = -EINVAL;
	else
		ret = mask & IB_QP_STATE ? qp_move(qp, attr->qp_state) : 0;
	/* rdma_cm prepares the queue pair. */
	if (mask == (IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT) &&
	    (attr->qp_state == IB_QPS_INIT || attr->qp_state == IB_QPS_RTR) &&
	    (!rights || rights == both))
		rights = WEFT_ACCESS_REMOTE;
	if (!ret && (mask & IB_QP_ACCESS_FLAGS))
		WRITE_ONCE(qp->acc.rights, rights);
	weft_qp_put(qp);
	return ret;
}

/*
 * Fills in all attributes. Those that only InfiniBand has (the peer's numbers and addresses,
 * sequence numbers, timers) are zero. Read depths are the connection's, once there is one.
 */
int weft_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init)
{
	struct weft_qp *qp = to_weft_qp(ib);

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = weft_qp_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mtu = ib_mtu_int_to_enum(READ_ONCE(qp->dev->netdev->mtu));
	attr->qp_access_flags = READ_ONCE(qp->acc.rights);
	spin_lock_irq(&qp->lock);
	attr->max_rd_atomic = qp->agreed.ord;
	attr->max_dest_rd_atomic = qp->agreed.ird;
	spin_unlock_irq(&qp->lock);
	attr->port_num = 1;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    READ_ONCE(qp->inflight.head) != READ_ONCE(qp->inflight.tail);
	attr->cap = qp->cap;
	init->event_handler = ib->event_handler;
	init->qp_context = ib->qp_context;
	init->srq = ib->srq;
	init->qp_type = IB_QPT_RC;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->sq_sig_type = qp->sq_sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->cap = qp->cap;
	init->port_num = 1;
	return 0;
}

/* Ends the connection, waits for the last reference, and destroys the queue pair. May sleep. */
int weft_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct weft_qp *qp = to_weft_qp(ib);

	xa_erase(&qp->dev->qps, qp->acc.qpn);
	spin_lock_irq(&qp->lock);
	WRITE_ONCE(qp->dying, true); /* no counter is bound to it from here on */
	spin_unlock_irq(&qp->lock);
	weft_engine_error(qp); /* here or in the worker, which sees dying */
	weft_qp_put(qp);
	wait_for_completion(&qp->entry->gone);
	weft_engine_end(qp);
	weft_tally_leave(qp); /* another thread may have bound it after the core unbound it */
	weft_mw_forget(&qp->acc);
	weft_engine_destroy(qp);
	weft_ring_destroy(&qp->sq);
	weft_ring_destroy(&qp->own_rq.ring);
	kfree_rcu(qp->entry, rcu);
	atomic_dec(&qp->dev->num_qp);
	return 0;
}
