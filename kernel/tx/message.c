// SPDX-License-Identifier: GPL-2.0
/*
 * From work requests to messages.
 *
 * Everything here runs in process context with tx_lock held, with or without the socket lock. It
 * allocates loans and may sleep, so it holds no region, nor anything else that softirq waits for.
 */
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "queue/cq.h"
#include "tx/tx.h"

/* Enters an admitted READ or atomic in the list of unanswered requests. */
static struct weft_read *tx_admit_read(struct weft_reads *reads,
				       struct weft_request *request,
				       const struct weft_sq_wr *wr,
				       const struct weft_sge *sge, u32 total)
{
	struct weft_read *read = weft_reads_next(reads, total);

	read->request = request;
	read->atomic = wr->opcode == WEFT_OP_CMP_SWP || wr->opcode == WEFT_OP_FETCH_ADD;
	read->inv = wr->opcode == WEFT_OP_READ_INV ? wr->ex : 0;
	read->num_sge = wr->num_sge;
	memcpy(read->sge, sge, read->num_sge * sizeof(*sge));
	weft_reads_add(reads);
	return read;
}

/* Makes the message a READ or atomic request, whose @len bytes are in copy.bytes. */
static void tx_ask(struct weft_tx_msg *msg, struct weft_reads *reads, u8 opcode,
		   u32 len)
{
	msg->hdr.opcode = opcode;
	msg->hdr.qn = WEFT_QN_READ_REQ;
	msg->hdr.msn = ++reads->msn;
	msg->local = true;
	msg->total = len;
}

/* Makes the message the READ request of @read. */
static void tx_begin_read(struct weft_tx_msg *msg, struct weft_reads *reads,
			  const struct weft_read *read, u32 rkey, u64 remote_addr)
{
	struct weft_read_req req;

	req.sink_stag = read->sink;
	req.sink_to = 0;
	req.size = read->len;
	req.src_stag = rkey;
	req.src_to = remote_addr;
	weft_read_req_encode(msg->copy.bytes, &req);
	tx_ask(msg, reads, WEFT_RDMAP_READ_REQ, WEFT_READ_REQ_LEN);
}

/* Makes the message the atomic request of @read, whose work request is in its copy. */
static void tx_begin_atomic(struct weft_tx_msg *msg, struct weft_reads *reads,
			    const struct weft_read *read)
{
	const struct weft_sq_wr *wr = &msg->copy.wr;
	const struct weft_atomic_operands *operands = &wr->atomic.operands;
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
	weft_atomic_req_encode(msg->copy.bytes, &req);
	tx_ask(msg, reads, WEFT_RDMAP_ATOMIC_REQ, WEFT_ATOMIC_REQ_LEN);
}

/* Makes a message of the work request @w, whose copy was checked. */
static void tx_begin_request(struct weft_tx *tx, struct weft_reads *reads,
			     struct weft_request *w, u32 total)
{
	struct weft_tx_msg *msg = &tx->msg;
	const struct weft_sq_wr *wr = &msg->copy.wr;
	struct weft_read *read;
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
		read = tx_admit_read(reads, w, wr, msg->copy.sge, total);
		tx_begin_read(msg, reads, read, wr->rkey, wr->remote_addr);
		msg->left = msg->total;
		return;
	case WEFT_OP_CMP_SWP:
	case WEFT_OP_FETCH_ADD:
		read = tx_admit_read(reads, w, wr, wr->sge, WEFT_ATOMIC_LEN);
		tx_begin_atomic(msg, reads, read);
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
		msg->hdr.msn = ++tx->send_msn;
	}
	msg->left = total;
}

/*
 * Does the local work request @w, whose copy was checked. Earlier requests are laid out by now, so
 * only an unanswered READ may still need the key; a program that cares posts with a fence. Returns
 * false if the key may not be bound, registered or invalidated in this way; then the request has
 * failed.
 */
static bool tx_do_local(struct weft_tx *tx, struct weft_request *w)
{
	static const struct weft_wr_error bind_error = { IB_WC_MW_BIND_ERR, WEFT_VE_BIND };
	const struct weft_sq_wr *wr = &tx->msg.copy.wr;
	struct weft_accessor *acc = &tx->qp->acc;
	bool good;

	switch (wr->opcode) {
	case WEFT_OP_LOCAL_INV:
		good = weft_invalidate(acc, wr->ex, false) == WEFT_KEY_OK;
		break;
	case WEFT_OP_BIND_MW:
		good = weft_mw_bind(acc, wr->ex, wr->rkey, &wr->bind);
		break;
	default:
		good = weft_fast_register(acc, wr->ex, wr->rkey, wr->bind.access);
	}
	if (tx->loans)
		weft_loan_begin(tx, 0);
	if (good)
		weft_request_done(w);
	else
		weft_tx_fail(tx, w, &bind_error);
	return good;
}

/* What became of the next work request. */
enum tx_taken {
	TX_TOOK_NONE,		/* there is none, it failed, or it waits (fence, ORD, list full) */
	TX_TOOK_LOCAL,		/* it was a local operation, which is done */
	TX_TOOK_MESSAGE,
};

