// SPDX-License-Identifier: GPL-2.0
/* Memory regions: the key table, the checks between a key and memory, and access by key. */
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "base/weft.h"
#include "memory/mr.h"

static void mr_release(struct kref *kref)
{
	complete(&container_of(kref, struct weft_mr, refs)->gone);
}

/* --- the key table --- */

/*
 * Finds a region or window by the index of a key; ignores the key byte. The caller drops the
 * reference after one access at the latest, because deregistration waits for it. In line here,
 * because each access begins with it.
 */
__always_inline struct weft_mr *weft_mr_find(struct weft_device *dev, u32 stag)
{
	struct weft_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	if (mr && !kref_get_unless_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	return mr;
}

void weft_mr_drop(struct weft_mr *mr)
{
	kref_put(&mr->refs, mr_release);
}

/* Allocates a region or window, not yet in the key table. Ordinary regions alone start valid. */
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

/*
 * Reserves the first free index of the key table from @from on, and wraps at the end. A lookup
 * finds nothing there until an entry is stored.
 */
int weft_mr_reserve(struct xarray *keys, u32 from, u32 *index)
{
	int ret = xa_alloc(keys, index, NULL, XA_LIMIT(from, WEFT_LAST_KEY), GFP_KERNEL);

	if (ret == -EBUSY)
		ret = xa_alloc(keys, index, NULL, XA_LIMIT(1, from), GFP_KERNEL);
	return ret == -EBUSY ? -ENOMEM : ret;
}

/* Enters a region under a reserved index. A region that was hidden before cannot fail here. */
int weft_mr_show(struct weft_mr *mr, u32 stag)
{
	kref_init(&mr->refs);
	init_completion(&mr->gone);
	mr->stag = stag;
	mr->ib.lkey = stag;
	mr->ib.rkey = stag;
	return xa_err(xa_store(&mr->dev->mrs, stag >> 8, mr, GFP_KERNEL));
}

/*
 * Enters a region or window in the key table. Index and key byte are random, so that one key tells
 * nothing about another: a peer needs 2^32 / n guesses for one of the n keys of its protection
 * domain, and each guess costs the peer a connection.
 */
int weft_mr_publish(struct weft_mr *mr)
{
	struct xarray *keys = &mr->dev->mrs;
	u32 index;
	int ret;

	/* Reserve first, so that the region becomes visible with its whole key. */
	ret = weft_mr_reserve(keys, 1 + get_random_u32_below(WEFT_LAST_KEY), &index);
	if (ret)
		return ret;
	ret = weft_mr_show(mr, index << 8 | get_random_u8());
	if (ret)
		xa_erase(keys, index);
	return ret;
}

/*
 * Takes a region or window out of the key table and waits for the accesses in progress. Afterwards
 * only TCP may use the memory: pages lent for work requests (see tx/loan.c). The caller frees @mr
 * after an RCU grace period.
 */
void weft_mr_withdraw(struct weft_mr *mr)
{
	xa_erase(&mr->dev->mrs, mr->stag >> 8);
	weft_mr_drop(mr);
	wait_for_completion(&mr->gone);
}

/*
 * Takes a region out of the key table for a while; its index stays reserved. When this returns,
 * nobody reads @mr or its memory. May sleep.
 */
void weft_mr_hide(struct weft_mr *mr)
{
	/* In an XArray that allocates, this keeps the index reserved and needs no memory. */
	xa_store(&mr->dev->mrs, mr->stag >> 8, NULL, GFP_KERNEL);
	weft_mr_drop(mr);
	wait_for_completion(&mr->gone);
	/* A lookup that found the region too late may still read its count. */
	synchronize_rcu();
}

/* Makes the region that lkey 0 names: all kernel memory. The device frees it by kfree(). */
struct weft_mr *weft_mr_new_local(struct weft_device *dev)
{
	struct weft_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return NULL;
	mr->dev = dev;
	mr->kind = WEFT_MR_LOCAL;
	mr->access = IB_ACCESS_LOCAL_WRITE;
	mr->all_memory = true;
	mr->length = U64_MAX;
	return mr;
}

/* --- the checks --- */

enum weft_key_error weft_mr_check(const struct weft_mr *mr, u32 stag, const struct ib_pd *pd,
				  u32 qpn, u64 addr, u64 len, int access)
{
	u64 end;

	if (mr->invalid || mr->stag != stag)
		return WEFT_KEY_UNKNOWN;
	if (mr->pd != pd || (mr->kind == WEFT_MR_WINDOW_2 && mr->qpn != qpn))
		return WEFT_KEY_PD;
	if ((mr->access & access) != access)
		return WEFT_KEY_ACCESS;
	/* A window is for peers only; its owner uses the region. */
	if ((mr->kind == WEFT_MR_WINDOW_1 || mr->kind == WEFT_MR_WINDOW_2) &&
	    !(access & WEFT_ACCESS_REMOTE))
		return WEFT_KEY_ACCESS;
	if (!len)
		return WEFT_KEY_OK;
	if (check_add_overflow(addr, len - 1, &end))
		return WEFT_KEY_WRAP;
	if (mr->all_memory)
		return WEFT_KEY_OK;
	if (addr < mr->iova || len > mr->length || addr - mr->iova > mr->length - len)
		return WEFT_KEY_BOUNDS;
	return WEFT_KEY_OK;
}

enum weft_key_error weft_mr_check_invalidate(const struct weft_mr *mr, u32 stag,
					     const struct ib_pd *pd, u32 qpn, bool remote)
{
	/*
	 * A kernel consumer may use an old key, because the core's rdma_rw makes a new key after
	 * it has written the old one into the READ that will invalidate it.
	 */
	if (mr->kind == WEFT_MR_FAST && !remote)
		return mr->pd == pd ? WEFT_KEY_OK : WEFT_KEY_PD;
	if (mr->invalid || mr->stag != stag)
		return WEFT_KEY_UNKNOWN;
	if (mr->pd != pd || (mr->kind == WEFT_MR_WINDOW_2 && mr->qpn != qpn))
		return WEFT_KEY_PD;
	switch (mr->kind) {
	case WEFT_MR_FAST:
		/* A region without remote rights was never shown to a peer. */
		return mr->access & WEFT_ACCESS_REMOTE ? WEFT_KEY_OK :
							 WEFT_KEY_ACCESS;
	case WEFT_MR_WINDOW_2:
		return WEFT_KEY_OK;
	default:
		return WEFT_KEY_ACCESS;
	}
}

/* --- access; in line here, because each packet with payload begins and ends one --- */

/* Ends an access, in the context that began it. */
__always_inline void weft_mr_access_end(struct weft_mr *mr)
{
	/* All processors' kernel consumers share it: a count would move its line between them. */
	if (mr->kind == WEFT_MR_LOCAL)
		return;
	if (weft_mr_is_locked(mr)) {
		__acquire(&mr->lock);
		read_unlock_bh(&mr->lock);
	}
	kref_put(&mr->refs, mr_release);
}

/*
 * Finds a region by key and holds it for one access. @by has to grant the remote rights of @access
 * as well; @pd is the queue pair's or its shared receive queue's; @stag 0 is all memory in a kernel
 * consumer's own work requests. Deregistration and invalidation wait for weft_mr_access_end(), so
 * the caller moves the bytes without sleeping, and begins no other access to a region with a lock.
 * Not in hard interrupts. If the access is refused, returns NULL and sets @err to the reason.
 */
__always_inline struct weft_mr *weft_mr_access(struct weft_accessor *by, struct ib_pd *pd, u32 stag,
					       u64 addr, u64 len, int access,
					       enum weft_key_error *err)
{
	struct weft_mr *mr;

	if (access & WEFT_ACCESS_REMOTE & ~READ_ONCE(by->rights)) {
		*err = WEFT_KEY_ACCESS;
		return NULL;
	}
	if (!stag && by->kernel && !(access & WEFT_ACCESS_REMOTE)) {
		mr = by->dev->local; /* a queue pair ends before its device */
		pd = NULL;
	} else {
		mr = weft_mr_find(by->dev, stag);
	}
	if (!mr) {
		*err = WEFT_KEY_UNKNOWN;
		return NULL;
	}
	/* A work request could invalidate such a kind during the access. */
	if (weft_mr_is_locked(mr)) {
		read_lock_bh(&mr->lock);
		__release(&mr->lock); /* because sparse does not follow the condition */
	}
	*err = weft_mr_check(mr, stag, pd, by->qpn, addr, len, access);
	if (*err == WEFT_KEY_OK)
		return mr;
	weft_mr_access_end(mr);
	return NULL;
}

/* Ends the access that @a holds, if any. */
void weft_access_end(struct weft_access *a)
{
	if (a->mr)
		weft_mr_access_end(a->mr);
	a->mr = NULL;
}

/* Ends the access that @a holds, if any, and begins one to another region. */
enum weft_key_error weft_access_begin(struct weft_access *a, struct weft_accessor *by,
				      struct ib_pd *pd, u32 stag, u64 addr, u64 len, int rights)
{
	enum weft_key_error err = WEFT_KEY_OK;

	weft_access_end(a);
	a->mr = weft_mr_access(by, pd, stag, addr, len, rights, &err);
	a->pd = pd;
	a->stag = stag;
	a->rights = rights;
	return err;
}

/*
 * Returns the address of eight bytes. Returns NULL if the CPU cannot change them in one step,
 * because they are split between blocks or unaligned in memory (@addr may be aligned).
 */
u64 *weft_mr_word(const struct weft_mr *mr, u64 addr)
{
	u32 run;
	void *at = weft_mr_at(mr, addr, sizeof(u64), &run);

	return run == sizeof(u64) && IS_ALIGNED((uintptr_t)at, sizeof(u64)) ? at : NULL;
}
