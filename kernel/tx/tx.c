// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit engine. A round lays out FPDUs in a batch, pushes the batch to the stream, and
 * completes the work requests whose bytes the stream has taken.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>
#include <linux/sched/stat.h>
#include <linux/sizes.h>

#include "base/context.h"
#include "base/policy.h"
#include "base/weft.h"
#include "base/baton.h"
#include "llp/llp.h"
#include "queue/cq.h"
#include "tx/batch.h"
#include "tx/tx.h"

/* Lays out FPDUs of the message. */
static enum weft_tx_stop tx_extend(struct weft_tx *tx)
{
	struct weft_batch *batch = &tx->batch;
	struct weft_chunks *chunks = &batch->chunks;
	const struct ib_ucontext *payer = tx->qp->owner;
	u32 rest = weft_plan_rest(tx->msg.hdr.tagged, tx->msg.left);
	bool lend = tx->msg.lend && !tx->msg.local;
	bool join = false;
	struct weft_fpdu fpdu;
	struct weft_chunk *c;
	u32 train = 0, need, from;

	if (lend || batch->lent) {
		join = !lend && weft_batch_may_join(batch, rest);
		if (!join && weft_batch_is_full(batch, lend))
			return WEFT_TX_FULL;
	}
	if (unlikely(tx->marked))
		rest = weft_marker_spread(batch->laid_out, rest);
	need = lend ? WEFT_LOAN_FRAME : min(rest, batch->room);
	c = &chunks->chunk[max(chunks->num, 1U) - 1];
	/* Most often the newest chunk has room. A kernel consumer's page needs another look. */
	if (!chunks->num || c->size - c->fill < need || (!payer && c->size == PAGE_SIZE))
		c = weft_chunk_room(chunks, need, tx->msg.left, payer);
	if (IS_ERR_OR_NULL(c))
		return c ? WEFT_TX_STARVED : WEFT_TX_FULL;
	if (rest > batch->room && tx->longest) {
		train = batch->emss;
		if (weft_llp_has(tx->qp->llp, train))
			train = weft_llp_call(tx->qp->llp, train, batch->emss);
		train = min(train, tx->longest);
	}
	/*
	 * Where FPDUs may be large, a short rest of a segment is filled, because the end of the
	 * segment would end TCP's packet buffer as well. A stream with markers lends nothing.
	 */
	from = c->fill;
	if (lend) {
		if (!weft_plan_fpdu(batch->emss, train, batch->room, tx->msg.hdr.tagged,
				    tx->msg.left, &fpdu))
			return WEFT_TX_SEGMENT;
		c->fill += weft_loan_layout(tx, &fpdu, c->page, c->fill);
		c->sent = c->fill; /* the loan sends these bytes, with the payload between them */
	} else if (!weft_tx_layout(tx, c, train)) {
		return WEFT_TX_SEGMENT;
	}
	if (join)
		weft_batch_join(batch, c, from);
	return WEFT_TX_GOES_ON;
}

/*
 * Takes the stream's lock, which the caller releases, and lays out FPDUs until enough bytes are
 * ready or nothing more can be done now. If that takes long, unlocks the stream meanwhile, because
 * arriving packets would otherwise wait for the last byte; for less the lock is not worth taking
 * twice. Nor is it for lent payload, even with a CRC, because that is pushed after a few FPDUs.
 */
static enum weft_tx_stop tx_build(struct weft_tx *tx)
{
	struct weft_tx_msg *msg = &tx->msg;
	struct weft_batch *batch = &tx->batch;
	struct weft_qp *qp = tx->qp;
	struct weft_llp *llp = qp->llp;
	enum weft_tx_stop stop = WEFT_TX_GOES_ON;
	u64 begin = batch->laid_out;
	bool apart = false, many;

