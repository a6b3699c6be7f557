// SPDX-License-Identifier: GPL-2.0
/*
 * What the peer got wrong: a Terminate, and the end of this connection and of nothing
 * else.
 *
 * Everything here runs with the socket lock held and does not sleep.
 */
#include <linux/string.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "pair/qp.h"
#include "rx/place.h"
#include "rx/rx.h"
#include "rx/split.h"

/**
 * weft_rx_let_go() - let the region go that is held between pieces of a message
 * @rx: the receive side
 *
 * Before a packet is left, a key is invalidated or another object is called:
 * what waits for the region waits for no more than a packet's bytes.
 */
void weft_rx_let_go(struct weft_rx *rx)
{
	weft_rx_assert_locked(rx);
	weft_access_end(&rx->held);
}

/**
 * weft_rx_refuse() - end the connection because of what the peer sent
 * @qp: the queue pair
 * @layer: enum weft_term_layer
 * @etype: error type of that layer
 * @code: error code of that type
 */
void weft_rx_refuse(struct weft_qp *qp, u8 layer, u8 etype, u8 code)
{
	const struct weft_term term = { layer, etype, code };
	struct weft_rx *rx = &qp->rx;
	bool request;
	u32 hdr = rx->hdr_len > WEFT_MPA_LEN ? rx->hdr_len - WEFT_MPA_LEN : 0;

	weft_qp_assert_locked(qp);
	weft_rx_let_go(rx);
	request = rx->target == WEFT_RX_TO_BYTES && rx->ddp.opcode == WEFT_RDMAP_READ_REQ &&
		  rx->done == WEFT_READ_REQ_LEN;
	weft_ending_show(&qp->ending, rx->hdr + WEFT_MPA_LEN, hdr, rx->ulpdu_len,
			 request ? rx->bytes : NULL);
	rx->state = WEFT_RX_STOPPED;
	weft_qp_fail(qp, &term, layer == WEFT_TERM_RDMAP &&
		     etype == WEFT_RDMAP_PROTECTION ?
		     IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR);
}

/* Refuses an access of the peer to a region, with the code of its kind. */
enum weft_rx_verdict weft_rx_refuse_key(struct weft_qp *qp,
					enum weft_key_error err)
{
	bool write = qp->rx.ddp.tagged;
	u8 code;

	weft_qp_assert_locked(qp);
	if (err == WEFT_KEY_ACCESS) {
		weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION,
			       WEFT_RP_ACCESS);
		return WEFT_RX_BAD;
	}
	switch (err) {
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
		weft_rx_refuse(qp, WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, code);
	else
		weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, code);
	return WEFT_RX_BAD;
}

/* Ends the connection of a peer whose FPDU has come with a wrong CRC. */
void weft_rx_refuse_crc(struct weft_qp *qp)
{
	weft_qp_assert_locked(qp);
	weft_count(qp->dev->counters, WEFT_CNT_RX_CRC_ERRORS, 1);
	qp->rx.hdr_len = 0; /* a header under a bad CRC names nothing */
	weft_rx_refuse(qp, WEFT_TERM_LLP, WEFT_LLP_MPA, WEFT_MPA_CRC);
}
