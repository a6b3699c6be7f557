// SPDX-License-Identifier: GPL-2.0
/*
 * From work requests to messages.
 *
 * Everything here runs in process context, with the socket lock held or, for the
 * flush, with the stream gone and tx.lock held. It may sleep: lending allocates,
 * so no region is held then, nor anything else that softirq waits for.
 */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "base/limit.h"
#include "base/weft.h"
#include "memory/mr.h"
#include "pair/qp.h"
#include "queue/cq.h"
#include "tx/loan.h"
#include "tx/request.h"
#include "tx/tx.h"

/* A key was not to be bound, registered or invalidated like this. */
static const struct weft_wr_error weft_bind_error = {
	IB_WC_MW_BIND_ERR, WEFT_VE_BIND
};

/*
 * Enters the READ or atomic just admitted (NULL: an RTR indication) among those
 * to be answered.
 *
 * The answer comes back with the STag and offset, or the identifier, sent with
 * the request. They name the request and a position in it, so that no peer can
 * use an answer to reach memory that was not asked to be filled.
 */
static struct weft_read *weft_tx_admit_read(struct weft_tx *tx,
					    const struct weft_sq_wr *wr,
					    const struct weft_sge *sge,
					    u32 total)
{
	struct weft_read *read = weft_tx_read(tx, tx->read_head);

	read->sink = ++tx->read_head;
	read->rtr = !wr;
	read->atomic = wr && !weft_op_is_read(wr->opcode);
	read->inflight = tx->head - 1;
	read->inv = wr && wr->opcode == WEFT_OP_READ_INV ? wr->ex : 0;
	read->len = total;
	read->got = 0;
	read->num_sge = wr ? wr->num_sge : 0;
	memcpy(read->sge, sge, read->num_sge * sizeof(*sge));
	return read;
}

/* Makes the message that asks for it, of the payload in msg.copy.bytes. */
static void weft_tx_ask(struct weft_tx *tx, u8 opcode, u32 len)
{
	struct weft_tx_msg *msg = &tx->msg;

	msg->hdr.opcode = opcode;
	msg->hdr.qn = WEFT_QN_READ_REQ;
	msg->hdr.msn = ++tx->read_msn;
	msg->local = true;
	msg->total = len;
}

/* Makes a read request of the READ just admitted. */
static void weft_tx_begin_read(struct weft_qp *qp, const struct weft_sq_wr *wr,
			       const struct weft_sge *sge, u32 total)
{
	struct weft_read *read = weft_tx_admit_read(&qp->tx, wr, sge, total);
	struct weft_read_req req;

	req.sink_stag = read->sink;
	req.sink_to = 0;
	req.size = total;
	req.src_stag = wr ? wr->rkey : 0;
	req.src_to = wr ? wr->remote_addr : 0;
	weft_read_req_encode(qp->tx.msg.copy.bytes, &req);
	weft_tx_ask(&qp->tx, WEFT_RDMAP_READ_REQ, WEFT_READ_REQ_LEN);
}

/* Makes an atomic request of the atomic just admitted. */
static void weft_tx_begin_atomic(struct weft_qp *qp,
				 const struct weft_sq_wr *wr)
{
	const struct weft_atomic_operands *operands = &wr->atomic.operands;
	struct weft_read *read = weft_tx_admit_read(&qp->tx, wr, wr->sge,
						    WEFT_ATOMIC_LEN);
	struct weft_atomic_req req = {
		.op = WEFT_ATOMIC_FETCH_ADD,
		.id = read->sink,
		.stag = wr->rkey,
		.to = wr->remote_addr,
		.data = operands->compare_add,
	};

	if (wr->opcode == WEFT_OP_CMP_SWP) {
		req.op = WEFT_ATOMIC_CMP_SWAP;
		req.data = operands->swap;
		req.mask = U64_MAX;
		req.compare = operands->compare_add;
		req.compare_mask = U64_MAX;
	}
	weft_atomic_req_encode(qp->tx.msg.copy.bytes, &req);
	weft_tx_ask(&qp->tx, WEFT_RDMAP_ATOMIC_REQ, WEFT_ATOMIC_REQ_LEN);
}

