// SPDX-License-Identifier: GPL-2.0
/* Keys that work requests begin and end: fast registration, memory windows, invalidation. */
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "uapi/weft-abi.h"

/* --- fast registration: the consumer prepares a list of blocks, and a REG_MR applies it --- */

/* Makes a region for fast registration, which is invalid until its first REG_MR. */
struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_blocks)
{
	struct weft_mr *mr;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_blocks || !weft_limit_allows(to_weft_device(pd->device), WEFT_LIMIT_FAST_BLOCKS,
					      max_blocks))
		return ERR_PTR(-EINVAL);
	mr = weft_mr_create(pd, WEFT_MR_FAST);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->max_blocks = max_blocks;
	/* Two lists, because the next one is made while a peer may still use the last. */
	mr->blocks.addr = kvcalloc(max_blocks, sizeof(*mr->next), GFP_KERNEL_ACCOUNT);
	mr->next = kvcalloc(max_blocks, sizeof(*mr->next), GFP_KERNEL_ACCOUNT);
	return weft_mr_finish(mr, mr->blocks.addr && mr->next ? 0 : -ENOMEM);
}

/* The DMA addresses of this device are kernel addresses. */
static int add_block(struct ib_mr *ib, u64 addr)
{
	struct weft_mr *mr = to_weft_mr(ib);

	if (mr->num_next == mr->max_blocks)
		return -ENOMEM;
	mr->next[mr->num_next++] = (void *)(uintptr_t)addr;
	return 0;
}

/*
 * Prepares the next registration of a region; until the REG_MR the last one stays in use. The
 * region's address keeps only the offset in the first block, because peers must not learn kernel
 * addresses; the consumer may change the rest. Only the caller uses @ib meanwhile.
 */
int weft_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int num, unsigned int *offset)
{
	struct weft_mr *mr = to_weft_mr(ib);
	int ret;

	if (mr->kind != WEFT_MR_FAST || ib->page_size < SZ_4K || !is_power_of_2(ib->page_size))
		return -EINVAL;
	mr->num_next = 0;
	ret = ib_sg_to_pages(ib, sg, num, offset, add_block);
	ib->iova &= ib->page_size - 1;
	return ret;
}

/*
 * Does a REG_MR: applies the list of weft_map_mr_sg(). Without a new list the region keeps the
 * memory of its last registration. @old: any key that the region had; @key: its next, with the same
 * index. Not in hard interrupts.
 */
bool weft_fast_register(struct weft_accessor *by, u32 old, u32 key, int access)
{
	struct weft_mr *mr = weft_mr_find(by->dev, old);
	bool ok = false;

	if (!mr)
		return false;
	if (mr->kind != WEFT_MR_FAST || mr->pd != by->pd || old >> 8 != key >> 8)
		goto out;
	write_lock_bh(&mr->lock);
	ok = mr->invalid;
	if (ok && mr->num_next) {
		swap(mr->blocks.addr, mr->next);
		mr->num_next = 0;
		weft_blocks_set_size(&mr->blocks, ilog2(mr->ib.page_size));
		mr->blocks.first = mr->ib.iova & (mr->ib.page_size - 1);
		mr->iova = mr->ib.iova;
		mr->length = mr->ib.length;
	}
	if (ok) {
		mr->access = access;
		mr->stag = key;
		mr->invalid = false;
	}
	write_unlock_bh(&mr->lock);
out:
	weft_mr_drop(mr);
	return ok;
}

/* --- memory windows: keys of their own for parts of a region --- */

/* The rights that a window can give. */
#define WEFT_WINDOW_ACCESS	(WEFT_ACCESS_REMOTE | IB_ZERO_BASED)

/*
 * May a window, locked by the caller, be bound like this to a region that weft_mw_hold() counted?
 * @bind is a private copy.
 */
