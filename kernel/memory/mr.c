// SPDX-License-Identifier: GPL-2.0
/* Memory regions: the table of keys, and the way from an address to bytes. */
#include <linux/random.h>
#include <linux/slab.h>

#include "base/limit.h"
#include "base/weft.h"
#include "memory/mr.h"

static void mr_release(struct kref *kref)
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
	kref_put(&mr->refs, mr_release);
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
	struct weft_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

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
 * weft_mr_reserve() - take a free place in the key table
 * @keys: the table
 * @from: where to begin looking; it goes on at the table's start after its end
 * @index: result
 *
 * Until something is stored there, a lookup finds nothing. May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int weft_mr_reserve(struct xarray *keys, u32 from, u32 *index)
{
	int ret = xa_alloc(keys, index, NULL, XA_LIMIT(from, WEFT_LAST_KEY), GFP_KERNEL);

	if (ret == -EBUSY)
		ret = xa_alloc(keys, index, NULL, XA_LIMIT(1, from), GFP_KERNEL);
	return ret == -EBUSY ? -ENOMEM : ret;
}

/**
 * weft_mr_publish() - enter a region or window in the key table
 * @mr: all of it set
 *
 * Its key says nothing of the others': both the place in the table and the key byte
 * are random. So a peer that tries keys finds one of n that its protection domain
 * has by one in 2^32 / n tries, each of which costs it a connection. May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int weft_mr_publish(struct weft_mr *mr)
{
	struct weft_device *dev = mr->dev;
	u32 index;
	int ret;

	kref_init(&mr->refs);
	init_completion(&mr->gone);
	/* Reserve the index first: the region becomes visible with its whole key. */
	ret = weft_mr_reserve(&dev->mrs, 1 + get_random_u32_below(WEFT_LAST_KEY), &index);
	if (ret)
		return ret;
	mr->stag = index << 8 | get_random_u8();
	mr->ib.lkey = mr->stag;
	mr->ib.rkey = mr->stag;
	ret = xa_err(xa_store(&dev->mrs, index, mr, GFP_KERNEL));
	if (ret)
		xa_erase(&dev->mrs, index);
	return ret;
}

/**
 * weft_mr_withdraw() - take a region or window out of the key table
 * @mr: published
 *
 * When this returns, nothing reads or writes its memory any more, but for what was
 * lent (see tx/loan.h). May sleep, as long as an access in progress takes. The caller
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
 * weft_mr_new_local() - make the region that lkey 0 names
 * @dev: a new device
 *
 * All of the kernel's memory, for the work requests of its own consumers. It
 * is in no table and goes away with the device, by kfree(). May sleep.
 *
 * Return: the region, or NULL.
 */
struct weft_mr *weft_mr_new_local(struct weft_device *dev)
{
	struct weft_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return NULL;
	kref_init(&mr->refs);
	mr->dev = dev;
	mr->access = IB_ACCESS_LOCAL_WRITE;
	mr->all_memory = true;
	return mr;
}

/* --- access --- */

/* What can be invalidated meanwhile is locked for as long as it is accessed. */
static void mr_lock(struct weft_mr *mr)
{
	if (mr->kind != WEFT_MR_REGION) {
		read_lock_bh(&mr->lock);
		__release(&mr->lock); /* for sparse, which knows no "if" */
	}
}

static void mr_unlock(struct weft_mr *mr)
{
	if (mr->kind != WEFT_MR_REGION) {
		__acquire(&mr->lock);
		read_unlock_bh(&mr->lock);
	}
}

/**
 * weft_mr_get() - find a region by key and hold it for one access
 * @by: the accessing queue pair
 * @pd: protection domain of the accessing queue: the queue pair's, or its
 *	shared receive queue's
 * @stag: the key; 0 in a kernel consumer's own work requests is all memory
 * @addr: first address to be accessed
 * @len: bytes to be accessed
 * @access: rights needed, enum ib_access_flags; the remote ones of @by as well
 * @err: why not; written on failure
 *
 * Any context but hard interrupts; not twice at a time. Deregistration and
 * invalidation wait until it is put: hold it no longer than it takes to move
 * the bytes, and do not sleep meanwhile.
 *
 * Return: the region, to be given to weft_mr_put(), or NULL.
 */
struct weft_mr *weft_mr_get(struct weft_accessor *by, struct ib_pd *pd, u32 stag,
			    u64 addr, u64 len, int access,
			    enum weft_key_error *err)
{
	struct weft_mr *mr;

	if (!weft_accessor_allows(by, access & WEFT_ACCESS_REMOTE)) {
		*err = WEFT_KEY_ACCESS;
		return NULL;
	}
	if (!stag && by->kernel && !(access & WEFT_ACCESS_REMOTE)) {
		mr = by->dev->local;
		kref_get(&mr->refs);
		pd = NULL;
	} else {
		mr = weft_mr_find(by->dev, stag);
	}
	if (!mr) {
		*err = WEFT_KEY_UNKNOWN;
		return NULL;
	}
	mr_lock(mr);
	*err = weft_mr_check(mr, stag, pd, by->qpn, addr, len, access);
	if (*err == WEFT_KEY_OK)
		return mr;
	weft_mr_put(mr);
	return NULL;
}

/* Ends an access begun by weft_mr_get(), in the same context. */
void weft_mr_put(struct weft_mr *mr)
{
	mr_unlock(mr);
	weft_mr_drop(mr);
}

/**
 * weft_access_begin() - begin a row of accesses, or go on in another region
 * @a: what is held is let go; holds the region on success
 * @by: as for weft_mr_get(), as all that follow
 * @pd: protection domain
 * @stag: the key
 * @addr: first address
 * @len: bytes
 * @rights: rights needed
 *
 * Return: WEFT_KEY_OK, or why the access may not be.
 */
enum weft_key_error weft_access_begin(struct weft_access *a,
				      struct weft_accessor *by,
				      struct ib_pd *pd, u32 stag, u64 addr,
				      u64 len, int rights)
{
	enum weft_key_error err = WEFT_KEY_OK;

	weft_access_end(a);
	a->mr = weft_mr_get(by, pd, stag, addr, len, rights, &err);
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
