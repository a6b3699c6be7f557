// SPDX-License-Identifier: GPL-2.0
/*
 * Our reads and atomics as they are answered, oldest first.
 *
 * Everything here runs with the socket lock held and does not sleep.
 */
#include "base/weft.h"
#include "memory/mr.h"
#include "pair/qp.h"
#include "rx/place.h"
#include "rx/rx.h"

/* The request of ours that is to be answered next, or NULL. */
struct weft_read *weft_rx_oldest_read(struct weft_qp *qp)
{
	weft_qp_assert_locked(qp);
	return weft_reads_oldest(&qp->reads);
}

/**
 * weft_rx_aim_at_read() - place what comes now where a request of ours wants it
 * @qp: the queue pair
 * @read: the oldest request of ours
 */
void weft_rx_aim_at_read(struct weft_qp *qp, const struct weft_read *read)
{
	weft_qp_assert_locked(qp);
	qp->rx.target = WEFT_RX_TO_READ;
	weft_rx_aim(&qp->rx, qp->ib.pd, IB_ACCESS_LOCAL_WRITE, read->sge,
		    read->num_sge, read->got);
}

/* The memory that an answer goes to is not to be had any more. */
enum weft_rx_verdict weft_rx_read_failed(struct weft_qp *qp)
{
	struct weft_read *read = weft_rx_oldest_read(qp);

	weft_qp_assert_locked(qp);
	weft_request_fail(read->request, IB_WC_LOC_PROT_ERR, WEFT_VE_LKEY);
	weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
	return WEFT_RX_BAD;
}

/*
 * The oldest request of ours has its whole answer. WEFT_RX_BAD: what it was to
 * invalidate is not to be invalidated.
 */
enum weft_rx_verdict weft_rx_read_done(struct weft_qp *qp)
{
	struct weft_read *read = weft_rx_oldest_read(qp);

	weft_qp_assert_locked(qp);
	if (read->request) {
		read->request->done = true;
		if (read->inv &&
		    weft_invalidate(&qp->acc, read->inv, false) != WEFT_KEY_OK) {
			weft_request_fail(read->request, IB_WC_MW_BIND_ERR, WEFT_VE_BIND);
			weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
			return WEFT_RX_BAD;
		}
	}
	weft_reads_answered(&qp->reads);
	weft_qp_complete_sends(qp);
	/* A fence, or another read, may have waited for this one. */
	if (weft_ring_pending(&qp->sq))
		weft_qp_kick(qp);
	return WEFT_RX_OK;
}
