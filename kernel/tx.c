// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit engine: lays out FPDUs in chunks, hands chunks to the stream,
 * completes what the stream has taken, and decides who does it when.
 */
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "conn.h"
#include "device.h"
#include "llp/llp.h"
#include "tx.h"
#include "verbs/cq.h"
#include "verbs/qp.h"
#include "workqueue.h"

/* Rounds of laying out and sending before the socket's other users get a turn. */
#define WEFT_TX_ROUNDS	16

static void weft_chunk_put(struct weft_tx *tx, u32 index)
{
	struct page *page = tx->chunk[index].page;

	/* A new large one would have to be cleared: soon TCP is through with this. */
	if (tx->spare_head - tx->spare_tail < WEFT_TX_SPARES &&
	    tx->chunk[index].size == PAGE_SIZE << WEFT_CHUNK_ORDER)
		tx->spare[tx->spare_head++ % WEFT_TX_SPARES] = page;
	else
		put_page(page);
	tx->num_chunks--;
	for (; index < tx->num_chunks; index++)
		tx->chunk[index] = tx->chunk[index + 1];
}

static bool weft_chunk_has_spares(const struct weft_tx *tx)
{
	return tx->spare_head != tx->spare_tail;
}

/* The oldest, if TCP is through with it; TCP takes and drops them in order. */
static struct page *weft_chunk_spare(struct weft_tx *tx)
{
	struct page *page;

	if (!weft_chunk_has_spares(tx))
		return NULL;
	page = tx->spare[tx->spare_tail % WEFT_TX_SPARES];
	if (page_ref_count(page) != 1)
		return NULL;
	tx->spare_tail++;
	return page;
}

static void weft_chunk_drop_spares(struct weft_tx *tx)
{
	for (; weft_chunk_has_spares(tx); tx->spare_tail++)
		put_page(tx->spare[tx->spare_tail % WEFT_TX_SPARES]);
}

/* A chunk of at least @need bytes, a large one if much is waiting. */
static struct weft_chunk *weft_chunk_add(struct weft_tx *tx, u32 need)
{
	struct weft_chunk *c = &tx->chunk[tx->num_chunks];
	int least = get_order(need);
	int order = tx->msg.left + need > PAGE_SIZE ? max(WEFT_CHUNK_ORDER, least) : least;
	struct page *page = NULL;

	if (order == WEFT_CHUNK_ORDER)
		page = weft_chunk_spare(tx);
	/* Large ones are a convenience: take what is to be had at once. */
	while (!page && order > least) {
		page = alloc_pages((GFP_KERNEL & ~__GFP_DIRECT_RECLAIM) |
				   __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY,
				   order);
		if (!page)
			order--;
	}
	if (!page)
		page = alloc_pages(GFP_KERNEL | __GFP_COMP, order);
	if (!page)
		return NULL;
	c->page = page;
	c->size = PAGE_SIZE << order;
	c->fill = 0;
	c->sent = 0;
	tx->num_chunks++;
	return c;
}

/*
 * Finds room for an FPDU behind what is laid out already. NULL: enough is
 * waiting to be sent.
 */
static struct weft_chunk *weft_chunk_room(struct weft_qp *qp, u32 need)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_chunk *c;

	if (tx->num_chunks) {
		c = &tx->chunk[tx->num_chunks - 1];
		if (c->size - c->fill >= need)
			return c;
		if (tx->num_chunks == 1 && c->sent == c->fill) {
			if (page_ref_count(c->page) == 1 && c->size >= need) {
				/* TCP is through with it: from the top. */
				c->fill = 0;
				c->sent = 0;
				return c;
			}
			weft_chunk_put(tx, 0);
		} else if (tx->num_chunks == WEFT_TX_CHUNKS) {
			return NULL;
		}
	}
	c = weft_chunk_add(tx, need);
	if (!c)
		weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
	return c;
}

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

