// SPDX-License-Identifier: GPL-2.0
/* User contexts and protection domains. */
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <rdma/uverbs_ioctl.h>

#include "base/context.h"
#include "base/limit.h"
#include "base/weft.h"
#include "conn/lane.h"
#include "uapi/weft-abi.h"
#include "verbs/ucontext.h"

/*
 * Sets up the context of a process that opens the device. Returns 0; -ENOMEM; -EINVAL if the answer
 * has no room, as with a provider of another ABI.
 */
int weft_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct weft_ucontext_resp resp = { .max_inline = WEFT_MAX_INLINE };
	struct weft_ucontext *context = to_weft_ucontext(ib);
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
	weft_lane_put(to_weft_ucontext(ib)->lane);
	mem_cgroup_put(to_weft_ucontext(ib)->memcg);
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
