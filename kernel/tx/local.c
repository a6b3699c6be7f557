// SPDX-License-Identifier: GPL-2.0
/* Work requests that send nothing: they change what a key names. */
#include "memory/fastreg.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "pair/qp.h"
#include "tx/tx.h"

/* Whether a work request is done at this end alone. */
bool weft_tx_is_local(u8 opcode)
{
	return opcode == WEFT_OP_LOCAL_INV || opcode == WEFT_OP_BIND_MW ||
	       opcode == WEFT_OP_REG_MR;
}

/**
 * weft_tx_do_local() - do a work request at this end
 * @acc: the queue pair, as memory knows it; the socket lock is held
 * @wr: a private copy for which weft_tx_is_local() is true, its shape checked
 *
 * What was posted before it has been laid out, so that nothing but a read not
 * yet answered, for which there is the fence, still needs the key.
 *
 * Return: false if the key is not to be changed like this.
 */
bool weft_tx_do_local(struct weft_accessor *acc, const struct weft_sq_wr *wr)
{
	weft_accessor_assert_locked(acc);
	switch (wr->opcode) {
	case WEFT_OP_LOCAL_INV:
		return weft_invalidate(acc, wr->ex, false) == WEFT_KEY_OK;
	case WEFT_OP_BIND_MW:
		return weft_mw_bind(acc, wr->ex, wr->rkey, &wr->bind);
	default:
		return weft_fast_register(acc, wr->ex, wr->rkey, wr->bind.access);
	}
}