/* Hands what is laid out to the stream. 0, or why not all of it was taken. */
static int weft_tx_push(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_chunk *c;
	int n;

	while (tx->num_chunks) {
		c = &tx->chunk[0];
		if (c->sent < c->fill) {
			n = weft_llp_send_page(qp->llp, c->page, c->sent,
					       c->fill - c->sent,
					       tx->num_chunks > 1);
			if (n < 0)
				return n;
			c->sent += n;
			tx->sent += n;
			/* Asking again would only be told that there is no room. */
			if (c->sent < c->fill)
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
	struct weft_completion wc = { .qpn = qp->qpn };
	struct weft_inflight *w;
	bool any = false;

	for (; tx->unsent != tx->head; tx->unsent++) {
		w = weft_tx_inflight(tx, tx->unsent);
		if (!w->done && w->end > tx->sent)
			break;
		if (tx->lending && weft_lend_is_out(qp, tx->unsent))
			break;
		if (!w->done)
			w->done = !weft_op_answered(w->opcode);
	}
	for (; tx->tail != tx->unsent; tx->tail++) {
		w = weft_tx_inflight(tx, tx->tail);
		if (!w->done)
			break;
		any = true;
		if (tx->broken && !w->status) {
			/* Sent, perhaps, but behind one that the peer refused. */
			w->status = IB_WC_WR_FLUSH_ERR;
			w->vendor = WEFT_VE_CONNECTION;
		}
		if (!w->signaled && !w->status)
			continue;
		tx->broken |= w->status != IB_WC_SUCCESS;
		wc.wr_id = w->wr_id;
		wc.byte_len = w->byte_len;
		wc.ex = w->vendor;
		wc.opcode = w->opcode;
		wc.status = w->status;
		/* The slot first: who polls this completion may post at once. */
		weft_ring_release(&qp->sq, w->ring_end);
		if (!weft_cq_add(qp->scq, &wc))
			weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
	}
	if (any)
		weft_ring_release(&qp->sq,
				  weft_tx_inflight(tx, tx->tail - 1)->ring_end);
}

/* Tells the connection, once, that the queue pair failed or closes. */
static void weft_tx_tell(struct weft_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	if (qp->tx.told)
		return;
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->conn) {
		qp->tx.told = true;
		if (state == IB_QPS_ERR)
			weft_conn_qp_failed(qp->conn);
		else
			weft_conn_qp_closing(qp->conn);
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
		queue_delayed_work(weft_workqueue, &tx->work,
				   WEFT_DRAIN_TIMEOUT + 1);
	}
	if (!weft_llp_want_space(qp->llp))
		queue_delayed_work(weft_workqueue, &tx->work, WEFT_TX_RETRY);
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
static bool weft_tx_round(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	u64 sent = tx->sent;
	u32 tail = tx->tail;
	enum ib_qp_state state;
	bool built;
	int rv;

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
static void weft_tx_rest(struct weft_tx *tx)
{
	bool large = tx->num_chunks && tx->chunk[0].size > PAGE_SIZE;

	if (tx->built != tx->sent || (!large && !weft_chunk_has_spares(tx)))
		return;
	if (time_before(jiffies, tx->active + WEFT_CHUNK_IDLE)) {
		queue_delayed_work(weft_workqueue, &tx->work, WEFT_CHUNK_IDLE);
		return;
	}
	if (large)
		weft_chunk_put(tx, 0);
	weft_chunk_drop_spares(tx);
}

/* Drains the queue pair; the caller holds tx.lock. */
static void weft_tx_run(struct weft_qp *qp)
{
	struct weft_llp *llp = qp->llp;
	struct weft_tx *tx = &qp->tx;
	int rounds = WEFT_TX_ROUNDS;
	bool more;

	if (!llp) {
		if (weft_qp_state(qp) == IB_QPS_ERR)
			weft_qp_flush(qp);
		return;
	}
	do {
		weft_llp_lock(llp);
		weft_ring_need_doorbell(&qp->sq, false);
		more = weft_tx_round(qp);
		if (!more)
			weft_tx_rest(tx);
		weft_llp_unlock(llp);
	} while (more && --rounds);
	if (more)
		weft_tx_kick(qp);
	else if (tx->gated && !qp->agreed.p2p)
		queue_delayed_work(weft_workqueue, &tx->work, WEFT_GATE_TIMEOUT);
}

static void weft_tx_work(struct work_struct *work)
{
	struct weft_qp *qp = container_of(to_delayed_work(work),
					  struct weft_qp, tx.work);
	unsigned int flags;

	/* A disk may be at the other end: to wait for I/O is to wait for ourselves. */
	flags = memalloc_noio_save();
	mutex_lock(&qp->tx.lock);
	weft_tx_run(qp);
	mutex_unlock(&qp->tx.lock);
	memalloc_noio_restore(flags);
}

/**
 * weft_tx_kick() - have a worker look after the queue pair
 * @qp: the queue pair
 *
 * Any context, any lock held.
 */
void weft_tx_kick(struct weft_qp *qp)
{
	mod_delayed_work(weft_workqueue, &qp->tx.work, 0);
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
	weft_tx_kick(qp);
}

/**
 * weft_tx_doorbell() - the user posted to the send ring
 * @qp: the queue pair
 *
 * Sends in the caller's context if nobody else is at it and no streak of
 * requests goes on. Process context.
 *
 * Return: 0, or -EINVAL in a state in which nothing may be posted.
 */
int weft_tx_doorbell(struct weft_qp *qp)
{
	switch (weft_qp_state(qp)) {
	case IB_QPS_RTS:
		break;
	case IB_QPS_SQD:
	case IB_QPS_ERR:
		weft_tx_kick(qp);
		return 0;
	default:
		return -EINVAL;
	}
	if (weft_streak_goes_on(&qp->scq->streak) || !mutex_trylock(&qp->tx.lock)) {
		/* The worker asks for the next doorbell when it has nothing to do. */
		weft_ring_need_doorbell(&qp->sq, false);
		weft_tx_kick(qp);
		return 0;
	}
	weft_tx_run(qp);
	mutex_unlock(&qp->tx.lock);
	return 0;
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
	INIT_DELAYED_WORK(&tx->work, weft_tx_work);
	tx->inflight_size = roundup_pow_of_two(max(qp->cap.max_send_wr, 1U));
	tx->inflight = kvcalloc(tx->inflight_size, sizeof(*tx->inflight),
				GFP_KERNEL);
	return tx->inflight ? 0 : -ENOMEM;
}

/* Frees what weft_tx_init() made. Nobody uses the queue pair any more. */
void weft_tx_destroy(struct weft_qp *qp)
{
	cancel_delayed_work_sync(&qp->tx.work);
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
	u32 i;

	tx->ord = qp->agreed.ord;
	tx->ird = qp->agreed.ird;
	if (tx->ord) {
		tx->reads = kcalloc(roundup_pow_of_two(tx->ord),
				    sizeof(*tx->reads), GFP_KERNEL);
		tx->read_sge = kvcalloc(roundup_pow_of_two(tx->ord) * max_sge,
					sizeof(*tx->read_sge), GFP_KERNEL);
		if (!tx->reads || !tx->read_sge)
			goto no_memory;
	}
	for (i = 0; tx->ord && i < roundup_pow_of_two(tx->ord); i++)
		tx->reads[i].sge = tx->read_sge + (size_t)i * max_sge;
	if (tx->ird) {
		tx->answers = kcalloc(roundup_pow_of_two(tx->ird),
				      sizeof(*tx->answers), GFP_KERNEL);
		if (!tx->answers)
			goto no_memory;
	}
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
	weft_tx_stop(qp);
	return -ENOMEM;
}

/* The stream is gone: drops what was to be sent. The caller holds tx.lock. */
void weft_tx_stop(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;

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
