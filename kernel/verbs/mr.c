// SPDX-License-Identifier: GPL-2.0
/* Memory regions: their life, and the way from an address to bytes. */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "../compat.h"
#include "../device.h"
#include "mr.h"

static void weft_mr_release(struct kref *kref)
{
	struct weft_mr *mr = container_of(kref, struct weft_mr, refs);

	complete(&mr->gone);
}

/* Drops a reference taken by weft_mr_get(). Any context. */
void weft_mr_put(struct weft_mr *mr)
{
	kref_put(&mr->refs, weft_mr_release);
}

/**
 * weft_mr_get() - find a region by key and hold it for one access
 * @dev: the device
 * @pd: protection domain of the accessing queue pair
 * @stag: the key
 * @addr: first address to be accessed
 * @len: bytes to be accessed
 * @access: rights needed, enum ib_access_flags
 * @err: why not; written on failure
 *
 * Any context. The reference keeps deregistration waiting: hold it no longer
 * than it takes to move the bytes, and do not sleep meanwhile.
 *
 * Return: the region with a reference, or NULL.
 */
struct weft_mr *weft_mr_get(struct weft_device *dev, struct ib_pd *pd, u32 stag,
			    u64 addr, u64 len, int access,
			    enum weft_key_error *err)
{
	struct weft_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	if (mr && !kref_get_unless_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	if (!mr) {
		*err = WEFT_KEY_UNKNOWN;
		return NULL;
	}
	*err = weft_mr_check(mr, stag, pd, addr, len, access);
	if (*err == WEFT_KEY_OK)
		return mr;
	weft_mr_put(mr);
	return NULL;
}

/* The bytes at @addr that lie in one page. */
static u32 weft_mr_piece(const struct weft_mr *mr, u64 addr, u32 len,
			 struct page **page, u32 *offset)
{
	u64 pos = addr - mr->iova + mr->first_offset;

	*page = mr->pages[pos >> PAGE_SHIFT];
	*offset = offset_in_page(pos);
	return min_t(u32, len, PAGE_SIZE - *offset);
}

/**
 * weft_mr_write() - place bytes in a region
 * @mr: held and checked by weft_mr_get() for this very range
 * @addr: first address
 * @src: the bytes
 * @len: how many
 *
 * Any context.
 */
void weft_mr_write(struct weft_mr *mr, u64 addr, const void *src, u32 len)
{
	if (mr->all_memory) {
		memcpy((void *)(uintptr_t)addr, src, len);
		return;
	}
	while (len) {
		struct page *page;
		u32 offset, n;
		void *to;

		n = weft_mr_piece(mr, addr, len, &page, &offset);
		to = kmap_local_page(page);
		memcpy(to + offset, src, n);
		kunmap_local(to);
		addr += n;
		src += n;
		len -= n;
	}
}

/**
 * weft_mr_read() - fetch bytes from a region
 * @mr: held and checked by weft_mr_get() for this very range
 * @addr: first address
 * @dst: where they go
 * @len: how many
 *
 * Any context.
 */
void weft_mr_read(struct weft_mr *mr, u64 addr, void *dst, u32 len)
{
	if (mr->all_memory) {
		memcpy(dst, (void *)(uintptr_t)addr, len);
		return;
	}
	while (len) {
		struct page *page;
		u32 offset, n;
		void *from;

		n = weft_mr_piece(mr, addr, len, &page, &offset);
		from = kmap_local_page(page);
		memcpy(dst, from + offset, n);
		kunmap_local(from);
		addr += n;
		dst += n;
		len -= n;
	}
}

/* Enters a region in the key table under a key that cannot be guessed. */
static int weft_mr_publish(struct weft_mr *mr)
{
	struct weft_device *dev = mr->dev;
	u32 index;
	int rv;

	kref_init(&mr->refs);
	init_completion(&mr->gone);
	/* Reserve the index first: the region becomes visible with its whole key. */
	rv = xa_alloc_cyclic(&dev->mrs, &index, NULL,
			     XA_LIMIT(1, WEFT_MAX_MR - 1), &dev->next_mr,
			     GFP_KERNEL);
	if (rv < 0)
		return rv == -EBUSY ? -ENOMEM : rv;
	mr->stag = index << 8 | get_random_u8();
	mr->ib.lkey = mr->stag;
	mr->ib.rkey = mr->stag;
	rv = xa_err(xa_store(&dev->mrs, index, mr, GFP_KERNEL));
	if (rv)
		xa_erase(&dev->mrs, index);
	return rv;
}

static struct weft_mr *weft_mr_new(struct ib_pd *pd, int access)
{
	struct weft_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return NULL;
	mr->dev = to_weft_device(pd->device);
	mr->pd = pd;
	mr->access = access;
	return mr;
}

/**
 * weft_get_dma_mr() - a region of all kernel memory
 * @pd: its protection domain
 * @access: rights; kernel consumers only
 *
 * Return: the region or an error pointer.
 */
struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access)
{
	struct weft_mr *mr = weft_mr_new(pd, access);
	int rv;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->all_memory = true;
	rv = weft_mr_publish(mr);
	if (rv) {
		kfree(mr);
		return ERR_PTR(rv);
	}
	return &mr->ib;
}

