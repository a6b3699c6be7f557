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

/* As weft_mr_find(). In line, as each access begins with it. */
static __always_inline struct weft_mr *mr_find(struct weft_device *dev, u32 stag)
{
	struct weft_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	if (mr && !kref_get_unless_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	return mr;
}

/**
 * weft_mr_find() - find the region or window that a key's index names
 * @dev: the device
 * @stag: the key; its key byte is not looked at
 *
 * Context: any.
 * Return: the region or window, with a reference that keeps it from going away (to be
 * held no longer than one access), or NULL.
 */
struct weft_mr *weft_mr_find(struct weft_device *dev, u32 stag)
{
	return mr_find(dev, stag);
}

/* Drops a reference taken by weft_mr_find(). Any context. */
void weft_mr_drop(struct weft_mr *mr)
{
	kref_put(&mr->refs, mr_release);
}

/**
 * weft_mr_new() - allocate a region or window
 * @pd: its protection domain
 * @kind: what it will be; all but ordinary regions start out invalid
 *
 * Context: process, may sleep.
 * Return: the new one, not yet in the key table, or NULL without memory. The caller
 * frees it by kfree() if it never enters the table.
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
 * @from: where the search begins; from the table's end it continues at the start
 * @index: result
 *
 * Until something is stored there, a lookup finds nothing.
 *
 * Context: process, may sleep.
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
 * Both the place in the table and the key byte are random, so that one key tells
 * nothing about another. A peer that guesses needs 2^32 / n tries for one of the n keys
 * of its protection domain, and each try costs it a connection.
 *
 * Context: process, may sleep.
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
 * When this returns, nothing reads or writes its memory any more, except TCP, which may
 * still hold pages lent for work requests (see tx/loan.h). The caller frees @mr after a grace
 * period of RCU.
 *
 * Context: process. Sleeps as long as an access in progress takes.
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
 * When this returns, nobody reads @mr or its memory any more.
 *
 * Context: process, may sleep.
 */
void weft_mr_hide(struct weft_mr *mr)
{
	/* In an array that allocates, this keeps the place and needs no memory. */
	xa_store(&mr->dev->mrs, mr->stag >> 8, NULL, GFP_KERNEL);
	weft_mr_drop(mr);
	wait_for_completion(&mr->gone);
	/* A lookup that found the region too late may still read its count. */
	synchronize_rcu();
}

/**
 * weft_mr_show() - put a hidden region back into the key table
 * @mr: hidden by weft_mr_hide()
 * @stag: its key from now on, with the index it had
 *
 * Context: process, may sleep.
 * Return: 0. Nothing can fail, since weft_mr_hide() kept the place.
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
 * The region is all of the kernel's memory, for the work requests of kernel consumers.
 * It is in no table, and is freed with the device, by kfree().
 *
 * Context: process, may sleep.
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
	mr->length = U64_MAX;
	return mr;
}

/* --- access --- */

/* Locks a region or window that a work request could invalidate during the access. */
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

/* As weft_mr_access(). In line, since each packet with payload begins an access in a row. */
static __always_inline struct weft_mr *mr_access(struct weft_accessor *by, struct ib_pd *pd,
						 u32 stag, u64 addr, u64 len, int access,
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
		mr = mr_find(by->dev, stag);
	}
	if (!mr) {
		*err = WEFT_KEY_UNKNOWN;
		return NULL;
	}
	mr_lock(mr);
	*err = weft_mr_check(mr, stag, pd, by->qpn, addr, len, access);
	if (*err == WEFT_KEY_OK)
		return mr;
	weft_mr_access_end(mr);
	return NULL;
}

/**
 * weft_mr_access() - find a region by key and hold it for one access
 * @by: the accessing queue pair
 * @pd: protection domain of the accessing queue: the queue pair's, or its
 *	shared receive queue's
 * @stag: the key; 0 in a kernel consumer's own work requests is all memory
 * @addr: first address to be accessed
 * @len: bytes to be accessed
 * @access: rights needed, enum ib_access_flags; the remote ones of @by as well
 * @err: the reason of a failure; not written otherwise
 *
 * Deregistration and invalidation wait for weft_mr_access_end(). So the caller holds the region
 * no longer than it takes to move the bytes.
 *
 * Context: any but hard interrupts, and not while a region with a lock is held. The caller may
 * not sleep before weft_mr_access_end().
 * Return: the region, to be given to weft_mr_access_end(), or NULL.
 */
struct weft_mr *weft_mr_access(struct weft_accessor *by, struct ib_pd *pd, u32 stag,
			       u64 addr, u64 len, int access,
			       enum weft_key_error *err)
{
	return mr_access(by, pd, stag, addr, len, access, err);
}

/* Ends an access begun by weft_mr_access(), in the same context. */
void weft_mr_access_end(struct weft_mr *mr)
{
	mr_unlock(mr);
	weft_mr_drop(mr);
}

/**
 * weft_access_begin() - begin a row of accesses, or continue it in another region
 * @a: gives up the region it holds, and holds the new one on success
 * @by: as for weft_mr_access(), and so are the others
 * @pd: protection domain
 * @stag: the key
 * @addr: first address
 * @len: bytes
 * @rights: rights needed
 *
 * Context: as weft_mr_access().
 * Return: WEFT_KEY_OK, or the reason of the refusal.
 */
enum weft_key_error weft_access_begin(struct weft_access *a,
				      struct weft_accessor *by,
				      struct ib_pd *pd, u32 stag, u64 addr,
				      u64 len, int rights)
{
	enum weft_key_error err = WEFT_KEY_OK;

	weft_access_end(a);
	a->mr = mr_access(by, pd, stag, addr, len, rights, &err);
	a->pd = pd;
	a->stag = stag;
	a->rights = rights;
	return err;
}

/**
 * weft_mr_word() - where are these eight bytes?
 * @mr: held and checked by weft_mr_access() for them
 * @addr: the first of them
 *
 * Context: any.
 * Return: their address, or NULL if the processor cannot change them in one step:
 * they do not lie together, or are not aligned in its memory, though @addr may be.
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
 * @mr: held and checked by weft_mr_access() for these bytes
 * @addr: the first of them; weft_mr_word() finds them
 * @change: makes the new value of the one found; may be called more than once
 * @how: passed on to @change
 *
 * The change is one step for every processor, and so for every other queue pair and for
 * the process that owns the memory.
 *
 * Context: any.
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
