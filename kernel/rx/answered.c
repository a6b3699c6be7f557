// SPDX-License-Identifier: GPL-2.0
/* Answers to our reads and atomics, oldest first. */
#include "memory/mr.h"
#include "pair/qp.h"
#include "rx/place.h"
#include "rx/rx.h"

/* Directs the next payload to the memory of @read, our oldest. */
void weft_rx_aim_at_read(struct weft_rx *rx, struct weft_read *read)
{
	weft_rx_assert_locked(rx);
	rx->place.target = WEFT_RX_TO_READ;
	rx->place.read = read;
	weft_rx_aim(rx, rx->acc->pd, IB_ACCESS_LOCAL_WRITE, read->sge, read->num_sge,
		    read->got);
}

/* Refuses an answer whose memory was invalidated or deregistered meanwhile. */
enum weft_rx_verdict weft_rx_read_failed(struct weft_rx *rx)
{
	weft_rx_assert_locked(rx);
	weft_rx_refuse_now(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
	weft_request_fail(rx->place.read->request, IB_WC_LOC_PROT_ERR, WEFT_VE_LKEY);
	return WEFT_RX_BAD;
}

/* Our oldest request has its whole answer. WEFT_RX_BAD: its key may not be invalidated. */
enum weft_rx_verdict weft_rx_read_done(struct weft_rx *rx, struct weft_reads *reads)
{
	const struct weft_read *read = rx->place.read;

	weft_rx_assert_locked(rx);
	if (read->request) {
		if (read->inv && weft_invalidate(rx->acc, read->inv, false) != WEFT_KEY_OK) {
			weft_rx_refuse_now(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
			weft_request_fail(read->request, IB_WC_MW_BIND_ERR, WEFT_VE_BIND);
			return WEFT_RX_BAD;
		}
		weft_request_done(read->request);
	}
	weft_reads_answered(reads);
	return WEFT_RX_OK;
}