static bool mw_check_bind(const struct weft_mr *window, const struct weft_mr *region,
			  const struct weft_bind *bind)
{
	/* Programs ask for local write, which means nothing in a window. */
	if (bind->reserved || (bind->access & ~(WEFT_WINDOW_ACCESS | IB_ACCESS_LOCAL_WRITE)))
		return false;
	if (window->kind == WEFT_MR_WINDOW_2) {
		if (!window->invalid || !bind->length)
			return false;
	} else if (bind->access & IB_ZERO_BASED) {
		return false;
	}
	/* The region refuses atomics as well; see weft_dmabuf_check_access(). */
	if (region->dmabuf && (bind->access & IB_ACCESS_REMOTE_ATOMIC))
		return false;
	/* A window gives no right that the owner of the region lacks. */
	if ((bind->access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(region->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	return weft_mr_check(region, bind->lkey, window->pd, 0, bind->addr,
			     bind->length, IB_ACCESS_MW_BIND) == WEFT_KEY_OK;
}

/*
 * Counts a window that is about to be bound. While windows are counted, the region can be neither
 * deregistered nor changed. The fields that cannot change under the caller's reference are checked
 * first, because otherwise any process could block the deregistration of another's region.
 */
bool weft_mw_hold(struct weft_mr *region, const struct weft_mr *window,
		  const struct weft_bind *bind)
{
	return region->kind == WEFT_MR_REGION && !region->all_memory &&
	       region->pd == window->pd && region->stag == bind->lkey &&
	       atomic_inc_unless_negative(&region->windows);
}

/*
 * Ends the use of a key, and the binding of a window. The caller has write-locked @mr, because
 * accesses take the lock for reading.
 */
static void key_end(struct weft_mr *mr)
{
	lockdep_assert_held_write(&mr->lock);
	mr->invalid = true;
	if (!mr->region)
		return;
	atomic_dec(&mr->region->windows);
	mr->region = NULL;
	mr->qpn = 0;
}

/*
 * Does a BIND_MW. @old: any key that the window had; @key: its next, with the same index; @bind: a
 * private copy. Not in hard interrupts. If this returns true, no access by an earlier key of the
 * window is under way; if false, the window has not changed.
 */
bool weft_mw_bind(struct weft_accessor *by, u32 old, u32 key, const struct weft_bind *bind)
{
	struct weft_mr *mr = weft_mr_find(by->dev, old);
	struct weft_mr *region;
	bool ok = false;

	if (!mr)
		return false;
	if ((mr->kind != WEFT_MR_WINDOW_1 && mr->kind != WEFT_MR_WINDOW_2) ||
	    mr->pd != by->pd || old >> 8 != key >> 8)
		goto out;
	if (mr->kind == WEFT_MR_WINDOW_1 && !bind->length) {
		/* Bound to nothing: both its last key and the new one are invalid. */
		write_lock_bh(&mr->lock);
		key_end(mr);
		mr->stag = key;
		write_unlock_bh(&mr->lock);
		ok = true;
		goto out;
	}
	region = weft_mr_find(by->dev, bind->lkey);
	if (!region)
		goto out;
	if (!weft_mw_hold(region, mr, bind))
		goto drop;
	write_lock_bh(&mr->lock);
	ok = mw_check_bind(mr, region, bind);
	if (ok) {
		key_end(mr);
		mr->region = region;
		mr->qpn = by->qpn;
		mr->access = bind->access & WEFT_WINDOW_ACCESS;
		mr->iova = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
		mr->length = bind->length;
		mr->blocks = region->blocks;
		mr->blocks.first += bind->addr - region->iova;
		mr->stag = key;
		mr->invalid = false;
	}
	write_unlock_bh(&mr->lock);
	if (!ok)
		atomic_dec(&region->windows);
drop:
	weft_mr_drop(region);
	if (ok && mr->kind == WEFT_MR_WINDOW_2)
		by->bound = true;
out:
	weft_mr_drop(mr);
	return ok;
}

/* Invalidates the type 2 windows of a queue pair that neither posts nor receives. May sleep. */
void weft_mw_forget(struct weft_accessor *by)
{
	struct weft_mr *mr;
	unsigned long index;

	if (!by->bound)
		return;
	by->bound = false;
	xa_for_each(&by->dev->mrs, index, mr) {
		mr = weft_mr_find(by->dev, index << 8);
		if (!mr)
			continue;
		if (mr->kind == WEFT_MR_WINDOW_2) {
			write_lock_bh(&mr->lock);
			if (mr->qpn == by->qpn)
				key_end(mr);
			write_unlock_bh(&mr->lock);
		}
		weft_mr_drop(mr);
		cond_resched();
	}
}

int weft_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_mw *mw = container_of(ib, struct weft_mw, ib);
	int ret = -ENOMEM;

	if (!weft_limit_count(dev, WEFT_LIMIT_MW, &dev->num_mw))
		return -ENOMEM;
	mw->mr = weft_mr_new(ib->pd,
			     ib->type == IB_MW_TYPE_1 ? WEFT_MR_WINDOW_1 : WEFT_MR_WINDOW_2);
	if (mw->mr)
		ret = weft_mr_publish(mw->mr);
	if (!ret) {
		ib->rkey = mw->mr->stag;
		return 0;
	}
	kfree(mw->mr);
	atomic_dec(&dev->num_mw);
	return ret;
}

int weft_dealloc_mw(struct ib_mw *ib)
{
	struct weft_mr *mr = container_of(ib, struct weft_mw, ib)->mr;

	weft_mr_withdraw(mr);
	write_lock_bh(&mr->lock);
	key_end(mr);
	write_unlock_bh(&mr->lock);
	kfree_rcu(mr, rcu);
	atomic_dec(&to_weft_device(ib->device)->num_mw);
	return 0;
}

/* --- invalidation --- */

/*
 * Invalidates a key for a work request of @by, or for its peer if @remote. After WEFT_KEY_OK no
 * access by the key is under way. Not in hard interrupts, and not during an access of the caller's,
 * because that may hold the same lock.
 */
enum weft_key_error weft_invalidate(struct weft_accessor *by, u32 stag, bool remote)
{
	struct weft_mr *mr = weft_mr_find(by->dev, stag);
	enum weft_key_error err;

	if (!mr)
		return WEFT_KEY_UNKNOWN;
	/* Waits for accesses, because each takes the lock for reading. */
	write_lock_bh(&mr->lock);
	err = weft_mr_check_invalidate(mr, stag, by->pd, by->qpn, remote);
	if (err == WEFT_KEY_OK)
		key_end(mr);
	write_unlock_bh(&mr->lock);
	weft_mr_drop(mr);
	return err;
}
