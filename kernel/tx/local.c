// SPDX-License-Identifier: GPL-2.0
/* Work requests that send nothing, but bind, register or invalidate a key. */
#include "memory/fastreg.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "pair/qp.h"
#include "tx/tx.h"

/**
 * weft_tx_do_local() - do a work request at this end
 * @acc: the queue pair, as memory knows it
 * @wr: a private copy for which weft_tx_is_local() is true, its shape checked
 *
 * Earlier requests are laid out by now, so only an unanswered read may still need the
 * key. A program that cares posts with a fence.
 *
 * Context: process, tx.lock held.
 * Return: true if done; false if the key may not be changed so.
 */
bool weft_tx_do_local(struct weft_accessor *acc, const struct weft_sq_wr *wr)
{
	weft_accessor_assert_sends(acc);
	switch (wr->opcode) {
	case WEFT_OP_LOCAL_INV:
		return weft_invalidate(acc, wr->ex, false) == WEFT_KEY_OK;
	case WEFT_OP_BIND_MW:
		return weft_mw_bind(acc, wr->ex, wr->rkey, &wr->bind);
	default:
		return weft_fast_register(acc, wr->ex, wr->rkey, wr->bind.access);
	}
}