	lockdep_assert_held(&qp->tx_lock.mutex);
	weft_llp_call(llp, lock);
	if (batch->laid_out == batch->sent) {
		batch->emss = weft_llp_call(llp, emss);
		batch->room = weft_llp_has(llp, room) ? weft_llp_call(llp, room, batch->emss) :
							batch->emss;
		weft_chunks_taken(&batch->chunks);
	}
	many = weft_ring_pending(&qp->sq) >= WEFT_TX_MANY;
	while (stop == WEFT_TX_GOES_ON) {
		/* If the queue pair fails, the message in progress stops after an FPDU. */
		if (msg->kind != WEFT_MSG_NONE && msg->kind != WEFT_MSG_CONTROL &&
		    weft_qp_state(qp) == IB_QPS_ERR)
			msg->kind = WEFT_MSG_NONE;
		if (msg->kind == WEFT_MSG_NONE) {
			/* Most often there was only one message: spare the search for another. */
			if (batch->laid_out != begin && !weft_ring_pending(&qp->sq) &&
			    !weft_peer_reads_due(&qp->peer_reads)) {
				tx->waiting = false;
				stop = WEFT_TX_DRY;
				break;
			}
			if (!weft_tx_next_msg(tx)) {
				stop = WEFT_TX_DRY;
				break;
			}
		}
		if (!apart && weft_rule(WEFT_RULE_APART) &&
		    (many || (msg->left >= WEFT_TX_LONG && !msg->local && !msg->lend))) {
			weft_llp_call(llp, unlock);
			apart = true;
		}
		stop = tx_extend(tx);
		/*
		 * In a long message, other threads that wait for the processor get a turn after
		 * each chunk. cond_resched() is not enough: a 1 MiB message fits in one time slice,
		 * and others would wait for all of it. Not for FPDUs of a segment, whose last one
		 * could be cut by the pause.
		 */
		if (stop == WEFT_TX_GOES_ON && apart && weft_rule(WEFT_RULE_TURNS) &&
		    msg->total > SZ_128K && tx->longest != WEFT_FPDU_ONE_SEGMENT &&
		    !single_task_running()) {
			schedule();
			stop = WEFT_TX_YIELDS;
		}
	}
	if (apart)
		weft_llp_call(llp, lock);
	return stop;
}

/*
 * Completes work requests in the order of their posts. A SEND or WRITE is done when the stream has
 * taken its last byte and has returned its loan; a READ or an atomic when its response has come.
 */
void weft_tx_complete(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_inflight *inflight = &qp->inflight;
	struct weft_request *w;
	u32 i;

	lockdep_assert_held(&qp->tx_lock.mutex);
	for (i = inflight->unsent; i != inflight->head; i++) {
		w = weft_inflight_at(inflight, i);
		if (w->end > tx->batch.sent && !weft_request_is_done(w))
			break;
		if (tx->loans && weft_loan_is_out(tx->loans, i, qp->dev->counters))
			break;
		if (!weft_op_answered(w->opcode) && !weft_request_is_done(w))
			weft_request_done(w);
	}
	/* All requests before @i may complete. Pairs with weft_inflight_complete(). */
	smp_store_release(&inflight->unsent, i);
	/* The receive side completes the requests that lack a response. */
	if (READ_ONCE(inflight->tail) != i)
		weft_qp_complete_sends(qp);
}

/* Completes the whole send ring in error. The queue pair is in ERR without a stream. May sleep. */
void weft_tx_flush_requests(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	union weft_wr_copy *copy = &tx->msg.copy;
	struct weft_request *w;
	int pending;
	u32 blocks;

	lockdep_assert_held(&qp->tx_lock.mutex);
	weft_inflight_flush(&qp->inflight);
	weft_tx_complete(tx);
	/* Only requests posted by now: a later post rings the doorbell, which flushes again. */
	for (pending = weft_ring_pending(&qp->sq); pending > 0; pending -= blocks) {
		weft_tx_copy_blocks(tx, 0, 1);
		blocks = clamp_t(u32, copy->wr.num_blocks, 1, pending);
		w = weft_tx_admit(tx, blocks);
		weft_request_fail(w, IB_WC_WR_FLUSH_ERR, WEFT_VE_CONNECTION);
		weft_tx_complete(tx);
		cond_resched();
	}
}

