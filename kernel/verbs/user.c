// SPDX-License-Identifier: GPL-2.0
/* What a process has of the device: its context, protection domains, and doorbells. */
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <rdma/uverbs_ioctl.h>

#include "base/context.h"
#include "base/weft.h"
#include "conn/lane.h"
#include "engine/engine.h"
#include "queue/rq.h"
#include "uapi/weft-abi.h"
#include "verbs/verbs.h"

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

/*
 * Sets up the context of a process that opens the device. Returns 0; -ENOMEM; -EINVAL if the answer
 * has no room, as with a provider of another ABI.
 */
int weft_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct weft_ucontext_resp resp = { .max_inline = WEFT_MAX_INLINE };
	struct weft_ucontext *context = container_of(ib, struct weft_ucontext, ib);
	int ret;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret)
		return ret;
	context->lane = weft_lane_new();
	if (!context->lane)
		return -ENOMEM;
	context->memcg = get_mem_cgroup_from_mm(current->mm);
	return 0;
}

/* Ends the context of a process. The core has destroyed its objects before. */
void weft_dealloc_ucontext(struct ib_ucontext *ib)
{
	struct weft_ucontext *context = container_of(ib, struct weft_ucontext, ib);

	weft_lane_put(context->lane);
	mem_cgroup_put(context->memcg);
}

/*
 * The device goes while processes have it open. There is nothing to do, because ring pages stay
 * with the processes that map them. But without this operation the core would not let the module be
 * removed under live processes.
 */
void weft_disassociate_ucontext(struct ib_ucontext *ib)
{
}

/* Creates a protection domain. Returns 0, or -ENOMEM beyond the device's limit. */
int weft_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct weft_device *dev = to_weft_device(ib->device);

	if (!weft_limit_count(dev, WEFT_LIMIT_PD, &dev->num_pd))
		return -ENOMEM;
	return 0;
}

/* Ends a protection domain, which nothing uses any more. */
int weft_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	atomic_dec(&to_weft_device(ib->device)->num_pd);
	return 0;
}

/*
 * --- doorbells: a process tells the kernel that it posted to a ring which the kernel does not
 * watch ---
 *
 * They are methods of our own on the core's queue pairs and shared receive queues, because the
 * core's post commands would allocate the work requests that are in the ring already. A doorbell
 * adds to a message's latency, so it finds its queue pair in the device's own table, which is
 * faster than the core's handle look-up. The look-up's checks are made here: the core keeps context
 * and device for the call, this context made the queue pair, and a reference keeps it.
 */

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

ADD_UVERBS_METHODS(weft_qp_methods, UVERBS_OBJECT_QP, &UVERBS_METHOD(WEFT_METHOD_SEND_DOORBELL),
		   &UVERBS_METHOD(WEFT_METHOD_RECV_DOORBELL));
ADD_UVERBS_METHODS(weft_srq_methods, UVERBS_OBJECT_SRQ, &UVERBS_METHOD(WEFT_METHOD_SRQ_DOORBELL));

const struct uapi_definition weft_doorbells[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &weft_qp_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &weft_srq_methods),
	{},
};
