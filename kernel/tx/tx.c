// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit engine: lays out FPDUs in chunks, hands chunks to the stream,
 * completes what the stream has taken, and decides who does it when.
 */
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "base/context.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "llp/llp.h"
#include "pair/qp.h"
#include "queue/cq.h"
#include "tx/chunk.h"
#include "tx/loan.h"
#include "tx/tx.h"

/* Lays out @fpdu of the message begun, its payload lent. Returns whether it did. */
static bool weft_tx_lend(struct weft_qp *qp, struct weft_chunk *c, struct weft_fpdu *fpdu)
{
	struct weft_tx *tx = &qp->tx;
	u32 used;

	if (!fpdu->last)
		weft_tx_plan(tx, weft_llp_train(qp->llp, tx->emss), fpdu);
	used = weft_lend_layout(qp, fpdu, c->page, c->fill);
	if (!used)
		return false;
	c->fill += used;
	c->sent = c->fill; /* it goes with the payload */
	return true;
}

/* Whether the next FPDU is one whose payload is lent. */
static bool weft_tx_lends(const struct weft_tx *tx)
{
	return tx->msg.kind == WEFT_MSG_REQUEST && tx->msg.lend && !tx->msg.local;
}

/*
 * Whether what is laid out already has to be sent first: lent and copied bytes are
 * not waiting together.
 */
static bool weft_tx_turns(const struct weft_tx *tx, bool lend)
{
	if (lend)
		return weft_lend_is_full(tx) || tx->num_chunks > 1 ||
		       (tx->num_chunks && tx->chunk[0].sent < tx->chunk[0].fill);
	return tx->lending && weft_lend_waits(tx);
}

/* Whether nothing more is posted and nothing more asked for by the peer. */
static bool weft_tx_has_all(const struct weft_qp *qp)
{
	return !weft_ring_pending(&qp->sq) && qp->tx.answer_head == qp->tx.answer_tail;
}

/*
 * Lays out FPDUs until enough is waiting or nothing more can be done now.
 * Returns whether anything was laid out.
 */
static bool weft_tx_build(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_fpdu fpdu;
	struct weft_chunk *c;
	bool any = false, lend;

	tx->end_segment = false;
	tx->dry = false;
	if (tx->built == tx->sent) {
		tx->emss = weft_llp_emss(qp->llp);
		tx->room = weft_llp_room(qp->llp, tx->emss);
		/* TCP is through with the chunk: from the top, so that a message fits in it. */
		if (tx->num_chunks && page_ref_count(tx->chunk[0].page) == 1) {
			tx->chunk[0].fill = 0;
			tx->chunk[0].sent = 0;
		}
	}
	for (;;) {
		/* A message that was begun stops at an FPDU's end when the queue pair fails. */
		if (tx->msg.kind != WEFT_MSG_NONE &&
		    tx->msg.kind != WEFT_MSG_CONTROL &&
		    weft_qp_state(qp) == IB_QPS_ERR)
			tx->msg.kind = WEFT_MSG_NONE;
		if (tx->msg.kind == WEFT_MSG_NONE) {
			/* Mostly there was one message alone. */
			if (any && weft_tx_has_all(qp)) {
				tx->held = false;
				tx->dry = true;
				return true;
			}
			if (!weft_tx_next_msg(qp)) {
				tx->dry = true;
				return any;
			}
		}
		if (!weft_tx_plan(tx, tx->emss, &fpdu)) {
			tx->end_segment = true;
			return any;
		}
		lend = weft_tx_lends(tx);
		if (weft_tx_turns(tx, lend))
			return true;
		c = weft_chunk_room(qp, lend ? WEFT_LEND_FRAME : fpdu.len);
		if (!c)
			return any;
		if (lend ? weft_tx_lend(qp, c, &fpdu) : weft_tx_layout(qp, c, &fpdu))
			any = true;
	}
}

/*
 * How many of the next @len bytes to hand over. A segment or less needs no look at the
 * stream: where it goes was settled when it was laid out, or is again with what follows.
 */
static u32 weft_tx_portion(const struct weft_qp *qp, u32 len)
{
	const struct weft_tx *tx = &qp->tx;
	u32 waiting = tx->built - tx->sent;

	if (waiting <= tx->emss)
		return len;
	/* Segments were laid out one behind the other up to the last, which has room left. */
	return weft_llp_portion(qp->llp, tx->emss, (waiting + tx->room) % tx->emss, len);
}

/* Hands what is laid out to the stream. 0, or why not all of it was taken. */
static int weft_tx_push(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_chunk *c;
	u32 left, len;
	int n;

	while (tx->num_chunks) {
		c = &tx->chunk[0];
		for (left = c->fill - c->sent; left; left -= n) {
			len = weft_tx_portion(qp, left);
			n = weft_llp_send_page(qp->llp, c->page, c->sent, len,
					       len < left || tx->num_chunks > 1);
			if (n < 0)
				return n;
			c->sent += n;
			tx->sent += n;
			/* Asking again would only be told that there is no room. */
			if (n < len)
				return -EAGAIN;
		}
		if (tx->num_chunks == 1)
			break;
		weft_chunk_put(tx, 0);
	}
	return tx->lending ? weft_lend_push(qp) : 0;
}

