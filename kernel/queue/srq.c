// SPDX-License-Identifier: GPL-2.0
/* Shared receive queues: their life, and their events. */
#include <rdma/uverbs_ioctl.h>

#include "base/limit.h"
#include "base/weft.h"
#include "queue/srq.h"

static void srq_event(struct weft_srq *srq, int type)
{
	struct ib_event event = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
		.event = type,
	};

	if (srq->ib.event_handler)
		srq->ib.event_handler(&event, srq->ib.srq_context);
}

/* Raises one event for each limit that was set, and one ever for a ring that makes no sense. */
void weft_srq_taken(struct weft_srq *srq, int taken)
{
	unsigned long flags;
	int event = -1;
	int left;

	if (taken >= 0 && !READ_ONCE(srq->limit))
		return;
	spin_lock_irqsave(&srq->rq.lock, flags);
	left = weft_ring_pending(&srq->rq.ring);
	if (taken < 0) {
		if (!srq->broken)
			event = IB_EVENT_SRQ_ERR;
		srq->broken = true;
	} else if (left >= 0 && (u32)left < srq->limit) {
		WRITE_ONCE(srq->limit, 0);
		event = IB_EVENT_SRQ_LIMIT_REACHED;
	}
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	if (event >= 0)
		srq_event(srq, event);
}

int weft_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata)
{
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_create_srq_resp resp = {};
	struct weft_srq *srq = to_weft_srq(ib);
	int ret;

	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr ||
	    !weft_limit_allows(dev, WEFT_LIMIT_SRQ_WR, attr->attr.max_wr) ||
	    !weft_limit_allows(dev, WEFT_LIMIT_SGE, attr->attr.max_sge))
		return -EINVAL;
	if (udata && udata->outlen < sizeof(resp))
		return -EINVAL;
	if (!weft_limit_count(dev, WEFT_LIMIT_SRQ, &dev->num_srq))
		return -ENOMEM;
	ret = weft_rq_create(&srq->rq, attr->attr.max_wr, attr->attr.max_sge,
			     udata, &resp.ring);
	if (ret)
		goto drop;
	attr->attr.max_wr = srq->rq.ring.size;
	if (!udata)
		return 0;
	resp.entries = srq->rq.ring.size;
	resp.max_sge = srq->rq.max_sge;
	resp.srq_num = atomic_inc_return(&dev->next_srq) & 0xffffff;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!ret)
		return 0;
	weft_ring_destroy(&srq->rq.ring);
drop:
	atomic_dec(&dev->num_srq);
	return ret;
}

/*
 * The limit is checked when a receive is taken, as in rxe. So a program may set it before its first
 * post, and a limit above the number of receives raises its event when the next one is taken.
 */
int weft_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct weft_srq *srq = to_weft_srq(ib);

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->rq.ring.size)
		return -EINVAL;
	spin_lock_irq(&srq->rq.lock);
	WRITE_ONCE(srq->limit, attr->srq_limit);
	spin_unlock_irq(&srq->rq.lock);
	return 0;
}

/* The limit is 0 again after it was reached. */
int weft_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct weft_srq *srq = to_weft_srq(ib);

	attr->max_wr = srq->rq.ring.size;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

int weft_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	weft_ring_destroy(&to_weft_srq(ib)->rq.ring);
	atomic_dec(&to_weft_device(ib->device)->num_srq);
	return 0;
}