/* Turns the work request copied and checked into the message to be laid out. */
static void weft_tx_begin_request(struct weft_qp *qp, u32 total)
{
	struct weft_tx_msg *msg = &qp->tx.msg;
	const struct weft_sge *sge = msg->copy.sge;
	const struct weft_sq_wr *wr = &msg->copy.wr;
	bool solicited = wr->flags & WEFT_WR_SOLICITED;

	memset(&msg->hdr, 0, sizeof(msg->hdr));
	msg->kind = WEFT_MSG_REQUEST;
	msg->total = total;
	msg->local = wr->flags & WEFT_WR_INLINE;
	msg->remote_access = false;
	msg->imm_opcode = 0;
	msg->lend = false;
	msg->num_sge = wr->num_sge;
	msg->sge_index = 0;
	msg->offset = 0;

	switch (wr->opcode) {
	case WEFT_OP_WRITE_IMM:
		msg->imm_opcode = solicited ? WEFT_RDMAP_IMM_SE :
					      WEFT_RDMAP_IMM;
		msg->imm = wr->ex;
		fallthrough;
	case WEFT_OP_WRITE:
		msg->hdr.opcode = WEFT_RDMAP_WRITE;
		msg->hdr.tagged = true;
		msg->hdr.stag = wr->rkey;
		msg->hdr.to = wr->remote_addr;
		break;
	case WEFT_OP_READ:
	case WEFT_OP_READ_INV:
		weft_tx_begin_read(qp, wr, sge, total);
		msg->left = msg->total;
		return;
	case WEFT_OP_CMP_SWP:
	case WEFT_OP_FETCH_ADD:
		weft_tx_begin_atomic(qp, wr);
		msg->left = msg->total;
		return;
	case WEFT_OP_SEND_IMM:
		msg->hdr.opcode = solicited ? WEFT_RDMAP_SEND_SE_IMM :
					      WEFT_RDMAP_SEND_IMM;
		msg->hdr.imm = be32_to_cpu((__force __be32)wr->ex);
		break;
	case WEFT_OP_SEND_INV:
		msg->hdr.opcode = solicited ? WEFT_RDMAP_SEND_SE_INV :
					      WEFT_RDMAP_SEND_INV;
		msg->hdr.inv_stag = wr->ex;
		break;
	default:
		msg->hdr.opcode = solicited ? WEFT_RDMAP_SEND_SE :
					      WEFT_RDMAP_SEND;
	}
	if (!msg->hdr.tagged) {
		msg->hdr.qn = WEFT_QN_SEND;
		msg->hdr.msn = ++qp->tx.send_msn;
	}
	msg->left = total;
}

/*
 * Takes the next work request from the send ring. False: there is none, it has
 * to wait (fence, ORD, in-flight list full), it failed, or (*@again) it is
 * done already.
 */
