// SPDX-License-Identifier: GPL-2.0
/*
 * Regions whose memory is lent to the stream, and who waits to invalidate one. While the key is
 * valid, the peer may read the memory at any time, so that it learns nothing if TCP sends what is
 * there once more. If the key ended before the memory is back, it would be shown what comes there
 * next.
 */
#include "base/weft.h"
#include "base/workqueue.h"
#include "memory/mr.h"

/**
 * weft_mr_lend() - let memory that the peer reads be sent from where it lies
 * @by: the queue pair whose peer reads it
 * @stag: the key that the peer named
 * @addr: first address
 * @len: bytes
 *
 * Only regions are lent that a kernel consumer registers by work requests, as their keys end before
 * their memory is used for what the peer may not see. While somebody waits for the memory, no more
 * of it is lent, or a peer that reads on and on could have the wait last for ever. Until all is
 * given back, weft_invalidate() refuses and a deregistration waits.
 *
 * Context: any but hard interrupts; not between weft_mr_access() and weft_mr_access_end().
 * Return: the region, to be given to weft_mr_give_back(); NULL if the memory may not be read or is
 * not lent.
 */
struct weft_mr *weft_mr_lend(struct weft_accessor *by, u32 stag, u64 addr, u64 len)
{
	enum weft_key_error err;
	struct weft_mr *mr;
	bool lend;

	mr = weft_mr_access(by, by->pd, stag, addr, len, IB_ACCESS_REMOTE_READ, &err);
	if (!mr)
		return NULL;
	lend = mr->kind == WEFT_MR_FAST && !READ_ONCE(mr->awaited);
	if (lend) {
		kref_get(&mr->refs);
		/* weft_invalidate() has the lock for writing that this access holds for reading. */
		atomic_inc(&mr->lent);
		WRITE_ONCE(by->dev->lending.begun, true);
	}
	weft_mr_access_end(mr);
	return lend ? mr : NULL;
}

/**
 * weft_mr_give_back() - give memory back that was lent
 * @mr: the region, from weft_mr_lend(), which may be gone when this returns
 *
 * With the last of it all go on who wait for memory of the device, and ask again. Few ever do.
 *
 * Context: any.
 */
void weft_mr_give_back(struct weft_mr *mr)
{
	struct weft_lending *lending = &mr->dev->lending;
	struct weft_lent_waiter *waiter, *next;
	unsigned long flags;

	if (atomic_dec_and_test(&mr->lent)) {
		spin_lock_irqsave(&lending->lock, flags);
		WRITE_ONCE(mr->awaited, false);
		list_for_each_entry_safe(waiter, next, &lending->waiting, entry) {
			list_del_init(&waiter->entry);
			queue_work(weft_workqueue, waiter->work);
		}
		spin_unlock_irqrestore(&lending->lock, flags);
	}
	weft_mr_drop(mr);
}

/* As weft_mr_must_wait(), for a region that is lent. Whoever gives it back takes the lock, too. */
static bool mr_wait(struct weft_mr *mr, struct weft_lent_waiter *waiter)
{
	struct weft_lending *lending = &mr->dev->lending;
	unsigned long flags;
	bool lent;

	waiter->lending = lending;
	spin_lock_irqsave(&lending->lock, flags);
	lent = atomic_read(&mr->lent);
	if (lent) {
		WRITE_ONCE(mr->awaited, true);
		if (list_empty(&waiter->entry))
			list_add_tail(&waiter->entry, &lending->waiting);
	}
	spin_unlock_irqrestore(&lending->lock, flags);
	return lent;
}

/**
 * weft_mr_must_wait() - find out whether an invalidation has to wait for lent memory
 * @by: the queue pair that is to invalidate the key, by its own request or its peer's
 * @stag: the key
 * @remote: its peer's
 * @waiter: the direction that would wait
 *
 * Most often no region of the device was ever lent, which is all that is asked then.
 *
 * Context: any but hard interrupts; not between weft_mr_access() and weft_mr_access_end().
 * Return: true if the key may be invalidated, but its memory is lent: the work of @waiter is
 * started when that may have changed.
 */
bool weft_mr_must_wait(struct weft_accessor *by, u32 stag, bool remote,
		       struct weft_lent_waiter *waiter)
{
	enum weft_key_error err;
	bool waits = false;
	struct weft_mr *mr;

	if (likely(!READ_ONCE(by->dev->lending.begun)))
		return false;
	mr = weft_mr_find(by->dev, stag);
	if (!mr)
		return false;
	if (atomic_read(&mr->lent)) {
		read_lock_bh(&mr->lock);
		err = weft_mr_check_invalidate(mr, stag, by->pd, by->qpn, remote);
		read_unlock_bh(&mr->lock);
		waits = err == WEFT_KEY_OK && mr_wait(mr, waiter);
	}
	weft_mr_drop(mr);
	return waits;
}

/**
 * weft_lent_leave() - wait no longer
 * @waiter: nobody lets it wait any more
 *
 * When this returns, its work is not started by weft_mr_give_back().
 *
 * Context: any.
 */
void weft_lent_leave(struct weft_lent_waiter *waiter)
{
	struct weft_lending *lending = waiter->lending;
	unsigned long flags;

	if (!lending)
		return;
	spin_lock_irqsave(&lending->lock, flags);
	list_del_init(&waiter->entry);
	spin_unlock_irqrestore(&lending->lock, flags);
}
