// SPDX-License-Identifier: GPL-2.0
/* Memory regions as verbs: registered, pinned, changed, deregistered. */
#include <linux/dma-buf.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "base/compat_verbs.h"
#include "base/weft.h"
#include "memory/mr.h"

/* weft_mr_new(), counted against the device's limit until weft_mr_destroy(). */
struct weft_mr *weft_mr_create(struct ib_pd *pd, enum weft_mr_kind kind)
{
	struct weft_device *dev = to_weft_device(pd->device);
	struct weft_mr *mr;

	if (!weft_limit_count(dev, WEFT_LIMIT_MR, &dev->num_mr))
		return ERR_PTR(-ENOMEM);
	mr = weft_mr_new(pd, kind);
	if (mr)
		return mr;
	atomic_dec(&dev->num_mr);
	return ERR_PTR(-ENOMEM);
}

/* Frees a region that is not in the key table and not counted. May sleep. */
void weft_mr_free(struct weft_mr *mr)
{
	weft_blocks_free(&mr->blocks);
	kvfree(mr->next);
	ib_umem_release(mr->umem);
	weft_dmabuf_put(mr->dmabuf);
	kfree_rcu(mr, rcu);
}

void weft_mr_destroy(struct weft_mr *mr)
{
	atomic_dec(&mr->dev->num_mr);
	weft_mr_free(mr);
}

/* Enters a new region in the key table, or destroys it if @ret or this is an error. */
struct ib_mr *weft_mr_finish(struct weft_mr *mr, int ret)
{
	if (!ret)
		ret = weft_mr_publish(mr);
	if (!ret)
		return &mr->ib;
	weft_mr_destroy(mr);
	return ERR_PTR(ret);
}

/* Makes a region of all kernel memory, for kernel consumers only. */
struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access)
{
	struct weft_mr *mr = weft_mr_create(pd, WEFT_MR_REGION);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->access = access;
	mr->all_memory = true;
	mr->length = U64_MAX;
	return weft_mr_finish(mr, 0);
}

/* Pins memory of the calling process. After an error too, weft_mr_free() unpins it. */
static int region_pin(struct weft_mr *mr, u64 start)
{
	struct ib_umem *umem;

	if (!mr->length)
		return 0;
	umem = ib_umem_get_va(mr->pd->device, start, mr->length, mr->access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mr->umem = umem;
	mr->pages = ib_umem_num_pages(mr->umem);
	return weft_blocks_from_sg(&mr->blocks, &mr->umem->sgt_append.sgt,
				   ib_umem_offset(mr->umem), mr->length);
}

/* Makes a region without memory. @dmah: hints for the device's DMA, which has none. */
static struct weft_mr *region_new(struct ib_pd *pd, u64 length, u64 iova, int access,
				  const struct ib_dmah *dmah)
{
	struct weft_mr *mr;
	u64 end;

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	if (access & IB_ZERO_BASED)
		iova = 0;
	if (length && check_add_overflow(iova, length - 1, &end))
		return ERR_PTR(-EINVAL);
	mr = weft_mr_create(pd, WEFT_MR_REGION);
	if (IS_ERR(mr))
		return mr;
	mr->access = access;
	mr->iova = iova;
	mr->length = length;
	return mr;
}

/*
 * Registers user memory, whose first byte @iova names in work requests. The core has checked the
 * rights against each other; pinning checks the process's own rights and RLIMIT_MEMLOCK. A
 * zero-based region starts at address 0 for local and remote work requests alike.
 */
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       struct ib_dmah *dmah, struct ib_udata *udata)
{
	struct weft_mr *mr = region_new(pd, length, iova, access, dmah);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return weft_mr_finish(mr, region_pin(mr, start));
}

/* Ends a region as weft_mr_withdraw() says, or returns -EBUSY while windows are bound to it. */
int weft_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct weft_mr *mr = to_weft_mr(ib);

	if (atomic_cmpxchg(&mr->windows, 0, -1))
		return -EBUSY;
	weft_mr_withdraw(mr);
	weft_mr_destroy(mr);
	return 0;
}

struct ib_mr *weft_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				      int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs)
{
	struct weft_dmabuf *dmabuf;
	struct dma_buf *buf;
	struct weft_mr *mr;

	if (!length)
		return ERR_PTR(-EINVAL);
	mr = region_new(pd, length, iova, access, dmah);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	buf = dma_buf_get(fd);
	if (IS_ERR(buf))
		return weft_mr_finish(mr, PTR_ERR(buf));
	dmabuf = weft_dmabuf_get(buf, offset, length, access, &mr->blocks);
	if (IS_ERR(dmabuf))
		return weft_mr_finish(mr, PTR_ERR(dmabuf));
	mr->dmabuf = dmabuf;
	return weft_mr_finish(mr, 0);
}

/* --- changes to a region that exists: its memory, its protection domain, its rights --- */

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
struct ib_mr *weft_rereg_user_mr(struct ib_mr *ib, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *pd, struct ib_udata *udata)
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
	} else if (mr->umem && !mr->umem->writable && ib_access_writable(next->access)) {
		/* Pages that were pinned for reading have to be pinned again for writing. */
		if (mr->umem->owning_mm != current->mm)
			goto free;
		memory = true;
		start = mr->umem->address;
		next->iova = mr->iova;
		next->length = mr->length;
	}
	ret = memory ? region_pin(next, start) : 0;
	if (!ret)
		ret = rereg_swap(mr, next, memory);
free:
	weft_mr_free(next); /* after a swap, with the old memory */
out:
	atomic_set(&mr->windows, 0);
	return ERR_PTR(ret);
}