static bool weft_tx_take_request(struct weft_qp *qp, bool *again)
{
	struct weft_tx *tx = &qp->tx;
	const struct weft_sq_wr *wr = &tx->msg.copy.wr;
	struct weft_wr_error why;
	struct weft_inflight *w;
	u64 total;
	int pending;
	u32 blocks;

	*again = false;
	if (weft_qp_state(qp) != IB_QPS_RTS)
		return false;
	pending = weft_ring_pending(&qp->sq);
	tx->held = pending;
	if (!pending || tx->head - tx->tail == tx->inflight_size)
		return false;
	if (pending < 0) {
		/* The ring makes no sense: there is no work request to blame. */
		weft_qp_fail(qp, &weft_tx_term_local, IB_EVENT_QP_FATAL);
		return false;
	}

	weft_tx_copy_blocks(qp, 0, 1);
	blocks = wr->num_blocks;
	if (!blocks || blocks > WEFT_SQ_MAX_BLOCKS || blocks > pending) {
		why.status = IB_WC_LOC_QP_OP_ERR;
		why.vendor = WEFT_VE_BLOCKS;
		weft_tx_fail(qp, weft_tx_admit(qp, wr, 1), &why);
		return false;
	}
	if (weft_tx_reads_outstanding(tx) &&
	    ((wr->flags & WEFT_WR_FENCE) ||
	     (weft_op_answered(wr->opcode) &&
	      tx->read_head - tx->read_tail >= tx->ord)))
		return false;
	weft_tx_copy_blocks(qp, 1, blocks - 1);

	w = weft_tx_admit(qp, wr, blocks);
	if (!weft_tx_check_wr(qp, wr, &why)) {
		weft_tx_fail(qp, w, &why);
		return false;
	}
	if (weft_tx_is_local(wr->opcode)) {
		w->done = weft_tx_do_local(qp, wr);
		*again = w->done;
		weft_lend_skip(tx);
		if (!w->done)
			weft_tx_fail(qp, w, &weft_bind_error);
		return false;
	}
	if (wr->flags & WEFT_WR_INLINE) {
		total = wr->inline_len;
	} else if (!weft_tx_check_sges(qp, tx->msg.copy.sge,
				    wr->num_sge,
				    weft_op_answered(wr->opcode) ?
				    IB_ACCESS_LOCAL_WRITE : 0, &total, &why)) {
		weft_tx_fail(qp, w, &why);
		return false;
	}
	w->byte_len = total;
	weft_streak_sent(&qp->scq->streak);
	weft_tx_begin_request(qp, total);
	if (total >= WEFT_LEND_LEAST && !tx->msg.local)
		tx->msg.lend = weft_lend_may(qp);
	if (tx->lending && !tx->msg.lend)
		weft_lend_skip(tx);
	return true;
}

/* Takes work requests up to one that makes a message. False: none does now. */
static bool weft_tx_next_request(struct weft_qp *qp)
{
	bool again;

	do {
		if (weft_tx_take_request(qp, &again))
			return true;
	} while (again);
	return false;
}

static u64 weft_atomic_change(const void *how, u64 value)
{
	return weft_atomic_result(how, value);
}

/* Does what an atomic request of the peer asks for and begins the answer. */
static bool weft_tx_answer_atomic(struct weft_qp *qp,
				  const struct weft_atomic_req *req)
{
	struct weft_tx_msg *msg = &qp->tx.msg;
	struct weft_atomic_resp resp = { .id = req->id };
	enum weft_key_error err;
	struct weft_mr *mr;

	/* Its memory was there when it came. */
	mr = weft_mr_get(&qp->acc, qp->ib.pd, req->stag, req->to, WEFT_ATOMIC_LEN,
			 IB_ACCESS_REMOTE_ATOMIC, &err);
	if (!mr || !weft_mr_word(mr, req->to)) {
		if (mr)
			weft_mr_put(mr);
		weft_qp_fail(qp, &weft_tx_term_revoked, IB_EVENT_QP_ACCESS_ERR);
		return false;
	}
	resp.original = weft_mr_atomic(mr, req->to, weft_atomic_change, req);
	weft_mr_put(mr);

	weft_atomic_resp_encode(msg->copy.bytes, &resp);
	memset(&msg->hdr, 0, sizeof(msg->hdr));
	msg->kind = WEFT_MSG_RESPONSE;
	msg->hdr.opcode = WEFT_RDMAP_ATOMIC_RESP;
	msg->hdr.qn = WEFT_QN_ATOMIC_RESP;
	msg->hdr.msn = ++qp->tx.atomic_msn;
	msg->total = WEFT_ATOMIC_RESP_LEN;
	msg->left = WEFT_ATOMIC_RESP_LEN;
	msg->local = true;
	msg->remote_access = false;
	msg->offset = 0;
	return true;
}

