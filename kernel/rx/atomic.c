// SPDX-License-Identifier: GPL-2.0
/*
 * Atomics as they arrive: the peer's requests, checked and queued for the
 * transmit side, which does them when their turn to be answered comes; and the
 * answers to ours.
 *
 * Everything here runs with the socket lock held and does not sleep.
 */
#include <linux/build_bug.h>

#include "memory/mr.h"
#include "pair/qp.h"
#include "rx/place.h"
#include "rx/rx.h"

static_assert(sizeof_field(struct weft_rx, bytes) >= WEFT_ATOMIC_REQ_LEN);
static_assert(sizeof_field(struct weft_rx, bytes) >= WEFT_ATOMIC_RESP_LEN);

/* What RFC 7306 leaves without a code of its own. */
static enum weft_rx_verdict weft_rx_refuse_operation(struct weft_qp *qp, u8 code)
{
	weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION, code);
	return WEFT_RX_BAD;
}

/**
 * weft_rx_end_atomic_request() - an atomic request of the peer has come
 * @qp: the queue pair; number and length of the request are good
 *
 * Return: WEFT_RX_OK, or WEFT_RX_BAD: refused.
 */
enum weft_rx_verdict weft_rx_end_atomic_request(struct weft_qp *qp)
{
	struct weft_atomic_req req;
	enum weft_key_error err;
	struct weft_mr *mr;
	bool aligned;

	weft_qp_assert_locked(qp);
	weft_atomic_req_decode(qp->rx.bytes, &req);
	if (!weft_atomic_op_ok(req.op))
		return weft_rx_refuse_operation(qp, WEFT_RO_OPCODE);
	if (req.to & (WEFT_ATOMIC_LEN - 1))
		return weft_rx_refuse_operation(qp, WEFT_RO_CATASTROPHIC_STREAM);
	mr = weft_mr_get(&qp->acc, qp->ib.pd, req.stag, req.to, WEFT_ATOMIC_LEN,
			 IB_ACCESS_REMOTE_ATOMIC, &err);
	if (!mr)
		return weft_rx_refuse_key(qp, err);
	aligned = weft_mr_word(mr, req.to);
	weft_mr_put(mr);
	if (!aligned)
		return weft_rx_refuse_operation(qp, WEFT_RO_CATASTROPHIC_STREAM);

	qp->rx.read_msn++;
	weft_answers_push_atomic(&qp->answers, &req);
	weft_qp_kick(qp);
	return WEFT_RX_OK;
}

/**
 * weft_rx_begin_atomic_response() - may this answer to an atomic come?
 * @qp: the queue pair; its rx holds the decoded header
 *
 * Return: WEFT_RX_OK or WEFT_RX_BAD.
 */
enum weft_rx_verdict weft_rx_begin_atomic_response(struct weft_qp *qp)
{
	struct weft_read *read = weft_rx_oldest_read(qp);
	struct weft_rx *rx = &qp->rx;
	u8 code;

	weft_qp_assert_locked(qp);
	rx->target = WEFT_RX_TO_BYTES;
	if (rx->ddp.mo || !rx->ddp.last)
		code = WEFT_DU_MO;
	else if (rx->ddp.msn != rx->atomic_msn)
		code = WEFT_DU_MSN_RANGE;
	else if (!read || !read->atomic)
		code = WEFT_DU_NO_BUFFER; /* it is not the turn of one */
	else if (rx->payload_len != WEFT_ATOMIC_RESP_LEN)
		code = WEFT_DU_TOO_LONG;
	else
		return WEFT_RX_OK;
	weft_rx_refuse(qp, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, code);
	return WEFT_RX_BAD;
}

/**
 * weft_rx_end_atomic_response() - the answer to our oldest request has come
 * @qp: the queue pair; that request is an atomic
 *
 * Return: WEFT_RX_OK, or WEFT_RX_BAD: it is the answer to something else, or
 * there is nowhere to put the value any more.
 */
enum weft_rx_verdict weft_rx_end_atomic_response(struct weft_qp *qp)
{
	struct weft_read *read = weft_rx_oldest_read(qp);
	enum weft_rx_verdict verdict;
	struct weft_atomic_resp resp;

	weft_qp_assert_locked(qp);
	weft_atomic_resp_decode(qp->rx.bytes, &resp);
	if (resp.id != read->sink)
		return weft_rx_refuse_operation(qp, WEFT_RO_CATASTROPHIC_STREAM);
	weft_rx_aim_at_read(qp, read);
	verdict = weft_rx_place(qp, (const u8 *)&resp.original,
				sizeof(resp.original));
	weft_rx_let_go(&qp->rx);
	if (verdict != WEFT_RX_OK)
		return verdict;
	qp->rx.atomic_msn++;
	return weft_rx_read_done(qp);
}
