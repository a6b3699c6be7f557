// SPDX-License-Identifier: GPL-2.0
/*
 * Our reads and atomics as they are answered, oldest first.
 *
 * Everything here runs with the socket lock held and does not sleep.
 */
#include "memory/mr.h"
#include "pair/qp.h"
#include "rx/place.h"
#include "rx/rx.h"

/**
 * weft_rx_aim_at_read() - place the next payload into the memory of a read of ours
 * @rx: the receive side
 * @read: the oldest read of ours
 *
 * Context: any, socket lock held; does not sleep.
 */
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

/**
 * weft_rx_read_done() - the oldest request of ours has its whole answer
 * @rx: the receive side
 * @reads: the requests of ours
 *
 * Context: any, socket lock held; does not sleep.
 * Return: WEFT_RX_OK if requests are to be completed; WEFT_RX_BAD if the read names a key
 * that may not be invalidated.
 */
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