/* Takes the next work request from the send ring, and does it or makes a message of it. */
static enum tx_taken tx_next_request(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_request *w;
	u64 total;

	w = weft_tx_take_request(tx, &total);
	if (!w)
		return TX_TOOK_NONE;
	if (weft_op_local(w->opcode))
		return tx_do_local(tx, w) ? TX_TOOK_LOCAL : TX_TOOK_NONE;
	w->byte_len = total;
	weft_streak_sent(&qp->scq->streak);
	tx_begin_request(tx, &qp->reads, w, total);
	if (tx->loans || (tx->lends && total >= WEFT_LOAN_LEAST))
		tx->msg.lend = weft_loan_begin(tx, tx->msg.local ? 0 : total);
	return TX_TOOK_MESSAGE;
}

/*
 * Does an atomic request of the peer, and begins the response. Returns false if the memory was
 * invalidated or deregistered since the request came.
 */
static bool tx_answer_atomic(struct weft_tx_msg *msg, struct weft_peer_reads *answers,
			     struct weft_accessor *acc,
			     const struct weft_atomic_req *req)
{
	struct weft_atomic_resp resp = { .id = req->id };
	enum weft_key_error err;
	struct weft_mr *mr;
	u64 *at;

	/* The receive side has checked this memory, but did not hold it until now. */
	mr = weft_mr_access(acc, acc->pd, req->stag, req->to, WEFT_ATOMIC_LEN,
			    IB_ACCESS_REMOTE_ATOMIC, &err);
	at = mr ? weft_mr_word(mr, req->to) : NULL;
	if (at) {
		/* In one step for other queue pairs and for the process that owns the memory. */
		resp.original = READ_ONCE(*at);
		while (!try_cmpxchg(at, &resp.original, weft_atomic_result(req, resp.original)))
			cpu_relax();
	}
	if (mr)
		weft_mr_access_end(mr);
	if (!at)
		return false;
	weft_atomic_resp_encode(msg->copy.bytes, &resp);
	memset(&msg->hdr, 0, sizeof(msg->hdr));
	msg->kind = WEFT_MSG_RESPONSE;
	msg->hdr.opcode = WEFT_RDMAP_ATOMIC_RESP;
	msg->hdr.qn = WEFT_QN_ATOMIC_RESP;
	msg->hdr.msn = ++answers->msn;
	msg->total = WEFT_ATOMIC_RESP_LEN;
	msg->left = WEFT_ATOMIC_RESP_LEN;
	msg->local = true;
	msg->remote_access = false;
	msg->offset = 0;
	return true;
}

/* Begins the response to the peer's oldest READ or atomic request. Returns true if it did. */
static bool tx_next_response(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	const struct weft_peer_read *answer = weft_peer_reads_oldest(&qp->peer_reads);
	const struct weft_read_req *req;
	struct weft_tx_msg *msg = &tx->msg;
	bool good = true;

	if (!answer)
		return false;
	if (answer->atomic) {
		good = tx_answer_atomic(msg, &qp->peer_reads, &qp->acc, &answer->atomic_req);
	} else {
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
		msg->lend = false;
	}
	weft_peer_reads_taken(&qp->peer_reads);
	if (good)
		return true;
	weft_qp_fail(qp, &weft_tx_term_revoked, IB_EVENT_QP_ACCESS_ERR);
	return false;
}

static void tx_begin_control(struct weft_tx_msg *msg)
{
	memset(&msg->hdr, 0, sizeof(msg->hdr));
	msg->kind = WEFT_MSG_CONTROL;
	msg->total = 0;
	msg->local = true;
	msg->remote_access = false;
	msg->offset = 0;
}

/* The first frame of an initiator that agreed on peer-to-peer setup (RFC 6581, 5). */
static void tx_begin_rtr(struct weft_tx *tx, struct weft_reads *reads, u8 rtr)
{
	struct weft_tx_msg *msg = &tx->msg;

	tx_begin_control(msg);
	switch (rtr) {
	case WEFT_RTR_READ:
		tx_begin_read(msg, reads, weft_reads_next(reads, 0), 0, 0);
		weft_reads_add(reads);
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
}

/* Nothing but a Terminate may be sent now. Begins it if it is due. Returns true if it did. */
static noinline bool tx_next_control(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_tx_msg *msg = &tx->msg;

	tx->waiting = weft_ring_pending(&qp->sq);
	if (weft_qp_state(qp) != IB_QPS_ERR || !qp->ending.due)
		return false;
	tx_begin_control(msg);
	msg->hdr.opcode = WEFT_RDMAP_TERMINATE;
	msg->hdr.qn = WEFT_QN_TERMINATE;
	msg->hdr.msn = 1;
	msg->total = weft_ending_tell(&qp->ending, msg->copy.bytes);
	msg->left = msg->total;
	weft_count(qp->dev->counters, WEFT_CNT_TX_TERMINATES, 1);
	return true;
}

/*
 * Chooses the next message; the one before is done. Our requests and responses to the peer take
 * turns, so that neither end can starve the other. May sleep. Returns false if there is nothing to
 * send now.
 */
bool weft_tx_next_msg(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	enum tx_taken taken;

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (weft_qp_state(qp) != IB_QPS_RTS ||
	    (READ_ONCE(qp->gate.shut) && !weft_gate_passes(&qp->gate)))
		return tx_next_control(tx);
	if (qp->gate.rtr_due) {
		tx_begin_rtr(tx, &qp->reads, qp->gate.rtr_due);
		qp->gate.rtr_due = 0;
		return true;
	}
	tx->prefer_response = !tx->prefer_response;
	if (tx->prefer_response && tx_next_response(tx))
		return true;
	do {
		taken = tx_next_request(tx);
	} while (taken == TX_TOOK_LOCAL);
	return taken == TX_TOOK_MESSAGE || (!tx->prefer_response && tx_next_response(tx));
}
