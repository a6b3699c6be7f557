// SPDX-License-Identifier: GPL-2.0
/* Delivery, by operation: the effect of a message whose segments are all placed (place.c). */
#include "base/trace.h"
#include "base/weft.h"
#include "memory/mr.h"
#include "queue/cq.h"
#include "rx/rx.h"

static noinline enum weft_rx_verdict rx_deliver_read_request(struct weft_rx *rx,
							     struct weft_peer_reads *answers)
{
	struct weft_peer_read ask = {};
	const struct weft_read_req *req = &ask.read_req;
	enum weft_key_error err;
	struct weft_mr *mr;

	weft_read_req_decode(rx->place.bytes, &ask.read_req);
	if (req->size) {
		mr = weft_mr_access(rx->acc, rx->acc->pd, req->src_stag, req->src_to,
				    req->size, IB_ACCESS_REMOTE_READ, &err);
		if (!mr)
			return weft_rx_refuse_key(rx, err);
		weft_mr_access_end(mr);
	}
	rx->read_msn++;
	weft_count(rx->acc->dev->counters, WEFT_CNT_RX_READ_REQUESTS, 1);
	weft_peer_reads_push(answers, &ask);
	weft_qp_kick(rx->qp); /* the worker answers */
	return WEFT_RX_OK;
}

/*
 * Checks and queues an atomic request, whose MSN and length are good; the transmit side executes it
 * when it answers. Some reasons to refuse it have no code of their own in RFC 7306.
 */
static noinline enum weft_rx_verdict rx_deliver_atomic_request(struct weft_rx *rx,
							       struct weft_peer_reads *answers)
{
	struct weft_peer_read ask = { .atomic = true };
	const struct weft_atomic_req *req = &ask.atomic_req;
	enum weft_key_error err;
	struct weft_mr *mr;
	bool aligned;

	weft_atomic_req_decode(rx->place.bytes, &ask.atomic_req);
	if (!weft_atomic_op_ok(req->op))
		return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION, WEFT_RO_OPCODE);
	if (req->to & (WEFT_ATOMIC_LEN - 1))
		return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION,
				      WEFT_RO_CATASTROPHIC_STREAM);
	mr = weft_mr_access(rx->acc, rx->acc->pd, req->stag, req->to, WEFT_ATOMIC_LEN,
			    IB_ACCESS_REMOTE_ATOMIC, &err);
	if (!mr)
		return weft_rx_refuse_key(rx, err);
	aligned = weft_mr_word(mr, req->to);
	weft_mr_access_end(mr);
	if (!aligned)
		return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_OPERATION,
				      WEFT_RO_CATASTROPHIC_STREAM);

	rx->read_msn++;
	weft_count(rx->acc->dev->counters, WEFT_CNT_RX_ATOMIC_REQUESTS, 1);
	weft_peer_reads_push(answers, &ask);
	weft_qp_kick(rx->qp);
	return WEFT_RX_OK;
}

/* Ends the connection as the peer asks, and fails the request of ours that the Terminate blames. */
static noinline enum weft_rx_verdict rx_deliver_terminate(struct weft_rx *rx,
							  const struct weft_reads *reads)
{
	struct weft_read *read = NULL;
	struct weft_term term;
	u32 msn;
	u8 op;

	weft_count(rx->acc->dev->counters, WEFT_CNT_RX_TERMINATES, 1);
	if (weft_term_decode(rx->place.bytes, rx->seg.payload_len, &term, &op, &msn)) {
		trace_weft_rx_terminate(rx->acc, &term);
		if (weft_term_of_access(&term))
			weft_count(rx->acc->dev->counters, WEFT_CNT_REQ_REMOTE_ACCESS_ERRORS, 1);
		read = weft_reads_named(reads, msn);
	}
	if (read && read->request &&
	    op == (read->atomic ? WEFT_RDMAP_ATOMIC_REQ : WEFT_RDMAP_READ_REQ))
		weft_request_fail(read->request, term.layer == WEFT_TERM_RDMAP &&
				  term.etype == WEFT_RDMAP_PROTECTION ?
				  IB_WC_REM_ACCESS_ERR : IB_WC_REM_OP_ERR, WEFT_VE_REMOTE);
	return weft_rx_break(rx);
}

/* Our oldest request has its whole answer. WEFT_RX_BAD: its key may not be invalidated. */
static enum weft_rx_verdict rx_read_done(struct weft_rx *rx, struct weft_reads *reads)
{
	const struct weft_read *read = rx->place.read;
	struct weft_qp *qp = rx->qp;

	if (read->request) {
		if (read->inv && weft_invalidate(rx->acc, read->inv, false) != WEFT_KEY_OK) {
			weft_rx_refuse_now(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
			weft_request_fail(read->request, IB_WC_MW_BIND_ERR, WEFT_VE_BIND);
			return WEFT_RX_BAD;
		}
		weft_request_done(read->request);
	}
	weft_reads_answered(reads);
	weft_qp_complete_sends(qp);
	/*
	 * A fence or another read may wait for this read. Pairs with weft_tx_take_request(), which
	 * reads the ring, then the reads, with acquire: either the transmit side sees that this
	 * read has ended, or this side sees the request in the ring. POWER needs more than acquire;
	 * see base/compat.h.
	 */
	smp_mb();
	if (weft_ring_pending(&qp->sq))
		weft_qp_kick(qp);
	return WEFT_RX_OK;
}

/* The last segment of a message is placed: delivers the message. */
enum weft_rx_verdict weft_rx_deliver(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	enum weft_key_error err;
	struct weft_inbound *m;

	weft_qp_assert_locked(qp);
	weft_access_yield(&rx->place.access);
	if (READ_ONCE(qp->scq->streak.length))
		weft_streak_received(&qp->scq->streak);
	switch (rx->seg.ddp.opcode) {
	case WEFT_RDMAP_WRITE:
		/* A Write makes no completion here. */
		weft_count(rx->acc->dev->counters, WEFT_CNT_RX_WRITE_REQUESTS, 1);
		return WEFT_RX_OK;
	case WEFT_RDMAP_ATOMIC_RESP:
		rx->atomic_msn++;
		return rx_read_done(rx, &qp->reads);
	case WEFT_RDMAP_READ_RESP:
		return rx_read_done(rx, &qp->reads);
	case WEFT_RDMAP_READ_REQ:
		return rx_deliver_read_request(rx, &qp->peer_reads);
	case WEFT_RDMAP_ATOMIC_REQ:
		return rx_deliver_atomic_request(rx, &qp->peer_reads);
	case WEFT_RDMAP_TERMINATE:
		verdict = rx_deliver_terminate(rx, &qp->reads);
		weft_qp_complete_sends(qp);
		return verdict;
	}
	/* A SEND or immediate data: delivers the message in turn, if it is whole. */
	m = weft_inbox_at(&rx->sends, rx->sends.next);
	if (!m->whole)
		return WEFT_RX_OK;
	if (m->opcode == WEFT_RDMAP_SEND_INV || m->opcode == WEFT_RDMAP_SEND_SE_INV) {
		err = weft_invalidate(rx->acc, m->ex, true);
		if (err != WEFT_KEY_OK) /* RFC 5040, 4.8 */
			return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION,
					      err == WEFT_KEY_UNKNOWN ? WEFT_RP_STAG :
					      WEFT_RO_CANNOT_INVALIDATE);
	}
	rx->written.len = 0;
	if (m->recv.active)
		verdict = weft_rx_complete_recv(rx, m, IB_WC_SUCCESS, 0);
	weft_inbox_pass(&rx->sends);
	return verdict;
}
