// SPDX-License-Identifier: GPL-2.0
/* Mistakes of the peer: each is answered by a Terminate, and ends only this connection. */
#include <linux/string.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "rx/rx.h"

/* Stops the reading. Only the first reason is kept. */
static enum weft_rx_verdict rx_end_for(struct weft_rx *rx, enum weft_rx_failure failure)
{
	weft_access_end(&rx->place.access);
	rx->stopped = true;
	if (rx->failure == WEFT_RX_FINE)
		rx->failure = failure;
	return WEFT_RX_BAD;
}

/*
 * Ends the connection by a Terminate of @layer, @etype and @code. Nothing more is read, so that the
 * last header stays until weft_rx_fail() sends it back to the peer. Returns WEFT_RX_BAD.
 */
enum weft_rx_verdict weft_rx_refuse(struct weft_rx *rx, u8 layer, u8 etype, u8 code)
{
	weft_qp_assert_locked(rx->qp);
	if (rx->failure == WEFT_RX_FINE) {
		rx->term = (struct weft_term){ layer, etype, code };
		if (weft_term_of_access(&rx->term))
			weft_count(rx->acc->dev->counters, WEFT_CNT_RESP_REMOTE_ACCESS_ERRORS, 1);
	}
	return rx_end_for(rx, WEFT_RX_REFUSED);
}

/* Ends the connection without a Terminate. */
enum weft_rx_verdict weft_rx_break(struct weft_rx *rx)
{
	weft_qp_assert_locked(rx->qp);
	return rx_end_for(rx, WEFT_RX_BROKEN);
}

/* Ends the connection for a shortage at this end: the Terminate shows no header. */
enum weft_rx_verdict weft_rx_refuse_local(struct weft_rx *rx)
{
	weft_qp_assert_locked(rx->qp);
	rx->seg.hdr_len = 0;
	return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
}

/* Refuses the peer's access to a region, with the code for @err. */
enum weft_rx_verdict weft_rx_refuse_key(struct weft_rx *rx, enum weft_key_error err)
{
	bool write = rx->seg.ddp.tagged;
	u8 code;

	weft_qp_assert_locked(rx->qp);
	switch (err) {
	case WEFT_KEY_ACCESS:
		/* DDP, which judges a write, has no code for rights (RFC 5041, 7.2). */
		code = write ? WEFT_DT_STAG : WEFT_RP_ACCESS;
		break;
	case WEFT_KEY_PD:
		code = write ? WEFT_DT_NOT_ASSOCIATED : WEFT_RP_NOT_ASSOCIATED;
		break;
	case WEFT_KEY_BOUNDS:
		code = write ? WEFT_DT_BOUNDS : WEFT_RP_BOUNDS;
		break;
	case WEFT_KEY_WRAP:
		code = write ? WEFT_DT_WRAP : WEFT_RP_WRAP;
		break;
	default:
		code = write ? WEFT_DT_STAG : WEFT_RP_STAG;
	}
	if (write)
		return weft_rx_refuse(rx, WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, code);
	return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, code);
}

enum weft_rx_verdict weft_rx_refuse_crc(struct weft_rx *rx)
{
	weft_qp_assert_locked(rx->qp);
	weft_count(rx->acc->dev->counters, WEFT_CNT_RX_CRC_ERRORS, 1);
	rx->seg.hdr_len = 0; /* a header under a bad CRC cannot be believed */
	return weft_rx_refuse(rx, WEFT_TERM_LLP, WEFT_LLP_MPA, WEFT_MPA_CRC);
}

/* Fails the queue pair for the receive side's failure. */
void weft_rx_fail(struct weft_rx *rx)
{
	const struct weft_term *term = &rx->term;
	enum ib_event_type event = IB_EVENT_QP_REQ_ERR;
	struct weft_qp *qp = rx->qp;
	struct weft_blame blame;
	bool request;

	weft_qp_assert_locked(qp);
	if (rx->failure == WEFT_RX_REFUSED) {
		request = rx->place.target == WEFT_RX_TO_BYTES &&
			  rx->seg.ddp.opcode == WEFT_RDMAP_READ_REQ &&
			  rx->place.have == WEFT_READ_REQ_LEN;
		weft_blame_set(&blame, rx->seg.hdr, rx->seg.hdr_len, rx->seg.len,
			       request ? rx->place.bytes : NULL);
		if (term->layer == WEFT_TERM_RDMAP && term->etype == WEFT_RDMAP_PROTECTION)
			event = IB_EVENT_QP_ACCESS_ERR;
		else if (term->layer == WEFT_TERM_RDMAP && term->etype == WEFT_RDMAP_LOCAL)
			event = IB_EVENT_QP_FATAL;
		weft_qp_fail_for(qp, term, &blame, event);
	} else {
		weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
	}
	rx->failure = WEFT_RX_FINE;
}

/*
 * As weft_rx_refuse(), but fails the queue pair at once. Called before a request or receive
 * completes in error: a program that sees the completion may destroy its queue pair at once, and
 * without an earlier failure the peer would get no Terminate.
 */
void weft_rx_refuse_now(struct weft_rx *rx, u8 layer, u8 etype, u8 code)
{
	weft_qp_assert_locked(rx->qp);
	weft_rx_refuse(rx, layer, etype, code);
	weft_rx_fail(rx);
}
