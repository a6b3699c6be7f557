// SPDX-License-Identifier: GPL-2.0
/*
 * What an FPDU means: where its payload goes, and what its end completes.
 *
 * Everything here runs with the socket lock held and does not sleep. Whatever
 * the peer got wrong ends in weft_rx_refuse(): a Terminate, and the end of
 * this connection and of nothing else.
 */
#include <linux/sched.h>
#include <linux/string.h>

#include "device.h"
#include "rx.h"
#include "rx_place.h"
#include "trace.h"
#include "verbs/cq.h"
#include "verbs/mr.h"
#include "verbs/qp.h"
#include "verbs/srq.h"
#include "workqueue.h"

/**
 * weft_rx_let_go() - let the region go that is held between pieces of a message
 * @rx: the receive side
 *
 * Before a packet is left, a key is invalidated or another object is called:
 * what waits for the region waits for no more than a packet's bytes.
 */
void weft_rx_let_go(struct weft_rx *rx)
{
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
	struct weft_tx *tx = &qp->tx;
	u32 hdr = rx->hdr_len > WEFT_MPA_LEN ? rx->hdr_len - WEFT_MPA_LEN : 0;

	weft_rx_let_go(rx);
	if (!tx->term_due) {
		memcpy(tx->term_seg, rx->hdr + WEFT_MPA_LEN, hdr);
		tx->term_seg_len = hdr;
		tx->term_ulpdu = rx->ulpdu_len;
		if (hdr && rx->target == WEFT_RX_TO_BYTES &&
		    rx->ddp.opcode == WEFT_RDMAP_READ_REQ &&
		    rx->done == WEFT_READ_REQ_LEN) {
			memcpy(tx->term_seg + hdr, rx->bytes, WEFT_READ_REQ_LEN);
			tx->term_seg_len += WEFT_READ_REQ_LEN;
		}
	}
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

/* --- where the payload goes --- */

/* Finds the place in a list of SGEs, @at bytes from its start. */
static void weft_rx_aim(struct weft_rx *rx, struct ib_pd *pd, int rights,
			const struct weft_sge *sge, u32 num_sge, u32 at)
{
	for (; num_sge && at >= sge->length; sge++, num_sge--)
		at -= sge->length;
	rx->place.sge = sge;
	rx->place.num_sge = num_sge;
	rx->place.at = at;
	rx->place.rights = rights;
	rx->place.pd = pd;
}

static enum weft_rx_verdict weft_rx_begin_write(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;
	enum weft_key_error err;

	rx->target = WEFT_RX_TO_REGION;
	if (!rx->payload_len)
		return WEFT_RX_OK; /* names no byte, so its STag is not looked at (RFC 5040, 5.2) */
	err = weft_access_go_on(&rx->held, qp, qp->ib.pd, rx->ddp.stag, rx->ddp.to,
				rx->payload_len, IB_ACCESS_REMOTE_WRITE);
	if (err)
		return weft_rx_refuse_key(qp, err);
	rx->region.addr = rx->ddp.to;
	rx->region.length = rx->payload_len;
	rx->region.lkey = rx->ddp.stag;
	weft_rx_aim(rx, qp->ib.pd, IB_ACCESS_REMOTE_WRITE, &rx->region, 1, 0);
	return WEFT_RX_OK;
}

/* The request of ours that is to be answered next, or NULL. */
struct weft_read *weft_rx_oldest_read(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;

	if (!weft_tx_reads_outstanding(tx))
		return NULL;
	return weft_tx_read(tx, tx->read_tail);
}

/**
 * weft_rx_aim_at_read() - place what comes now where a request of ours wants it
 * @qp: the queue pair
 * @read: the oldest request of ours
 */
void weft_rx_aim_at_read(struct weft_qp *qp, const struct weft_read *read)
{
	qp->rx.target = WEFT_RX_TO_READ;
	weft_rx_aim(&qp->rx, qp->ib.pd, IB_ACCESS_LOCAL_WRITE, read->sge,
		    read->num_sge, read->got);
}

static enum weft_rx_verdict weft_rx_begin_response(struct weft_qp *qp)
{
	struct weft_read *read = weft_rx_oldest_read(qp);
	struct weft_rx *rx = &qp->rx;
	u8 code;

	if (!read || read->atomic || (read->len && rx->ddp.stag != read->sink)) {
		code = WEFT_DT_STAG;
	} else if (read->len && rx->ddp.to != read->got) {
		code = WEFT_DT_BOUNDS;
	} else if (rx->payload_len > read->len - read->got ||
		   (rx->ddp.last && rx->payload_len != read->len - read->got)) {
		code = WEFT_DT_BOUNDS;
	} else {
		weft_rx_aim_at_read(qp, read);
		return WEFT_RX_OK;
	}
	weft_rx_refuse(qp, WEFT_TERM_DDP, WEFT_DDP_TAGGED_BUFFER, code);
	return WEFT_RX_BAD;
}

/*
 * Takes the next receive. If there is none, the next post is to come by, and a
 * timer starts to run.
 */
static enum weft_rx_verdict weft_rx_fetch_recv(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;
	int taken;

	weft_rx_let_go(rx);
	taken = weft_rq_take(qp->rq, &rx->recv, &rx->waiting);
	if (!taken) {
		if (!rx->stalled) {
			weft_count(qp->dev->counters, WEFT_CNT_RNR_STALLS, 1);
			mod_delayed_work(weft_workqueue, &rx->rnr,
					 WEFT_RNR_TIMEOUT);
		}
		rx->stalled = true;
		return WEFT_RX_WAIT;
	}
	if (rx->stalled) {
		rx->stalled = false;
		cancel_delayed_work(&rx->rnr);
	}
	if (qp->ib.srq)
		weft_srq_taken(to_weft_srq(qp->ib.srq), taken);
	if (taken > 0)
		return WEFT_RX_OK;
	weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
	return WEFT_RX_BAD;
}

/* Whether a SEND names a key of ours to be invalidated. */
static bool weft_rx_invalidates(const struct weft_rx *rx)
{
	return rx->ddp.opcode == WEFT_RDMAP_SEND_INV ||
	       rx->ddp.opcode == WEFT_RDMAP_SEND_SE_INV;
}

/* What the message that took a receive says besides its payload. */
static void weft_rx_note_success(const struct weft_rx *rx,
				 struct weft_completion *wc)
{
	switch (rx->ddp.opcode) {
	case WEFT_RDMAP_SEND_SE:
		wc->solicited = true;
		break;
	case WEFT_RDMAP_SEND_INV:
	case WEFT_RDMAP_SEND_SE_INV:
		wc->ex = rx->ddp.inv_stag;
		wc->flags = WEFT_CQE_WITH_INV;
		wc->solicited = rx->ddp.opcode == WEFT_RDMAP_SEND_SE_INV;
		break;
	case WEFT_RDMAP_SEND_IMM:
	case WEFT_RDMAP_SEND_SE_IMM:
		wc->ex = (__force u32)cpu_to_be32(rx->ddp.imm);
		wc->flags = WEFT_CQE_WITH_IMM;
		wc->solicited = rx->ddp.opcode == WEFT_RDMAP_SEND_SE_IMM;
		break;
	case WEFT_RDMAP_IMM:
	case WEFT_RDMAP_IMM_SE:
		memcpy(&wc->ex, rx->bytes, sizeof(wc->ex));
		wc->flags = WEFT_CQE_WITH_IMM;
		wc->opcode = WEFT_OP_RECV_WRITE_IMM;
		wc->solicited = rx->ddp.opcode == WEFT_RDMAP_IMM_SE;
		break;
	}
}

/*
 * Completes the receive in progress. Not in line, as all that is not done for
 * each frame of a message and has more on its stack.
 */
static noinline void weft_rx_complete_recv(struct weft_qp *qp, u8 status,
					   u32 len, u32 vendor)
{
	struct weft_rx *rx = &qp->rx;
	struct weft_completion wc = {
		.wr_id = rx->recv.wr_id,
		.qpn = qp->qpn,
		.byte_len = len,
		.opcode = WEFT_OP_RECV,
		.status = status,
		.ex = vendor,
	};

	if (!status)
		weft_rx_note_success(rx, &wc);
	rx->recv.active = false;
	if (!weft_cq_add(qp->rcq, &wc))
		weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
}

static enum weft_rx_verdict weft_rx_begin_send(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;
	enum weft_rx_verdict verdict;

	rx->target = WEFT_RX_TO_RECV;
	if (rx->ddp.msn != rx->send_msn) {
		weft_rx_refuse(qp, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER,
			       WEFT_DU_MSN_RANGE);
		return WEFT_RX_BAD;
	}
	if (rx->ddp.mo != rx->msg_got) {
		weft_rx_refuse(qp, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER,
			       WEFT_DU_MO);
		return WEFT_RX_BAD;
	}
	/* The first frame of an initiator may be an empty SEND that means only
	 * "ready"; it takes no receive (RFC 6581, 5).
	 */
	if (rx->first && qp->agreed.p2p && qp->agreed.rtr == WEFT_RTR_SEND &&
	    !qp->initiator && !rx->payload_len && rx->ddp.last &&
	    !weft_rx_invalidates(rx))
		return WEFT_RX_OK;
	if (!rx->recv.active) {
		verdict = weft_rx_fetch_recv(qp);
		if (verdict != WEFT_RX_OK)
			return verdict;
	}
	if (rx->payload_len > rx->recv.room - rx->msg_got) {
		weft_rx_let_go(rx);
		weft_rx_complete_recv(qp, IB_WC_LOC_LEN_ERR, 0,
				      WEFT_VE_RECV_TOO_SMALL);
		weft_rx_refuse(qp, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER,
			       WEFT_DU_TOO_LONG);
		return WEFT_RX_BAD;
	}
	/* Who posts to a shared queue names what its domain has. */
	weft_rx_aim(rx, qp->ib.srq ? qp->ib.srq->pd : qp->ib.pd,
		    IB_ACCESS_LOCAL_WRITE, rx->recv.sge, rx->recv.num_sge,
		    rx->msg_got);
	return WEFT_RX_OK;
}

/* Immediate data: one FPDU, numbered among the SENDs, that takes a receive. */
static enum weft_rx_verdict weft_rx_begin_imm(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;
	u8 code;

	rx->target = WEFT_RX_TO_BYTES;
	if (rx->ddp.msn != rx->send_msn)
		code = WEFT_DU_MSN_RANGE;
	else if (rx->ddp.mo || !rx->ddp.last || rx->recv.active)
		code = WEFT_DU_MO; /* in parts, or amidst a SEND */
	else if (rx->payload_len != WEFT_IMM_LEN)
		code = WEFT_DU_TOO_LONG;
	else
		return weft_rx_fetch_recv(qp);
	weft_rx_refuse(qp, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, code);
	return WEFT_RX_BAD;
}

/* Read and atomic requests and Terminates are one FPDU of a known size. */
static enum weft_rx_verdict weft_rx_begin_bytes(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;
	u32 len = rx->ddp.opcode == WEFT_RDMAP_READ_REQ ? WEFT_READ_REQ_LEN :
							  WEFT_ATOMIC_REQ_LEN;
	u8 code;

	rx->target = WEFT_RX_TO_BYTES;
	if (rx->ddp.mo || !rx->ddp.last) {
		code = WEFT_DU_MO;
	} else if (rx->ddp.opcode != WEFT_RDMAP_TERMINATE) {
		if (rx->ddp.msn != rx->read_msn)
			code = WEFT_DU_MSN_RANGE;
		else if (qp->tx.answer_head - qp->tx.answer_tail >= qp->tx.ird)
			code = WEFT_DU_NO_BUFFER; /* more than was agreed */
		else if (rx->payload_len != len)
			code = WEFT_DU_TOO_LONG;
		else
			return WEFT_RX_OK;
	} else {
		if (rx->payload_len <= sizeof(rx->bytes))
			return WEFT_RX_OK;
		code = WEFT_DU_TOO_LONG;
	}
	weft_rx_refuse(qp, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER, code);
	return WEFT_RX_BAD;
}

/**
 * weft_rx_begin() - an FPDU's header is here: may its payload come?
 * @qp: the queue pair; its rx holds the decoded header
 *
 * Return: WEFT_RX_OK: place the payload. WEFT_RX_WAIT: nothing was changed;
 * ask again when a receive was posted. WEFT_RX_BAD: the connection ends.
 */
enum weft_rx_verdict weft_rx_begin(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;

	rx->done = 0;
	switch (rx->ddp.opcode) {
	case WEFT_RDMAP_WRITE:
		return weft_rx_begin_write(qp);
	case WEFT_RDMAP_READ_RESP:
		return weft_rx_begin_response(qp);
	case WEFT_RDMAP_READ_REQ:
	case WEFT_RDMAP_ATOMIC_REQ:
	case WEFT_RDMAP_TERMINATE:
		return weft_rx_begin_bytes(qp);
	case WEFT_RDMAP_IMM:
	case WEFT_RDMAP_IMM_SE:
		return weft_rx_begin_imm(qp);
	case WEFT_RDMAP_ATOMIC_RESP:
		return weft_rx_begin_atomic_response(qp);
	default:
		return weft_rx_begin_send(qp);
	}
}

/* --- placing it --- */

/* The memory that an answer goes to is not to be had any more. */
static enum weft_rx_verdict weft_rx_read_failed(struct weft_qp *qp)
{
	struct weft_read *read = weft_rx_oldest_read(qp);
	struct weft_inflight *w = weft_tx_inflight(&qp->tx, read->inflight);

	w->status = IB_WC_LOC_PROT_ERR;
	w->vendor = WEFT_VE_LKEY;
	w->done = true;
	weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
	return WEFT_RX_BAD;
}

/* The memory that the payload goes to is not what it was when it was asked for. */
static enum weft_rx_verdict weft_rx_place_failed(struct weft_qp *qp,
						 enum weft_key_error err)
{
	weft_rx_let_go(&qp->rx);
	switch (qp->rx.target) {
	case WEFT_RX_TO_REGION:
		return weft_rx_refuse_key(qp, err);
	case WEFT_RX_TO_READ:
		return weft_rx_read_failed(qp);
	default:
		weft_rx_complete_recv(qp, IB_WC_LOC_PROT_ERR, 0, WEFT_VE_LKEY);
		weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
		return WEFT_RX_BAD;
	}
}

/**
 * weft_rx_place() - place the next bytes of an FPDU's payload
 * @qp: the queue pair; weft_rx_begin() said OK
 * @from: the bytes
 * @len: how many; no more than the payload has left
 *
 * Each piece is checked against its region as it stands now.
 *
 * Return: WEFT_RX_OK or WEFT_RX_BAD.
 */
enum weft_rx_verdict weft_rx_place(struct weft_qp *qp, const u8 *from, u32 len)
{
	struct weft_rx *rx = &qp->rx;
	struct weft_rx_place *p = &rx->place;
	const struct weft_sge *sge;
	enum weft_key_error err;
	u64 to;
	u32 n;

	if (rx->target == WEFT_RX_TO_BYTES) {
		memcpy(rx->bytes + rx->done, from, len);
		rx->done += len;
		return WEFT_RX_OK;
	}
	while (len) {
		if (!p->num_sge)
			return weft_rx_place_failed(qp, WEFT_KEY_BOUNDS);
		sge = p->sge;
		n = min(len, sge->length - p->at);
		if (!n) {
			p->sge++;
			p->num_sge--;
			p->at = 0;
			continue;
		}
		to = sge->addr + p->at;
		err = weft_access_go_on(&rx->held, qp, p->pd, sge->lkey, to, n,
					p->rights);
		if (err)
			return weft_rx_place_failed(qp, err);
		p->at += n;
		rx->done += n;
		len -= n;
		weft_mr_write(rx->held.mr, to, from, n);
		from += n;
	}
	return WEFT_RX_OK;
}

/**
 * weft_rx_row_room() - how much may follow behind the payload placed last?
 * @qp: the queue pair; an FPDU with payload has ended, which was not the last of
 *	its message
 * @to: where the next byte of the message goes in the region that is held
 *
 * Return: how many bytes may be placed there with no check but those that were
 * made for the ones before; 0 where each FPDU is to be looked at.
 */
u64 weft_rx_row_room(struct weft_qp *qp, u64 *to)
{
	const struct weft_rx *rx = &qp->rx;
	const struct weft_rx_place *p = &rx->place;
	const struct weft_read *read;
	u32 room;

	if (rx->target == WEFT_RX_TO_BYTES || !rx->held.mr)
		return 0;
	*to = p->sge->addr + p->at;
	room = p->sge->length - p->at;
	switch (rx->target) {
	case WEFT_RX_TO_REGION:
		return weft_access_room(&rx->held, *to);
	case WEFT_RX_TO_READ:
		read = weft_rx_oldest_read(qp);
		room = min(room, read->len - read->got);
		break;
	default:
		room = min(room, rx->recv.room - rx->msg_got);
	}
	return min_t(u64, room, weft_access_room(&rx->held, *to));
}

/**
 * weft_rx_row_end() - FPDUs were placed that are as the one before
 * @qp: the queue pair; weft_rx_row_room() said that there was room
 * @fpdus: how many, with as much payload each; their CRCs, if any, are good
 */
void weft_rx_row_end(struct weft_qp *qp, u32 fpdus)
{
	struct weft_rx *rx = &qp->rx;
	u32 len = fpdus * rx->payload_len;

	if (rx->ddp.tagged)
		rx->ddp.to += len;
	else
		rx->ddp.mo += len;
	weft_ddp_encode_place(rx->hdr + WEFT_MPA_LEN, &rx->ddp);
	switch (rx->target) {
	case WEFT_RX_TO_REGION:
		rx->write_len += len;
		break;
	case WEFT_RX_TO_READ:
		weft_rx_oldest_read(qp)->got += len;
		break;
	default:
		rx->msg_got += len;
	}
}

/* --- what its end completes --- */

/* Keeps the length of a Write, which immediate data that follows it tells. */
static void weft_rx_end_write(struct weft_rx *rx)
{
	if (!rx->write_goes_on)
		rx->write_len = 0;
	rx->write_len += rx->payload_len;
	rx->write_goes_on = !rx->ddp.last;
}

/*
 * The oldest request of ours has its whole answer. WEFT_RX_BAD: what it was to
 * invalidate is not to be invalidated.
 */
enum weft_rx_verdict weft_rx_read_done(struct weft_qp *qp)
{
	struct weft_read *read = weft_rx_oldest_read(qp);
	struct weft_tx *tx = &qp->tx;
	struct weft_inflight *w;

	if (!read->rtr) {
		w = weft_tx_inflight(tx, read->inflight);
		w->done = true;
		if (read->inv &&
		    weft_invalidate(qp, read->inv, false) != WEFT_KEY_OK) {
			w->status = IB_WC_MW_BIND_ERR;
			w->vendor = WEFT_VE_BIND;
			weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
			return WEFT_RX_BAD;
		}
	}
	tx->read_tail++;
	weft_tx_complete(qp);
	/* A fence, or another read, may have waited for this one. */
	if (weft_ring_pending(&qp->sq))
		weft_tx_kick(qp);
	return WEFT_RX_OK;
}

static enum weft_rx_verdict weft_rx_end_response(struct weft_qp *qp)
{
	weft_rx_oldest_read(qp)->got += qp->rx.payload_len;
	return qp->rx.ddp.last ? weft_rx_read_done(qp) : WEFT_RX_OK;
}

static noinline enum weft_rx_verdict weft_rx_end_read_request(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;
	struct weft_tx *tx = &qp->tx;
	struct weft_answer *answer;
	struct weft_read_req req;
	enum weft_key_error err;
	struct weft_mr *mr;

	weft_read_req_decode(rx->bytes, &req);
	if (req.size) {
		mr = weft_mr_get(qp, qp->ib.pd, req.src_stag, req.src_to,
				 req.size, IB_ACCESS_REMOTE_READ, &err);
		if (!mr)
			return weft_rx_refuse_key(qp, err);
		weft_mr_put(mr);
	}
	rx->read_msn++;
	answer = weft_tx_answer(tx, tx->answer_head++);
	answer->atomic = false;
	answer->read_req = req;
	weft_tx_kick(qp);
	return WEFT_RX_OK;
}

/* The oldest request of ours that a Terminate about this opcode can mean, or NULL. */
static struct weft_read *weft_rx_blamed(struct weft_tx *tx, u8 opcode)
{
	bool atomic = opcode == WEFT_RDMAP_ATOMIC_REQ;
	struct weft_read *read;
	u32 i;

	if (opcode != WEFT_RDMAP_READ_REQ && !atomic)
		return NULL;
	for (i = tx->read_tail; i != tx->read_head; i++) {
		read = weft_tx_read(tx, i);
		if (read->atomic == atomic)
			return read;
	}
	return NULL;
}

/* The peer ended the connection; says which of our requests it did not like. */
static noinline void weft_rx_end_terminate(struct weft_qp *qp)
{
	struct weft_read *read = NULL;
	struct weft_rx *rx = &qp->rx;
	struct weft_inflight *w;
	struct weft_term term;
	u32 stag;
	u8 op;

	weft_count(qp->dev->counters, WEFT_CNT_RX_TERMINATES, 1);
	rx->state = WEFT_RX_STOPPED;
	if (weft_term_decode(rx->bytes, rx->payload_len, &term, &op, &stag)) {
		trace_weft_rx_terminate(qp, &term);
		read = weft_rx_blamed(&qp->tx, op);
	}
	if (read && !read->rtr) {
		w = weft_tx_inflight(&qp->tx, read->inflight);
		w->status = term.layer == WEFT_TERM_RDMAP &&
			    term.etype == WEFT_RDMAP_PROTECTION ?
			    IB_WC_REM_ACCESS_ERR : IB_WC_REM_OP_ERR;
		w->vendor = WEFT_VE_REMOTE;
		w->done = true;
		weft_tx_complete(qp);
	}
	weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
}

/* Refuses to invalidate what the peer named (RFC 5040, 4.8). */
static enum weft_rx_verdict weft_rx_refuse_invalidate(struct weft_qp *qp,
						      enum weft_key_error err)
{
	u8 code = err == WEFT_KEY_UNKNOWN ? WEFT_RP_STAG :
		  err == WEFT_KEY_PD ? WEFT_RP_NOT_ASSOCIATED :
		  WEFT_RO_CANNOT_INVALIDATE;

	weft_rx_refuse(qp, WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, code);
	return WEFT_RX_BAD;
}

static enum weft_rx_verdict weft_rx_end_send(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;
	enum weft_key_error err;

	if (!rx->ddp.last) {
		rx->msg_got += rx->payload_len;
		return WEFT_RX_OK;
	}
	if (weft_rx_invalidates(rx)) {
		err = weft_invalidate(qp, rx->ddp.inv_stag, true);
		if (err != WEFT_KEY_OK)
			return weft_rx_refuse_invalidate(qp, err);
	}
	rx->send_msn++;
	rx->write_len = 0;
	if (rx->recv.active)
		weft_rx_complete_recv(qp, IB_WC_SUCCESS,
				      rx->msg_got + rx->payload_len, 0);
	rx->msg_got = 0;
	return WEFT_RX_OK;
}

static void weft_rx_end_imm(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;

	rx->send_msn++;
	weft_rx_complete_recv(qp, IB_WC_SUCCESS, rx->write_len, 0);
	rx->write_len = 0;
}

/**
 * weft_rx_end() - an FPDU has ended and its CRC, if any, is good
 * @qp: the queue pair
 *
 * Return: WEFT_RX_OK, or WEFT_RX_BAD: nothing more is to be read.
 */
enum weft_rx_verdict weft_rx_end(struct weft_qp *qp)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	struct weft_rx *rx = &qp->rx;

	if (rx->ddp.last)
		weft_rx_let_go(rx);
	switch (rx->ddp.opcode) {
	case WEFT_RDMAP_WRITE:
		weft_rx_end_write(rx);
		break;
	case WEFT_RDMAP_READ_RESP:
		verdict = weft_rx_end_response(qp);
		break;
	case WEFT_RDMAP_READ_REQ:
		verdict = weft_rx_end_read_request(qp);
		break;
	case WEFT_RDMAP_IMM:
	case WEFT_RDMAP_IMM_SE:
		weft_rx_end_imm(qp);
		break;
	case WEFT_RDMAP_ATOMIC_REQ:
		verdict = weft_rx_end_atomic_request(qp);
		break;
	case WEFT_RDMAP_ATOMIC_RESP:
		verdict = weft_rx_end_atomic_response(qp);
		break;
	case WEFT_RDMAP_TERMINATE:
		weft_rx_end_terminate(qp);
		return WEFT_RX_BAD;
	default:
		verdict = weft_rx_end_send(qp);
	}
	if (rx->ddp.last)
		weft_streak_received(&qp->scq->streak);
	if (rx->first) {
		/* The peer is in full operation: so may we be (RFC 5044, 7.1.3). */
		rx->first = false;
		if (qp->tx.gated) {
			qp->tx.gated = false;
			weft_tx_kick(qp);
		}
	}
	return verdict;
}

/**
 * weft_rx_flush_receives() - complete the queue pair's receives in error
 * @qp: a queue pair in ERR without a stream; the caller holds tx.lock
 *
 * What lies in a shared receive queue stays there, for others.
 */
void weft_rx_flush_receives(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->rx.recv;
	int pending;

	if (recv->active)
		weft_rx_complete_recv(qp, IB_WC_WR_FLUSH_ERR, 0,
				      WEFT_VE_CONNECTION);
	if (!weft_qp_owns_rq(qp))
		return;
	/* What is there now; a post from here on rings the doorbell for itself. */
	pending = weft_ring_pending(&qp->rq->ring);
	while (pending-- > 0 && weft_rq_take(qp->rq, recv, NULL) > 0) {
		weft_rx_complete_recv(qp, IB_WC_WR_FLUSH_ERR, 0,
				      WEFT_VE_CONNECTION);
		cond_resched();
	}
}
