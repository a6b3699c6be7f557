// SPDX-License-Identifier: GPL-2.0
/* Memory regions: their life, and the way from an address to bytes. */
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "../device.h"
#include "dmabuf.h"
#include "mr.h"
#include "qp.h"

static void weft_mr_release(struct kref *kref)
{
	struct weft_mr *mr = container_of(kref, struct weft_mr, refs);

	complete(&mr->gone);
}

/* --- the key table --- */

/**
 * weft_mr_find() - look up what a key's index names
 * @dev: the device
 * @stag: the key; its key byte is not looked at
 *
 * Any context.
 *
 * Return: it, with a reference that keeps it from going away (hold it no
 * longer than one access), or NULL.
 */
struct weft_mr *weft_mr_find(struct weft_device *dev, u32 stag)
{
	struct weft_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	if (mr && !kref_get_unless_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	return mr;
}

/* Drops a reference taken by weft_mr_find(). Any context. */
void weft_mr_drop(struct weft_mr *mr)
{
	kref_put(&mr->refs, weft_mr_release);
}

/**
 * weft_mr_new() - allocate what a key is to name
 * @pd: its protection domain
 * @kind: what it will be; all but ordinary regions start out invalid
 *
 * Return: it, not yet in the key table, or NULL without memory. kfree() it if
 * it does not get there.
 */
struct weft_mr *weft_mr_new(struct ib_pd *pd, enum weft_mr_kind kind)
{
	struct weft_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return NULL;
	mr->dev = to_weft_device(pd->device);
	mr->pd = pd;
	mr->kind = kind;
	mr->invalid = kind != WEFT_MR_REGION;
	rwlock_init(&mr->lock);
	return mr;
}

/**
 * weft_mr_publish() - enter a region or window in the key table
 * @mr: all of it set
 *
 * Its key cannot be guessed. May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int weft_mr_publish(struct weft_mr *mr)
{
	struct weft_device *dev = mr->dev;
	u32 index;
	int rv;

	kref_init(&mr->refs);
	init_completion(&mr->gone);
	/* Reserve the index first: the region becomes visible with its whole key. */
	rv = xa_alloc_cyclic(&dev->mrs, &index, NULL, XA_LIMIT(1, WEFT_LAST_KEY),
			     &dev->next_mr, GFP_KERNEL);
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

/**
 * weft_mr_withdraw() - take a region or window out of the key table
 * @mr: published
 *
 * When this returns, nothing reads or writes its memory any more, but for what was
 * lent (see tx_lend.h). May sleep, as long as an access in progress takes. The caller
 * frees @mr after a grace period of RCU.
 */
void weft_mr_withdraw(struct weft_mr *mr)
{
	xa_erase(&mr->dev->mrs, mr->stag >> 8);
	weft_mr_drop(mr);
	wait_for_completion(&mr->gone);
}

/**
 * weft_mr_hide() - take a region out of the key table for a while
 * @mr: published; its index stays taken
 *
 * When this returns, nobody reads @mr or its memory any more. May sleep.
 */
void weft_mr_hide(struct weft_mr *mr)
{
	/* In an array that allocates, this keeps the place and needs no memory. */
	xa_store(&mr->dev->mrs, mr->stag >> 8, NULL, GFP_KERNEL);
	weft_mr_drop(mr);
	wait_for_completion(&mr->gone);
	/* Who found it too late may still look at its count. */
	synchronize_rcu();
}

/**
 * weft_mr_show() - put a hidden region back into the key table
 * @mr: hidden by weft_mr_hide()
 * @stag: its key from now on, with the index it had
 *
 * Return: 0; the place was kept, so that there is nothing to fail.
 */
int weft_mr_show(struct weft_mr *mr, u32 stag)
{
	kref_init(&mr->refs);
	reinit_completion(&mr->gone);
	mr->stag = stag;
	mr->ib.lkey = stag;
	mr->ib.rkey = stag;
	return xa_err(xa_store(&mr->dev->mrs, stag >> 8, mr, GFP_KERNEL));
}

/**
 * weft_mr_init_local() - set up the region that lkey 0 names
 * @dev: a new device
 *
 * All of the kernel's memory, for the work requests of its own consumers. It
 * is in no table and never goes away.
 */
void weft_mr_init_local(struct weft_device *dev)
{
	kref_init(&dev->local.refs);
	dev->local.dev = dev;
	dev->local.access = IB_ACCESS_LOCAL_WRITE;
	dev->local.all_memory = true;
}

/* --- access --- */

/* What can be invalidated meanwhile is locked for as long as it is accessed. */
static void weft_mr_lock(struct weft_mr *mr)
{
	if (mr->kind != WEFT_MR_REGION) {
		read_lock_bh(&mr->lock);
		__release(&mr->lock); /* for sparse, which knows no "if" */
	}
}

static void weft_mr_unlock(struct weft_mr *mr)
{
	if (mr->kind != WEFT_MR_REGION) {
		__acquire(&mr->lock);
		read_unlock_bh(&mr->lock);
	}
}

/**
 * weft_mr_get() - find a region by key and hold it for one access
 * @qp: the accessing queue pair
 * @pd: protection domain of the accessing queue: the queue pair's, or its
 *	shared receive queue's
 * @stag: the key; 0 in a kernel consumer's own work requests is all memory
 * @addr: first address to be accessed
 * @len: bytes to be accessed
 * @access: rights needed, enum ib_access_flags; the remote ones of @qp as well
 * @err: why not; written on failure
 *
 * Any context but hard interrupts; not twice at a time. Deregistration and
 * invalidation wait until it is put: hold it no longer than it takes to move
 * the bytes, and do not sleep meanwhile.
 *
 * Return: the region, to be given to weft_mr_put(), or NULL.
 */
struct weft_mr *weft_mr_get(struct weft_qp *qp, struct ib_pd *pd, u32 stag,
			    u64 addr, u64 len, int access,
			    enum weft_key_error *err)
{
	struct weft_mr *mr;