/* Begins the answer to the oldest read or atomic request of the peer. */
static bool weft_tx_next_response(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_tx_msg *msg = &tx->msg;
	const struct weft_answer *answer;
	const struct weft_read_req *req;

	if (tx->answer_tail == tx->answer_head)
		return false;
	answer = weft_tx_answer(tx, tx->answer_tail++);
	if (answer->atomic)
		return weft_tx_answer_atomic(qp, &answer->atomic_req);
	req = &answer->read_req;
	memset(&msg->hdr, 0, sizeof(msg->hdr));
	msg->kind = WEFT_MSG_RESPONSE;
	msg->hdr.opcode = WEFT_RDMAP_READ_RESP;
	msg->hdr.tagged = true;
	msg->hdr.stag = req->sink_stag;
	msg->hdr.to = req->sink_to;
	msg->total = req->size;
	msg->left = req->size;
	msg->local = false;
	msg->remote_access = true;
	msg->num_sge = 1;
	msg->sge_index = 0;
	msg->offset = 0;
	msg->copy.sge[0].addr = req->src_to;
	msg->copy.sge[0].length = req->size;
	msg->copy.sge[0].lkey = req->src_stag;
	return true;
}

static void weft_tx_begin_control(struct weft_qp *qp)
{
	struct weft_tx_msg *msg = &qp->tx.msg;

	memset(&msg->hdr, 0, sizeof(msg->hdr));
	msg->kind = WEFT_MSG_CONTROL;
	msg->total = 0;
	msg->local = true;
	msg->remote_access = false;
	msg->offset = 0;
}

/* The first frame of an initiator that agreed on peer-to-peer setup (RFC 6581, 5). */
static void weft_tx_begin_rtr(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_tx_msg *msg = &tx->msg;

	weft_tx_begin_control(qp);
	switch (tx->rtr_due) {
	case WEFT_RTR_READ:
		weft_tx_begin_read(qp, NULL, NULL, 0);
		break;
	case WEFT_RTR_WRITE:
		msg->hdr.opcode = WEFT_RDMAP_WRITE;
		msg->hdr.tagged = true;
		break;
	default:
		msg->hdr.opcode = WEFT_RDMAP_SEND;
		msg->hdr.qn = WEFT_QN_SEND;
		msg->hdr.msn = ++tx->send_msn;
	}
	msg->left = msg->total;
	tx->rtr_due = 0;
}

static void weft_tx_begin_terminate(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_tx_msg *msg = &tx->msg;

	weft_tx_begin_control(qp);
	msg->hdr.opcode = WEFT_RDMAP_TERMINATE;
	msg->hdr.qn = WEFT_QN_TERMINATE;
	msg->hdr.msn = 1;
	msg->total = weft_term_encode(msg->copy.bytes, &tx->term, tx->term_seg,
				      tx->term_seg_len, tx->term_ulpdu);
	msg->left = msg->total;
	tx->term_due = false;
	weft_count(qp->dev->counters, WEFT_CNT_TX_TERMINATES, 1);
}

/**
 * weft_tx_next_msg() - choose what to send next
 * @qp: the queue pair; its msg is done
 *
 * Requests of our own and answers to the peer take turns, a message each.
 *
 * Return: false if there is nothing to send now.
 */
bool weft_tx_next_msg(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;

	weft_qp_assert_locked(qp);
	tx->held = weft_ring_pending(&qp->sq);
	switch (weft_qp_state(qp)) {
	case IB_QPS_RTS:
		if (tx->gated) {
			if (qp->agreed.p2p || time_before(jiffies, tx->gate_until))
				return false;
			WRITE_ONCE(tx->gated, false);
		}
		break;
	case IB_QPS_ERR:
		if (!tx->term_due)
			return false;
		weft_tx_begin_terminate(qp);
		return true;
	default:
		return false;
	}
	if (tx->rtr_due) {
		weft_tx_begin_rtr(qp);
		return true;
	}
	tx->prefer_response = !tx->prefer_response;
	if (tx->prefer_response)
		return weft_tx_next_response(qp) || weft_tx_next_request(qp);
	return weft_tx_next_request(qp) || weft_tx_next_response(qp);
}
