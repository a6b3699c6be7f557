// SPDX-License-Identifier: GPL-2.0
/* Completion in error of the whole send ring, when a queue pair has failed. */
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "pair/qp.h"
#include "tx/request.h"
#include "tx/tx.h"

/* Completes the whole send ring in error. The queue pair is in ERR without a stream. May sleep. */
void weft_tx_flush_requests(struct weft_qp *qp)
{
	union weft_wr_copy *copy = &qp->tx.msg.copy;
	struct weft_request *w;
	int pending;
	u32 blocks;

	lockdep_assert_held(&qp->tx.lock.mutex);
	weft_inflight_flush(&qp->inflight);
	weft_tx_complete(qp);
	/* Only requests posted by now: a later post rings the doorbell, which flushes again. */
	for (pending = weft_ring_pending(&qp->sq); pending > 0; pending -= blocks) {
		weft_tx_copy_blocks(copy, &qp->sq, 0, 1);
		blocks = clamp_t(u32, copy->wr.num_blocks, 1, pending);
		w = weft_tx_admit(&qp->inflight, &qp->sq, &copy->wr, blocks, qp->sq_sig_all);
		weft_request_fail(w, IB_WC_WR_FLUSH_ERR, WEFT_VE_CONNECTION);
		weft_tx_complete(qp);
		cond_resched();
	}
}