	if (!weft_qp_allows(qp, access & WEFT_ACCESS_REMOTE)) {
		*err = WEFT_KEY_ACCESS;
		return NULL;
	}
	if (!stag && !qp->owner && !(access & WEFT_ACCESS_REMOTE)) {
		mr = &qp->dev->local;
		kref_get(&mr->refs);
		pd = NULL;
	} else {
		mr = weft_mr_find(qp->dev, stag);
	}
	if (!mr) {
		*err = WEFT_KEY_UNKNOWN;
		return NULL;
	}
	weft_mr_lock(mr);
	*err = weft_mr_check(mr, stag, pd, qp->qpn, addr, len, access);
	if (*err == WEFT_KEY_OK)
		return mr;
	weft_mr_put(mr);
	return NULL;
}

/* Ends an access begun by weft_mr_get(), in the same context. */
void weft_mr_put(struct weft_mr *mr)
{
	weft_mr_unlock(mr);
	weft_mr_drop(mr);
}

/**
 * weft_access_begin() - begin a row of accesses, or go on in another region
 * @a: what is held is let go; holds the region on success
 * @qp: as for weft_mr_get(), as all that follow
 * @pd: protection domain
 * @stag: the key
 * @addr: first address
 * @len: bytes
 * @rights: rights needed
 *
 * Return: WEFT_KEY_OK, or why the access may not be.
 */
enum weft_key_error weft_access_begin(struct weft_access *a, struct weft_qp *qp,
				      struct ib_pd *pd, u32 stag, u64 addr,
				      u64 len, int rights)
{
	enum weft_key_error err = WEFT_KEY_OK;

	weft_access_end(a);
	a->mr = weft_mr_get(qp, pd, stag, addr, len, rights, &err);
	a->pd = pd;
	a->stag = stag;
	a->rights = rights;
	return err;
}

/**
 * weft_mr_word() - where are these eight bytes?
 * @mr: held and checked by weft_mr_get() for them
 * @addr: the first of them
 *
 * Any context.
 *
 * Return: their address, or NULL if they cannot be changed in one step: not
 * aligned where the processor sees them, though @addr may be, or not together.
 */
u64 *weft_mr_word(const struct weft_mr *mr, u64 addr)
{
	u32 run = sizeof(u64);
	void *at;

	if (mr->all_memory)
		at = (void *)(uintptr_t)addr;
	else
		at = weft_blocks_at(&mr->blocks, addr - mr->iova, run, &run);
	return run == sizeof(u64) && IS_ALIGNED((uintptr_t)at, sizeof(u64)) ?
	       at : NULL;
}

/**
 * weft_mr_atomic() - change eight bytes of a region in one step
 * @mr: held and checked by weft_mr_get() for these bytes
 * @addr: the first of them; weft_mr_word() finds them
 * @change: makes the new value of the one found; may be called more than once
 * @how: passed on to @change
 *
 * One step for every processor, and so for every queue pair and for the
 * process that owns the memory. Any context.
 *
 * Return: the value found.
 */
u64 weft_mr_atomic(struct weft_mr *mr, u64 addr,
		   u64 (*change)(const void *how, u64 value), const void *how)
{
	u64 *at = weft_mr_word(mr, addr);
	u64 found = READ_ONCE(*at);

	while (!try_cmpxchg(at, &found, change(how, found)))
		cpu_relax();
	return found;
}

/* --- regions of the RDMA core --- */

/**
 * weft_mr_create() - weft_mr_new() for a region that counts
 * @pd: its protection domain
 * @kind: WEFT_MR_REGION or WEFT_MR_FAST
 *
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
 * weft_mr_destroy() - free a region
 * @mr: not in the key table, or no longer
 *
 * Process context.
 */
void weft_mr_destroy(struct weft_mr *mr)
{
	atomic_dec(&mr->dev->num_mr);
	weft_blocks_free(&mr->blocks);
	kvfree(mr->next);
	ib_umem_release(mr->umem);
	weft_dmabuf_put(mr->dmabuf);
	kfree_rcu(mr, rcu);
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
	struct weft_mr *mr = weft_mr_create(pd, WEFT_MR_REGION);
	int rv;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->access = access;
	mr->all_memory = true;
	rv = weft_mr_publish(mr);
	if (rv) {
		weft_mr_destroy(mr);
		return ERR_PTR(rv);
	}
	return &mr->ib;
}

/**
 * weft_mr_pin() - pin a region's memory in the calling process
 * @mr: not in the key table; its rights and length are set
 * @start: first byte
 *
 * A region of nothing pins nothing. May sleep.
 *
 * Return: 0 or as weft_reg_user_mr(); weft_mr_destroy() unpins in any case.
 */
int weft_mr_pin(struct weft_mr *mr, u64 start)
{
	if (!mr->length)
		return 0;
	mr->umem = ib_umem_get(mr->pd->device, start, mr->length, mr->access);
	if (IS_ERR(mr->umem)) {
		int rv = PTR_ERR(mr->umem);

		mr->umem = NULL;
		return rv;
	}
	return weft_blocks_from_sg(&mr->blocks, &mr->umem->sgt_append.sgt,
				   ib_umem_offset(mr->umem), mr->length);
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
 * process's own rights and RLIMIT_MEMLOCK. A zero-based region starts at
 * address 0 for local and remote work requests alike.
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

	if (access & IB_ZERO_BASED)
		iova = 0;
	if (length && check_add_overflow(iova, length - 1, &end))
		return ERR_PTR(-EINVAL);
	mr = weft_mr_create(pd, WEFT_MR_REGION);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->access = access;
	mr->iova = iova;
	mr->length = length;
	rv = weft_mr_pin(mr, start);
	if (!rv)
		rv = weft_mr_publish(mr);
	if (!rv)
		return &mr->ib;
	weft_mr_destroy(mr);
	return ERR_PTR(rv);
}

/**
 * weft_dereg_mr() - end a region
 * @ib: the region
 * @udata: unused
 *
 * When this returns, nothing reads or writes the memory any more, but for pages that
 * TCP still holds of work requests which are not complete. May sleep, as long as an
 * access in progress takes.
 *
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
