// SPDX-License-Identifier: GPL-2.0
/* Invalidation: a work request ends the use of a key that another work request began. */
#include "memory/mr.h"
#include "memory/mw.h"

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
	if (err == WEFT_KEY_OK) {
		mr->invalid = true;
		weft_mw_unbind(mr);
	}
	write_unlock_bh(&mr->lock);
	weft_mr_drop(mr);
	return err;
}
