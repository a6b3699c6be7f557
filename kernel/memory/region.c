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

/* Makes a region of all kernel memory, for kernel consumers only. */
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

/* Pins memory of the calling process. After an error too, weft_mr_free() unpins it. */
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