/* Lists the pages of a pinned region in order. */
static int weft_mr_list_pages(struct weft_mr *mr)
{
	size_t n = ib_umem_num_pages(mr->umem);
	struct sg_page_iter it;
	size_t i = 0;

	mr->pages = kvmalloc_array(n, sizeof(*mr->pages), GFP_KERNEL);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &it, 0) {
		if (WARN_ON_ONCE(i >= n))
			return -EINVAL;
		mr->pages[i++] = sg_page_iter_page(&it);
	}
	return i == n ? 0 : -EINVAL;
}

/**
 * weft_reg_user_mr() - register user memory
 * @pd: its protection domain
 * @start: first byte in the process
 * @length: bytes
 * @iova: the address that work requests use for the first byte
 * @access: rights
 * @udata: unused
 *
 * The core has checked the rights against each other; pinning checks the
 * process's own rights and RLIMIT_MEMLOCK.
 *
 * Return: the region, or an error pointer: -ENOMEM past RLIMIT_MEMLOCK or the
 * device's limit, -EINVAL for a range that wraps around.
 */
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			       u64 iova, int access, struct ib_udata *udata)
{
	struct weft_mr *mr;
	u64 end;
	int rv;

	if (length && check_add_overflow(iova, length - 1, &end))
		return ERR_PTR(-EINVAL);
	mr = weft_mr_new(pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->iova = iova;
	mr->length = length;
	mr->first_offset = offset_in_page(start);
	mr->umem = ib_umem_get(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		rv = PTR_ERR(mr->umem);
		goto free_mr;
	}
	rv = weft_mr_list_pages(mr);
	if (rv)
		goto free_pages;
	rv = weft_mr_publish(mr);
	if (rv)
		goto free_pages;
	return &mr->ib;

free_pages:
	kvfree(mr->pages);
	ib_umem_release(mr->umem);
free_mr:
	kfree(mr);
	return ERR_PTR(rv);
}

/**
 * weft_dereg_mr() - end a region
 * @ib: the region
 * @udata: unused
 *
 * When this returns, nothing reads or writes the memory any more. May sleep,
 * as long as an access in progress takes.
 *
 * Return: 0.
 */
int weft_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	struct weft_mr *mr = container_of(ib, struct weft_mr, ib);

	xa_erase(&mr->dev->mrs, mr->stag >> 8);
	weft_mr_put(mr);
	wait_for_completion(&mr->gone);
	kvfree(mr->pages);
	ib_umem_release(mr->umem);
	kfree_rcu(mr, rcu);
	return 0;
}