/* Tells the connection, once, that the queue pair failed or closes. */
static void tx_tell(struct weft_tx *tx, enum ib_qp_state state)
{
	struct weft_qp *qp = tx->qp;
	unsigned long flags;

	if (qp->ending.told)
		return;
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->user) {
		qp->ending.told = true;
		qp->user->ops->post(qp->user,
				    state == IB_QPS_ERR ? WEFT_QP_FAILED : WEFT_QP_CLOSING);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
}

/*
 * A queue pair that ends waits for room in the stream; an error of the stream fails it. A graceful
 * end waits, and one with a Terminate (RFC 5040, 7.1), for a limited time.
 */
static void tx_blocked(struct weft_tx *tx, enum ib_qp_state state, int error)
{
	struct weft_qp *qp = tx->qp;
	struct weft_ending *ending = &qp->ending;

	if (error != -EAGAIN) {
		weft_qp_fail(qp, NULL, -1);
		state = IB_QPS_ERR;
	} else if (state == IB_QPS_RTS) {
		return;
	} else if (!READ_ONCE(qp->dying) &&
		   (state == IB_QPS_SQD || ending->due || ending->said) &&
		   !weft_ending_overdue(ending)) {
		weft_qp_within(qp, WEFT_DRAIN_TIMEOUT + 1);
		return;
	}
	tx_tell(tx, state);
}

/*
 * Nothing is left to do: tells the connection of an end, and asks for a doorbell. Returns true if
 * another round may find something to do after all.
 */
static bool tx_rest(struct weft_tx *tx, enum ib_qp_state state)
{
	struct weft_batch *batch = &tx->batch;
	struct weft_chunks *chunks = &batch->chunks;
	struct weft_qp *qp = tx->qp;

	if (state != IB_QPS_RTS) {
		if (tx->msg.kind != WEFT_MSG_NONE || (state == IB_QPS_ERR && qp->ending.due))
			return true;
		if (weft_loan_settled(tx))
			tx_tell(tx, state);
	}
	/*
	 * If the first request in the ring waits for the peer, the peer's answer, or the return of
	 * a loan, will kick the worker. Do not test the ring again: a request posted meanwhile
	 * would be mistaken for this one.
	 */
	if (!tx->waiting) {
		weft_ring_need_doorbell(&qp->sq, true);
		if (weft_ring_pending(&qp->sq)) {
			weft_ring_need_doorbell(&qp->sq, false);
			return true;
		}
	}
	/* The chunks are freed, but for a page, once the queue pair has been idle for a while. */
	if (batch->laid_out == batch->sent &&
	    (chunks->num_spares || (chunks->num && chunks->chunk[0].size > PAGE_SIZE)) &&
	    weft_chunks_rest(chunks))
		weft_qp_within(qp, WEFT_CHUNK_IDLE);
	return false;
}

/*
 * Lays out, pushes and completes. Only the stream itself needs the socket lock, so the queue pair
 * receives while much is laid out and while requests complete. Without room in the stream asks for
 * the writable event. May sleep. Returns true if another round may find something to do.
 */