/**
 * weft_tx_complete() - complete work requests, in the order they were posted
 * @qp: the queue pair; the caller holds what protects its tx
 *
 * A SEND or WRITE is done when the stream has taken its last byte, and has given
 * back what was lent to it; a READ or an atomic when the receive side says so.
 */
void weft_tx_complete(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_inflight *w;

	for (; tx->unsent != tx->head; tx->unsent++) {
		w = weft_tx_inflight(tx, tx->unsent);
		if (!w->done && w->end > tx->sent)
			break;
		if (tx->lending && weft_lend_is_out(qp, tx->unsent))
			break;
		if (!w->done)
			w->done = !weft_op_answered(w->opcode);
	}
	weft_inflight_complete(qp);
}

/* Tells the connection, once, that the queue pair failed or closes. */
static void weft_tx_tell(struct weft_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	if (qp->tx.told)
		return;
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->user) {
		qp->tx.told = true;
		if (state == IB_QPS_ERR)
			qp->user->ops->failed(qp->user);
		else
			qp->user->ops->closing(qp->user);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* Nothing is left to be done: asks for a doorbell. False: a post came meanwhile. */
static bool weft_tx_idle(struct weft_qp *qp)
{
	/*
	 * What waits for the peer is begun when that kicks us. To look at the ring
	 * for it here would take what came since for what has to wait.
	 */
	if (qp->tx.held)
		return true;
	weft_ring_need_doorbell(&qp->sq, true);
	if (!weft_ring_pending(&qp->sq))
		return true;
	weft_ring_need_doorbell(&qp->sq, false);
	return false;
}

/* The stream does not take what was laid out: waits, or gives up. */
static void weft_tx_blocked(struct weft_qp *qp, enum ib_qp_state state, int error)
{
	struct weft_tx *tx = &qp->tx;

	if (error != -EAGAIN || state == IB_QPS_ERR) {
		weft_qp_fail(qp, NULL, -1);
		weft_tx_tell(qp, IB_QPS_ERR);
		return;
	}
	if (state == IB_QPS_SQD) {
		if (!tx->drain_until)
			tx->drain_until = (jiffies + WEFT_DRAIN_TIMEOUT) | 1;
		if (time_after(jiffies, tx->drain_until)) {
			weft_tx_tell(qp, state);
			return;
		}
		weft_qp_within(qp, WEFT_DRAIN_TIMEOUT + 1);
	}
	if (!weft_llp_want_space(qp->llp))
		weft_qp_within(qp, WEFT_TX_RETRY);
}

/* Adds a round to the device's counters. */
static void weft_tx_count(struct weft_qp *qp, u64 sent, int error)
{
	struct weft_counters __percpu *counters = qp->dev->counters;

	if (qp->tx.fpdus)
		weft_count(counters, WEFT_CNT_TX_FPDUS, qp->tx.fpdus);
	qp->tx.fpdus = 0;
	if (sent) {
		weft_count(counters, WEFT_CNT_TX_BYTES, sent);
		weft_count(counters, WEFT_CNT_TX_BATCHES, 1);
	}
	if (error == -EAGAIN)
		weft_count(counters, WEFT_CNT_TX_BLOCKED, 1);
}

/*
 * One round with the socket lock held. Returns whether another one may find
 * something to do.
 */
bool weft_tx_round(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	u64 sent = tx->sent;
	u32 tail = tx->tail;
	enum ib_qp_state state;
	bool built;
	int rv;

	weft_qp_assert_locked(qp);
	built = weft_tx_build(qp);
	if (built)
		tx->active = jiffies;
	rv = weft_tx_push(qp);
	weft_tx_count(qp, tx->sent - sent, rv);
	weft_tx_complete(qp);
	state = weft_qp_state(qp);
	if (rv) {
		weft_tx_blocked(qp, state, rv);
		return false;
	}
	if (tx->end_segment) {
		weft_llp_end_segment(qp->llp);
		return true;
	}
	/* What completed may have been in the way of what is posted. */
	if ((built || tx->sent != sent || tx->tail != tail) &&
	    (!tx->dry || weft_ring_pending(&qp->sq)))
		return true;
	if (state != IB_QPS_RTS) {
		if (tx->msg.kind != WEFT_MSG_NONE || (state == IB_QPS_ERR && tx->term_due))
			return true;
		if (weft_lend_drained(qp))
			weft_tx_tell(qp, state);
	}
	return !weft_tx_idle(qp);
}

/* An idle queue pair keeps a page at most, after a while. */
void weft_tx_rest(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	bool large = tx->num_chunks && tx->chunk[0].size > PAGE_SIZE;

	if (tx->built != tx->sent || (!large && !weft_chunk_has_spares(tx)))
		return;
	if (time_before(jiffies, tx->active + WEFT_CHUNK_IDLE)) {
		weft_qp_within(qp, WEFT_CHUNK_IDLE);
		return;
	}
	if (large)
		weft_chunk_put(tx, 0);
	weft_chunk_drop_spares(tx);
}

/**
 * weft_tx_awaits_peer() - does sending wait for a frame that the peer agreed to?
 * @qp: a queue pair with a stream
 *
 * Any context; the answer may be old.
 */
bool weft_tx_awaits_peer(const struct weft_qp *qp)
{
	return qp->agreed.p2p && READ_ONCE(qp->tx.gated);
}

/**
 * weft_tx_writable() - the stream has room again
 * @qp: the queue pair
 *
 * Called with the socket lock held, possibly from inside our own send.
 */
void weft_tx_writable(struct weft_qp *qp)
{
	weft_qp_assert_locked(qp);
	weft_qp_kick(qp);
}

/**
 * weft_tx_init() - prepare the transmit side of a new queue pair
 * @qp: the queue pair, its capacities set
 *
 * Return: 0 or -ENOMEM.
 */
int weft_tx_init(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;

	mutex_init(&tx->lock);
	tx->inflight_size = roundup_pow_of_two(max(qp->cap.max_send_wr, 1U));
	tx->inflight = kvcalloc(tx->inflight_size, sizeof(*tx->inflight),
				GFP_KERNEL_ACCOUNT);
	return tx->inflight ? 0 : -ENOMEM;
}

/* Frees what weft_tx_init() made. Nobody uses the queue pair any more. */
void weft_tx_destroy(struct weft_qp *qp)
{
	weft_lend_destroy(&qp->tx);
	kvfree(qp->tx.inflight);
}

/**
 * weft_tx_start() - prepare for a stream
 * @qp: the queue pair, what was agreed set
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int weft_tx_start(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	u32 max_sge = max(qp->cap.max_send_sge, 1U);
	struct mem_cgroup *before;
	u32 i;

	tx->ord = qp->agreed.ord;
	tx->ird = qp->agreed.ird;
	before = weft_charge_begin(qp->owner);
	if (tx->ord) {
		tx->reads = kcalloc(roundup_pow_of_two(tx->ord),
				    sizeof(*tx->reads), GFP_KERNEL_ACCOUNT);
		tx->read_sge = kvcalloc(roundup_pow_of_two(tx->ord) * max_sge,
					sizeof(*tx->read_sge), GFP_KERNEL_ACCOUNT);
		if (!tx->reads || !tx->read_sge)
			goto no_memory;
	}
	for (i = 0; tx->ord && i < roundup_pow_of_two(tx->ord); i++)
		tx->reads[i].sge = tx->read_sge + (size_t)i * max_sge;
	if (tx->ird) {
		tx->answers = kcalloc(roundup_pow_of_two(tx->ird),
				      sizeof(*tx->answers), GFP_KERNEL_ACCOUNT);
		if (!tx->answers)
			goto no_memory;
	}
	weft_charge_end(before);
	tx->built = 0;
	tx->sent = 0;
	tx->crc = qp->agreed.crc;
	/* Weft takes any FPDU there can be; who else does is not known. */
	tx->large = qp->agreed.extended &&
		    weft_setting(&qp->dev->settings, WEFT_SET_FPDU) == WEFT_FPDU_LARGE;
	tx->gated = !qp->initiator;
	tx->gate_until = jiffies + WEFT_GATE_TIMEOUT;
	tx->rtr_due = qp->initiator && qp->agreed.p2p ? qp->agreed.rtr : 0;
	tx->prefer_response = false;
	tx->msg.kind = WEFT_MSG_NONE;
	tx->send_msn = 0;
	tx->read_msn = 0;
	tx->atomic_msn = 0;
	tx->read_head = 0;
	tx->read_tail = 0;
	tx->answer_head = 0;
	tx->answer_tail = 0;
	tx->term_seg_len = 0;
	tx->term_due = false;
	tx->told = false;
	tx->broken = false;
	tx->drain_until = 0;
	return 0;

no_memory:
	weft_charge_end(before);
	weft_tx_stop(qp);
	return -ENOMEM;
}

/* The stream is gone: drops what was to be sent. The caller holds tx.lock. */
void weft_tx_stop(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;

	lockdep_assert_held(&tx->lock);
	while (tx->num_chunks)
		weft_chunk_put(tx, tx->num_chunks - 1);
	weft_chunk_drop_spares(tx);
	weft_lend_stop(tx);
	kfree(tx->reads);
	kvfree(tx->read_sge);
	kfree(tx->answers);
	tx->reads = NULL;
	tx->read_sge = NULL;
	tx->answers = NULL;
	tx->ord = 0;
	tx->ird = 0;
}
