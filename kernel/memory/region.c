// SPDX-License-Identifier: GPL-2.0
/* Memory regions as verbs: registered, pinned, deregistered. */
#include <linux/dma-buf.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "base/compat/verbs.h"
#include "base/limit.h"
#include "base/weft.h"
#include "memory/dmabuf.h"
#include "memory/mr.h"

/**
 * weft_mr_create() - weft_mr_new(), counted against the device's limit
 * @pd: its protection domain
 * @kind: WEFT_MR_REGION or WEFT_MR_FAST
 *
 * Context: process, may sleep.
 * Return: the region, to be given to weft_mr_destroy(), or an error pointer:
 * -ENOMEM, past the device's limit too.
 */
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

/**
 * weft_mr_free() - free a region that is not counted
 * @mr: not in the key table
 *
 * Context: process, may sleep.
 */
void weft_mr_free(struct weft_mr *mr)
{
	weft_blocks_free(&mr->blocks);
	kvfree(mr->next);
	ib_umem_release(mr->umem);
	weft_dmabuf_put(mr->dmabuf);
	kfree_rcu(mr, rcu);
}

/**
 * weft_mr_destroy() - free a region, and count one less
 * @mr: not in the key table, or no longer
 *
 * Context: process, may sleep.
 */
void weft_mr_destroy(struct weft_mr *mr)
{
	atomic_dec(&mr->dev->num_mr);
	weft_mr_free(mr);
}

/**
 * weft_get_dma_mr() - a region of all kernel memory
 * @pd: its protection domain
 * @access: rights; kernel consumers only
 *
 * Context: process, may sleep.
 * Return: the region or an error pointer.
 */
struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access)
{
	struct weft_mr *mr = weft_mr_create(pd, WEFT_MR_REGION);
	int ret;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->access = access;
	mr->all_memory = true;
	mr->length = U64_MAX;
	ret = weft_mr_publish(mr);
	if (ret) {
		weft_mr_destroy(mr);
		return ERR_PTR(ret);
	}
	return &mr->ib;
}

/**
 * weft_mr_pin() - pin a region's memory in the calling process
 * @mr: not in the key table; its rights and length are set
 * @start: first byte
 *
 * An empty region pins nothing.
 *
 * Context: process, may sleep.
 * Return: 0 or an error of weft_reg_user_mr(). weft_mr_destroy() unpins in both cases.
 */
int weft_mr_pin(struct weft_mr *mr, u64 start)
{
	if (!mr->length)
		return 0;
	mr->umem = ib_umem_get_va(mr->pd->device, start, mr->length, mr->access);
	if (IS_ERR(mr->umem)) {
		int ret = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return ret;
	}
	mr->pages = ib_umem_num_pages(mr->umem);
	return weft_blocks_from_sg(&mr->blocks, &mr->umem->sgt_append.sgt,
				   ib_umem_offset(mr->umem), mr->length);
}

/* A region whose memory is yet to be found, or an error pointer as of weft_reg_user_mr(). */
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

/**
 * weft_reg_user_mr() - register user memory
 * @pd: its protection domain
 * @start: first byte in the process
 * @length: bytes
 * @iova: the address that work requests use for the first byte
 * @access: rights
 * @dmah: hints for the device's DMA, which has none: NULL, or it is refused
 * @udata: unused
 *
 * The core has checked the rights against each other; pinning checks the
 * process's own rights and RLIMIT_MEMLOCK. A zero-based region starts at
 * address 0 for local and remote work requests alike.
 *
 * Context: process, may sleep.
 * Return: the region, or an error pointer: -ENOMEM past RLIMIT_MEMLOCK or the
 * device's limit, -EINVAL for a range that wraps around, -EOPNOTSUPP for hints.
 */
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	struct weft_mr *mr = region_new(pd, length, iova, access, dmah);
	int ret;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	ret = weft_mr_pin(mr, start);
	if (!ret)
		ret = weft_mr_publish(mr);
	if (!ret)
		return &mr->ib;
	weft_mr_destroy(mr);
	return ERR_PTR(ret);
}

/**
 * weft_dereg_mr() - end a region
 * @ib: the region
 * @udata: unused
 *
 * When this returns, nothing reads or writes the memory any more, except TCP, which may
 * still hold lent pages of work requests that are not complete.
 *
 * Context: process, sleeps; see weft_mr_withdraw().
 * Return: 0, or -EBUSY while windows are bound to it.
 */
int weft_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct weft_mr *mr = to_weft_mr(ib);

	if (atomic_cmpxchg(&mr->windows, 0, -1))
		return -EBUSY;
	weft_mr_withdraw(mr);
	weft_mr_destroy(mr);
	return 0;
}

/**
 * weft_reg_user_mr_dmabuf() - register a part of a DMA buffer
 * @pd: its protection domain
 * @offset: first byte in the buffer
 * @length: bytes
 * @iova: the address that work requests use for the first byte
 * @fd: names the buffer
 * @access: rights
 * @dmah: as for weft_reg_user_mr()
 * @attrs: unused
 *
 * Context: process, may sleep.
 * Return: the region, or an error pointer: -EOPNOTSUPP for hints; -EINVAL for a range that
 * wraps around or is empty, or an @fd that is no DMA buffer; -EBADF; and as
 * weft_dmabuf_get().
 */
struct ib_mr *weft_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				      u64 iova, int fd, int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs)
{
	struct dma_buf *buf;
	struct weft_mr *mr;
	int ret;

	if (!length)
		return ERR_PTR(-EINVAL);
	mr = region_new(pd, length, iova, access, dmah);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	buf = dma_buf_get(fd);
	ret = PTR_ERR_OR_ZERO(buf);
	if (ret)
		goto destroy;
	mr->dmabuf = weft_dmabuf_get(buf, offset, length, access, &mr->blocks);
	ret = PTR_ERR_OR_ZERO(mr->dmabuf);
	if (ret)
		mr->dmabuf = NULL;
	else
		ret = weft_mr_publish(mr);
	if (!ret)
		return &mr->ib;
destroy:
	weft_mr_destroy(mr);
	return ERR_PTR(ret);
}
