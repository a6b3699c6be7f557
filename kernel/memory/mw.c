// SPDX-License-Identifier: GPL-2.0
/* Memory windows: their life, and their binding to regions. */
#include <linux/slab.h>

#include "base/limit.h"
#include "base/weft.h"
#include "memory/mr.h"
#include "memory/mw.h"

/* The rights that a window can give. */
#define WEFT_WINDOW_ACCESS	(WEFT_ACCESS_REMOTE | IB_ZERO_BASED)

bool weft_mw_check_bind(const struct weft_mr *window,
			const struct weft_mr *region,
			const struct weft_bind *bind)
{
	/* Programs ask for local write, which means nothing in a window. */
	if (bind->reserved ||
	    (bind->access & ~(WEFT_WINDOW_ACCESS | IB_ACCESS_LOCAL_WRITE)))
		return false;
	if (window->kind == WEFT_MR_WINDOW_2) {
		if (!window->invalid || !bind->length)
			return false;
	} else if (bind->access & IB_ZERO_BASED) {
		return false;
	}
	if (region->kind != WEFT_MR_REGION || region->all_memory)
		return false;
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

/* The caller has write-locked @mr, because accesses take the lock for reading. */
void weft_mw_unbind(struct weft_mr *mr)
{
	lockdep_assert_held(&mr->lock);
	if (!mr->region)
		return;
	atomic_dec(&mr->region->windows);
	mr->region = NULL;
	mr->qpn = 0;
}

/* Binds a window to a region that weft_mw_hold() counted. Returns false if that is not allowed. */
static bool mw_attach(struct weft_mr *mr, struct weft_mr *region,
		      u32 qpn, u32 key, const struct weft_bind *bind)
{
	bool ok;

	write_lock_bh(&mr->lock);
	ok = weft_mw_check_bind(mr, region, bind);
	if (ok) {
		weft_mw_unbind(mr);
		mr->region = region;
		mr->qpn = qpn;
		mr->access = bind->access & WEFT_WINDOW_ACCESS;
		mr->iova = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
		mr->length = bind->length;
		mr->blocks = region->blocks;
		mr->blocks.first += bind->addr - region->iova;
		mr->stag = key;
		mr->invalid = false;
	}
	write_unlock_bh(&mr->lock);
	return ok;
}

/* Binds a window to nothing: both its last key and the new one are invalid. */
static bool mw_detach(struct weft_mr *mr, u32 key)
{
	write_lock_bh(&mr->lock);
	weft_mw_unbind(mr);
	mr->invalid = true;
	mr->stag = key;
	write_unlock_bh(&mr->lock);
	return true;
}

/*
 * Does a BIND_MW. @old: any key that the window had; @key: its next, with the same index; @bind: a
 * private copy. Not in hard interrupts. If this returns true, no access by an earlier key of the
 * window is under way; if false, the window has not changed.
 */
bool weft_mw_bind(struct weft_accessor *by, u32 old, u32 key,
		  const struct weft_bind *bind)
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
		ok = mw_detach(mr, key);
		goto out;
	}
	region = weft_mr_find(by->dev, bind->lkey);
	if (!region)
		goto out;
	if (weft_mw_hold(region, mr, bind)) {
		ok = mw_attach(mr, region, by->qpn, key, bind);
		if (!ok)
			atomic_dec(&region->windows);
	}
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
			if (mr->qpn == by->qpn) {
				mr->invalid = true;
				weft_mw_unbind(mr);
			}
			write_unlock_bh(&mr->lock);
		}
		weft_mr_drop(mr);
		cond_resched();
	}
}

int weft_alloc_mw(struct ib_mw *ib, struct ib_udata *udata)
{
	struct weft_device *dev = to_weft_device(ib->device);
	struct weft_mw *mw = to_weft_mw(ib);
	int ret = -ENOMEM;

	if (!weft_limit_count(dev, WEFT_LIMIT_MW, &dev->num_mw))
		return -ENOMEM;
	mw->mr = weft_mr_new(ib->pd, ib->type == IB_MW_TYPE_1 ?
			     WEFT_MR_WINDOW_1 : WEFT_MR_WINDOW_2);
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
	struct weft_mr *mr = to_weft_mw(ib)->mr;

	weft_mr_withdraw(mr);
	write_lock_bh(&mr->lock);
	weft_mw_unbind(mr);
	write_unlock_bh(&mr->lock);
	kfree_rcu(mr, rcu);
	atomic_dec(&to_weft_device(ib->device)->num_mw);
	return 0;
}
