// SPDX-License-Identifier: GPL-2.0
/* Mistakes of the peer: each is answered by a Terminate, and ends only this connection. */
#include <linux/string.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "rx/rx.h"

/* Stops the reading. Only the first reason is kept. */
static enum weft_rx_verdict rx_end_for(struct weft_rx *rx, enum weft_rx_failure failure)
{
	weft_rx_let_go(rx);
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
	weft_rx_assert_locked(rx);
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
	weft_rx_assert_locked(rx);
	return rx_end_for(rx, WEFT_RX_BROKEN);
}

/* Ends the connection for a shortage at this end: the Terminate shows no header. */
enum weft_rx_verdict weft_rx_refuse_local(struct weft_rx *rx)
{
	weft_rx_assert_locked(rx);
	rx->seg.hdr_len = 0;
	return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
}

/* Refuses the peer's access to a region, with the code for @err. */
enum weft_rx_verdict weft_rx_refuse_key(struct weft_rx *rx, enum weft_key_error err)
{
	bool write = rx->seg.ddp.tagged;
	u8 code;

	weft_rx_assert_locked(rx);
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
	weft_rx_assert_locked(rx);
	weft_count(rx->acc->dev->counters, WEFT_CNT_RX_CRC_ERRORS, 1);
	rx->seg.hdr_len = 0; /* a header under a bad CRC cannot be believed */
	return weft_rx_refuse(rx, WEFT_TERM_LLP, WEFT_LLP_MPA, WEFT_MPA_CRC);
}

static void rx_blame(const struct weft_rx *rx, struct weft_blame *blame)
{
	bool request = rx->place.target == WEFT_RX_TO_BYTES &&
		       rx->seg.ddp.opcode == WEFT_RDMAP_READ_REQ &&
		       rx->place.have == WEFT_READ_REQ_LEN;

	weft_blame_set(blame, rx->seg.hdr, rx->seg.hdr_len, rx->seg.len,
		       request ? rx->place.bytes : NULL);
}

static enum ib_event_type rx_event(const struct weft_term *term)
{
	if (term->layer == WEFT_TERM_RDMAP && term->etype == WEFT_RDMAP_PROTECTION)
		return IB_EVENT_QP_ACCESS_ERR;
	if (term->layer == WEFT_TERM_RDMAP && term->etype == WEFT_RDMAP_LOCAL)
		return IB_EVENT_QP_FATAL;
	return IB_EVENT_QP_REQ_ERR;
}

/* Fails the queue pair for the receive side's failure. */
void weft_rx_fail(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;
	struct weft_blame blame;

	weft_qp_assert_locked(qp);
	if (rx->failure == WEFT_RX_REFUSED) {
		rx_blame(rx, &blame);
		weft_qp_fail_for(qp, &rx->term, &blame, rx_event(&rx->term));
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
	weft_rx_assert_locked(rx);
	weft_rx_refuse(rx, layer, etype, code);
	weft_rx_fail(rx);
}