bool weft_tx_round(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_counters __percpu *counters = qp->dev->counters;
	u32 tail = READ_ONCE(qp->inflight.tail);
	struct weft_batch *batch = &tx->batch;
	u64 sent = batch->sent, begin = batch->laid_out;
	u64 fpdus = tx->fpdus;
	enum weft_tx_stop stop;
	enum ib_qp_state state;
	bool laid;
	int ret;

	lockdep_assert_held(&qp->tx_lock.mutex);
	stop = tx_build(tx);
	/* After a pause amid a message, a short segment waits for the rest, which follows. */
	ret = weft_batch_push(batch, qp->llp, stop != WEFT_TX_DRY,
			      stop == WEFT_TX_YIELDS && tx->msg.kind != WEFT_MSG_NONE);
	if (!ret && stop == WEFT_TX_SEGMENT && weft_llp_has(qp->llp, end_segment))
		weft_llp_held(qp->llp, end_segment);
	if (ret == -EAGAIN && !weft_llp_held(qp->llp, want_space))
		weft_qp_within(qp, WEFT_TX_RETRY);
	weft_llp_call(qp->llp, unlock);
	laid = batch->laid_out != begin;
	if (laid)
		batch->chunks.active = jiffies;
	/* For the queue pair first, then for the device: see weft_get_hw_stats(). */
	tx->bytes += batch->sent - sent;
	if (tx->fpdus != fpdus)
		weft_count(counters, WEFT_CNT_TX_FPDUS, tx->fpdus - fpdus);
	if (batch->sent != sent) {
		weft_count(counters, WEFT_CNT_TX_BYTES, batch->sent - sent);
		weft_count(counters, WEFT_CNT_TX_BATCHES, 1);
	}
	if (ret == -EAGAIN)
		weft_count(counters, WEFT_CNT_TX_BLOCKED, 1);
	weft_tx_complete(tx);
	state = weft_qp_state(qp);
	if (ret) {
		tx_blocked(tx, state, ret);
		return false;
	}
	if (stop == WEFT_TX_STARVED) {
		/* A graceful end waits for memory as long as for room, a Terminate without end. */
		if (state == IB_QPS_SQD)
			tx_blocked(tx, state, -EAGAIN);
		weft_qp_within(qp, WEFT_TX_RETRY);
		return false;
	}
	if (stop == WEFT_TX_SEGMENT)
		return true;
	/* Completions may have freed in-flight slots for which posted requests waited. */
	if ((laid || batch->sent != sent || READ_ONCE(qp->inflight.tail) != tail) &&
	    (stop != WEFT_TX_DRY || weft_ring_pending(&qp->sq)))
		return true;
	return tx_rest(tx, state);
}

/* Prepares for a stream; @agreed is set. Returns 0 or -ENOMEM. */
int weft_tx_start(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	u32 lend = READ_ONCE(qp->dev->settings.value[WEFT_SET_LEND]);
	int ret;

	ret = weft_reads_start(&qp->reads, qp->agreed.ord, max(qp->cap.max_send_sge, 1U),
			       qp->owner);
	if (!ret)
		ret = weft_peer_reads_start(&qp->peer_reads, qp->agreed.ird, qp->owner);
	if (ret) {
		weft_reads_stop(&qp->reads);
		return ret;
	}
	weft_gate_start(&qp->gate, &qp->agreed, qp->initiator);
	weft_ending_start(&qp->ending);
	qp->inflight.broken = false;
	tx->batch.laid_out = 0;
	tx->batch.sent = 0;
	tx->crc = qp->agreed.crc;
	tx->marked = qp->agreed.marks_out;
	/*
	 * A process that changes lent payload makes its CRC wrong, so that the peer ends the
	 * connection; with a copy it would live. So only WEFT_LEND_ALL lends payload with a CRC.
	 */
	tx->lends = lend > (tx->crc ? WEFT_LEND_UNCHECKED : WEFT_LEND_OFF);
	tx->prefer_response = false;
	tx->msg.kind = WEFT_MSG_NONE;
	tx->send_msn = 0;
	return 0;
}

/* Drops all bytes that were to be sent, because the stream is gone. */
void weft_tx_stop(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;

	lockdep_assert_held(&qp->tx_lock.mutex);
	weft_batch_drop(&tx->batch);
	qp->ending.drain_until = jiffies + WEFT_LOAN_TIMEOUT;
	weft_reads_stop(&qp->reads);
	weft_peer_reads_stop(&qp->peer_reads);
}
