// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: how a process says that it posted to a ring whose kernel sleeps.
 * They are methods of our own of the core's queue pairs and shared receive
 * queues, as the core's commands to post allocate room for work requests, which
 * are in the ring already.
 */
#include <rdma/uverbs_ioctl.h>

#include "../device.h"
#include "../rx.h"
#include "../tx.h"
#include "../uapi/weft-abi.h"
#include "doorbell.h"
#include "qp.h"
#include "srq.h"

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

static_assert(WEFT_METHOD_SEND_DOORBELL == 1U << UVERBS_ID_NS_SHIFT);
static_assert(WEFT_METHOD_SRQ_DOORBELL == 1U << UVERBS_ID_NS_SHIFT);
static_assert(WEFT_ATTR_DOORBELL == 1U << UVERBS_ID_NS_SHIFT);

static int UVERBS_HANDLER(WEFT_METHOD_SEND_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	return weft_tx_doorbell(to_weft_qp(uverbs_attr_get_obj(attrs, WEFT_ATTR_DOORBELL)));
}

static int UVERBS_HANDLER(WEFT_METHOD_RECV_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct weft_qp *qp = to_weft_qp(uverbs_attr_get_obj(attrs, WEFT_ATTR_DOORBELL));

	return weft_qp_owns_rq(qp) ? weft_rx_doorbell(qp) : -EINVAL;
}

static int UVERBS_HANDLER(WEFT_METHOD_SRQ_DOORBELL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *srq = uverbs_attr_get_obj(attrs, WEFT_ATTR_DOORBELL);

	weft_rq_wake(&to_weft_srq(srq)->rq);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_SEND_DOORBELL,
			    UVERBS_ATTR_IDR(WEFT_ATTR_DOORBELL, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY));
DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_RECV_DOORBELL,
			    UVERBS_ATTR_IDR(WEFT_ATTR_DOORBELL, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY));
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
