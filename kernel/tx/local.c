// SPDX-License-Identifier: GPL-2.0
/* Work requests that send nothing: they bind, register or invalidate a key. */
#include "memory/fastreg.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "pair/qp.h"
#include "tx/tx.h"

/*
 * Does a local work request, a private copy whose shape was checked. Earlier requests are laid out
 * by now, so only an unanswered READ may still need the key; a program that cares posts with a
 * fence. Returns false if the key may not be changed in this way.
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
