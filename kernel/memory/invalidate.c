// SPDX-License-Identifier: GPL-2.0
/* Invalidation: a work request ends the use of a key that another work request began. */
#include "memory/mr.h"
#include "memory/mw.h"

/**
 * weft_invalidate() - invalidate a key
 * @by: the queue pair whose work request, or whose peer, asks for it
 * @stag: the key
 * @remote: the peer asks
 *
 * When this returns WEFT_KEY_OK, no access by the key is under way.
 *
 * Context: any but hard interrupts; not between weft_mr_access() and weft_mr_access_end().
 * Return: WEFT_KEY_OK, or why this queue pair may not invalidate the key.
 */
enum weft_key_error weft_invalidate(struct weft_accessor *by, u32 stag, bool remote)
{
	struct weft_mr *mr = weft_mr_find(by->dev, stag);
	enum weft_key_error err;

	if (!mr)
		return WEFT_KEY_UNKNOWN;
	/* Waits for accesses, which hold it for reading: see weft_mr_access(). */
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
