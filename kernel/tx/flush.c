// SPDX-License-Identifier: GPL-2.0
/* What is left of the send ring when a queue pair has failed. */
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "pair/qp.h"
#include "tx/request.h"
#include "tx/tx.h"

/**
 * weft_tx_flush_requests() - complete everything in the send ring in error
 * @qp: a queue pair in ERR without a stream; the caller holds tx.lock
 */
void weft_tx_flush_requests(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	const struct weft_sq_wr *wr = &tx->msg.copy.wr;
	struct weft_inflight *w;
	int pending;
	u32 i, blocks;

	weft_qp_assert_locked(qp);
	lockdep_assert_held(&tx->lock);
	for (i = tx->tail; i != tx->head; i++) {
		w = weft_tx_inflight(tx, i);
		if (w->done)
			continue;
		w->status = IB_WC_WR_FLUSH_ERR;
		w->vendor = WEFT_VE_CONNECTION;
		w->done = true;
	}
	weft_tx_complete(qp);
	/* What is there now; a post from here on rings the doorbell for itself. */
	for (pending = weft_ring_pending(&qp->sq); pending > 0; pending -= blocks) {
		weft_tx_copy_blocks(qp, 0, 1);
		blocks = clamp_t(u32, wr->num_blocks, 1, pending);
		w = weft_tx_admit(qp, wr, blocks);
		w->status = IB_WC_WR_FLUSH_ERR;
		w->vendor = WEFT_VE_CONNECTION;
		w->done = true;
		weft_tx_complete(qp);
		cond_resched();
	}
}
