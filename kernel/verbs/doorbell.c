// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: a process tells the kernel that it posted to a ring that the kernel does not watch.
 * They are methods of our own on the core's queue pairs and shared receive queues, because the
 * core's post commands would allocate the work requests that are in the ring already. A doorbell
 * adds to a message's latency, so it finds its queue pair in the device's own table, which is
 * faster than the core's handle look-up. The look-up's checks are made here: the core keeps context
 * and device for the call, this context made the queue pair, and a reference keeps it.
 */
#include <rdma/uverbs_ioctl.h>

#include "base/weft.h"
#include "engine/engine.h"
#include "queue/srq.h"
#include "uapi/weft-abi.h"
#include "verbs/doorbell.h"

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

static_assert(WEFT_METHOD_SEND_DOORBELL == 1U << UVERBS_ID_NS_SHIFT);
static_assert(WEFT_METHOD_SRQ_DOORBELL == 1U << UVERBS_ID_NS_SHIFT);
static_assert(WEFT_ATTR_DOORBELL == 1U << UVERBS_ID_NS_SHIFT);

/* Returns the caller's queue pair with a reference, -ENOENT, or -EIO if the device is gone. */
static struct weft_qp *doorbell_get_qp(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	struct weft_qp *qp;
	u64 qpn;
	int ret;

	if (IS_ERR(context))
		return ERR_CAST(context);
	ret = uverbs_copy_from(&qpn, attrs, WEFT_ATTR_DOORBELL);
	if (ret)
		return ERR_PTR(ret);
	qp = weft_qp_get_by_num(to_weft_device(context->device), qpn);
	if (!qp)
		return ERR_PTR(-ENOENT);
	if (qp->owner != context) {
		weft_qp_put(qp);
		return ERR_PTR(-ENOENT);
	}
	return qp;
}

static int UVERBS_HANDLER(WEFT_METHOD_SEND_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct weft_qp *qp = doorbell_get_qp(attrs);
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = weft_engine_doorbell(qp);
	weft_qp_put(qp);
	return ret;
}

static int UVERBS_HANDLER(WEFT_METHOD_RECV_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct weft_qp *qp = doorbell_get_qp(attrs);
	int ret;

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = weft_qp_owns_rq(qp) ? weft_engine_recv_doorbell(qp) : -EINVAL;
	weft_qp_put(qp);
	return ret;
}

static int UVERBS_HANDLER(WEFT_METHOD_SRQ_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *srq = uverbs_attr_get_obj(attrs, WEFT_ATTR_DOORBELL);

	weft_rq_wake(&to_weft_srq(srq)->rq);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_SEND_DOORBELL,
			    UVERBS_ATTR_PTR_IN(WEFT_ATTR_DOORBELL, UVERBS_ATTR_TYPE(u64),
					       UA_MANDATORY));
DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_RECV_DOORBELL,
			    UVERBS_ATTR_PTR_IN(WEFT_ATTR_DOORBELL, UVERBS_ATTR_TYPE(u64),
					       UA_MANDATORY));
DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_SRQ_DOORBELL,
			    UVERBS_ATTR_IDR(WEFT_ATTR_DOORBELL, UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

ADD_UVERBS_METHODS(weft_qp_methods, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(WEFT_METHOD_SEND_DOORBELL),
		   &UVERBS_METHOD(WEFT_METHOD_RECV_DOORBELL));
ADD_UVERBS_METHODS(weft_srq_methods, UVERBS_OBJECT_SRQ,
		   &UVERBS_METHOD(WEFT_METHOD_SRQ_DOORBELL));

const struct uapi_definition weft_doorbells[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &weft_qp_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &weft_srq_methods),
	{},
};
