// SPDX-License-Identifier: GPL-2.0
/* Work requests between their fetch and their completion. */
#include "pair/qp.h"
#include "queue/cq.h"

/**
 * weft_inflight_complete() - complete what is done, in the order it was posted
 * @qp: the queue pair; the caller holds what protects its data path
 *
 * Stops at the first that is not done, or whose last byte the stream has not taken.
 */
void weft_inflight_complete(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_completion wc = { .qpn = qp->acc.qpn };
	struct weft_inflight *w;
	bool any = false;

	for (; tx->tail != tx->unsent; tx->tail++) {
		w = weft_tx_inflight(tx, tx->tail);
		if (!w->done)
			break;
		any = true;
		if (tx->broken && !w->status) {
			/* Sent, perhaps, but behind one that the peer refused. */
			w->status = IB_WC_WR_FLUSH_ERR;
			w->vendor = WEFT_VE_CONNECTION;
		}
		if (!w->signaled && !w->status)
			continue;
		tx->broken |= w->status != IB_WC_SUCCESS;
		wc.wr_id = w->wr_id;
		wc.byte_len = w->byte_len;
		wc.ex = w->vendor;
		wc.opcode = w->opcode;
		wc.status = w->status;
		/* The slot first: who polls this completion may post at once. */
		weft_ring_release(&qp->sq, w->ring_end);
		if (!weft_cq_add(qp->scq, &wc))
			weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
	}
	if (any)
		weft_ring_release(&qp->sq,
				  weft_tx_inflight(tx, tx->tail - 1)->ring_end);
}
