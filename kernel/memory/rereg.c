// SPDX-License-Identifier: GPL-2.0
/* Changes to a region that exists: its memory, its protection domain, its rights. */
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <rdma/ib_umem.h>

#include "base/weft.h"
#include "memory/dmabuf.h"
#include "memory/mr.h"

/* Must pages that were pinned for reading be pinned again for writing? */
static bool rereg_must_pin(const struct weft_mr *mr, int access)
{
	return mr->umem && !mr->umem->writable && ib_access_writable(access);
}

/* Moves the fields of @next to @mr, and gives @mr a key that differs from its last. Returns 0. */
static int rereg_swap(struct weft_mr *mr, struct weft_mr *next, bool memory)
{
	u8 step = 1 + get_random_u32_below(255);

	weft_mr_hide(mr);
	mr->pd = next->pd;
	mr->access = next->access;
	if (memory) {
		mr->iova = next->iova;
		mr->length = next->length;
		swap(mr->blocks, next->blocks);
		swap(mr->umem, next->umem);
		WRITE_ONCE(mr->pages, next->pages);
	}
	return weft_mr_show(mr, (mr->stag & ~0xffU) | ((mr->stag + step) & 0xff));
}

/*
 * Changes the attributes of a region that @flags (enum ib_mr_rereg_flags) names. The region gets a
 * new key, and no access by the old one is under way when this returns. New memory is pinned before
 * the old is released, so that a failure changes nothing. Returns NULL, or an error pointer: -EBUSY
 * while windows are bound to it; -EOPNOTSUPP for other memory of a DMA buffer's region; -EINVAL for
 * a range that wraps around, or for the right to write memory of another process.
 */
struct ib_mr *weft_rereg_user_mr(struct ib_mr *ib, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata)
{
	struct weft_mr *mr = to_weft_mr(ib), *next;
	bool memory = flags & IB_MR_REREG_TRANS;
	int ret;
	u64 end;

	if (memory && mr->dmabuf)
		return ERR_PTR(-EOPNOTSUPP);
	if (mr->dmabuf && (flags & IB_MR_REREG_ACCESS)) {
		ret = weft_dmabuf_check_access(mr->dmabuf, access);
		if (ret)
			return ERR_PTR(ret);
	}
	if (atomic_cmpxchg(&mr->windows, 0, -1))
		return ERR_PTR(-EBUSY);
	/* Not counted against the device's limit, because @next ends with this call. */
	next = weft_mr_new(flags & IB_MR_REREG_PD ? pd : mr->pd, WEFT_MR_REGION);
	if (!next) {
		ret = -ENOMEM;
		goto out;
	}
	next->access = flags & IB_MR_REREG_ACCESS ? access : mr->access;
	ret = -EINVAL;
	if (memory) {
		next->iova = next->access & IB_ZERO_BASED ? 0 : iova;
		next->length = length;
		if (length && check_add_overflow(next->iova, length - 1, &end))
			goto free;
	} else if (rereg_must_pin(mr, next->access)) {
		if (mr->umem->owning_mm != current->mm)
			goto free;
		memory = true;
		start = mr->umem->address;
		next->iova = mr->iova;
		next->length = mr->length;
	}
	ret = memory ? weft_mr_pin(next, start) : 0;
	if (!ret)
		ret = rereg_swap(mr, next, memory);
free:
	weft_mr_free(next); /* after a swap, with the old memory */
out:
	atomic_set(&mr->windows, 0);
	return ERR_PTR(ret);
}
