// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit engine. A round lays out FPDUs in a batch, pushes the batch to the stream, and
 * completes the work requests whose bytes the stream has taken.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/sched/mm.h>
#include <linux/sched/stat.h>
#include <linux/sizes.h>

#include "base/context.h"
#include "base/policy.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "llp/llp.h"
#include "pair/qp.h"
#include "queue/cq.h"
#include "tx/batch.h"
#include "tx/loan.h"
#include "tx/tx.h"

/* Lays out @fpdu of the message in progress with lent payload. Returns true if it did. */
static bool tx_layout_lent(struct weft_qp *qp, struct weft_chunk *c, struct weft_fpdu *fpdu)
{
	u32 used = weft_loan_layout(qp, fpdu, c->page, c->fill);

	c->fill += used;
	c->sent = c->fill; /* the loan sends these bytes, with the payload between them */
	return used;
}

/* Lays out @fpdu and those behind it with copied payload, or fails the queue pair. */
static bool tx_layout_copied(struct weft_qp *qp, struct weft_chunk *c, u32 train,
			     struct weft_fpdu *fpdu)
{
	bool good = weft_tx_layout(qp, c, train, fpdu);

	if (!good)
		weft_tx_gather_failed(qp);
	return good;
}

/* Returns true if the payload of the next FPDU is lent. */
static bool tx_is_lent(const struct weft_tx *tx)
{
	return tx->msg.lend && !tx->msg.local;
}

/* Returns true if no request is posted and the peer waits for no answer. */
static bool tx_has_all(const struct weft_ring *sq, const struct weft_answers *answers)
{
	return !weft_ring_pending(sq) && !weft_answers_due(answers);
}

/* Finds the message of the next FPDUs, or none. @any: something was laid out before. */
static bool tx_find_message(struct weft_qp *qp, bool any)
{
	struct weft_tx *tx = &qp->tx;

	/* If the queue pair fails, the message in progress stops after an FPDU. */
	if (tx->msg.kind != WEFT_MSG_NONE && tx->msg.kind != WEFT_MSG_CONTROL &&
	    weft_qp_state(qp) == IB_QPS_ERR)
		tx->msg.kind = WEFT_MSG_NONE;
	if (tx->msg.kind != WEFT_MSG_NONE)
		return true;
	/* Most often there was only one message: spare the search for another. */
	if (any && tx_has_all(&qp->sq, &qp->answers))
		tx->waiting = false;
	else if (weft_tx_next_msg(qp))
		return true;
	tx->dry = true;
	return false;
}

/* Lays out FPDUs of the message, and sets *@any if it did. Returns true if more may follow. */
static bool tx_extend(struct weft_qp *qp, bool *any)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_batch *batch = &tx->batch;
	u32 rest = weft_plan_rest(tx->msg.hdr.tagged, tx->msg.left);
	bool lend = tx_is_lent(tx), join = !lend && weft_batch_may_join(batch, rest);
	struct weft_fpdu fpdu;
	struct weft_chunk *c;
	u32 train = 0, from;

	if (!join && weft_batch_is_full(batch, lend)) {
		*any = true;
		return false;
	}
	if (unlikely(tx->marked))
		rest = weft_marker_spread(batch->laid_out, rest);
	c = weft_chunk_room(&batch->chunks, lend ? WEFT_LOAN_FRAME : min(rest, batch->room),
			    tx->msg.left, qp->owner);
	if (IS_ERR_OR_NULL(c)) {
		tx->starved = c;
		return false;
	}
	if (rest > batch->room && tx->longest)
		train = min(weft_llp_train(qp->llp, batch->emss), tx->longest);
	/*
	 * A copied FPDU is as long as the chunk allows: it need not be large, nor fill its segment,
	 * in which another may follow. Where FPDUs may be large, a short rest of a segment is
	 * filled, because the end of the segment would end TCP's packet buffer as well.
	 */
	if (!weft_tx_plan(tx, lend ? train : min(train, c->size - c->fill),
			  lend ? batch->room : min(batch->room, c->size - c->fill), &fpdu)) {
		tx->end_segment = true;
		return false;
	}
	from = c->fill;
	if (lend ? tx_layout_lent(qp, c, &fpdu) : tx_layout_copied(qp, c, train, &fpdu))
		*any = true;
	if (join)
		weft_batch_join(batch, c, from);
	return true;
}

/*
 * Returns true if the message takes long to lay out. Lent payload is pushed after a few FPDUs, so
 * even with a CRC it is not worth taking the lock twice.
 */
static bool tx_is_long(const struct weft_tx *tx)
{
	return tx->msg.left >= WEFT_TX_LONG && !tx->msg.local && !tx_is_lent(tx);
}

/*
 * Returns true if other threads wait for the processor and get a turn after each chunk of the
 * message. cond_resched() is not enough: a 1 MiB message fits in one time slice, and others would
 * wait for all of it. Not for FPDUs of a segment, whose last one could be cut by the pause.
 */
static bool tx_is_shared(const struct weft_tx *tx)
{
	return weft_rule(WEFT_RULE_TURNS) && tx->msg.total > SZ_128K &&
	       tx->longest != WEFT_FPDU_ONE_SEGMENT && !single_task_running();
}

/*
 * Lays out FPDUs until enough bytes are ready or nothing more can be done now. If that takes long,
 * unlocks the socket meanwhile, because arriving packets would otherwise wait for the last byte;
 * for less the lock is not worth taking twice. Returns true if something was laid out.
 */
static bool tx_build(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_batch *batch = &tx->batch;
	bool any = false, apart = false, others = false;
	bool many = weft_ring_pending(&qp->sq) >= WEFT_TX_MANY;

	weft_llp_assert_locked(qp->llp);
	tx->end_segment = false;
	tx->dry = false;
	tx->starved = false;
	if (batch->laid_out == batch->sent) {
		batch->emss = weft_llp_emss(qp->llp);
		batch->room = weft_llp_room(qp->llp, batch->emss);
		weft_chunks_taken(&batch->chunks);
	}
	while (tx_find_message(qp, any)) {
		if (!apart && weft_rule(WEFT_RULE_APART) && (many || tx_is_long(tx))) {
			weft_llp_unlock(qp->llp);
			apart = true;
		}
		if (!tx_extend(qp, &any))
			break;
		others = apart && tx_is_shared(tx);
		if (others)
			break;
	}
	tx->cork = others && tx->msg.kind != WEFT_MSG_NONE;
	if (others)
		schedule();
	if (apart)
		weft_llp_lock(qp->llp);
	return any;
}

/*
 * Completes work requests in the order of their posts. A SEND or WRITE is done when the stream has
 * taken its last byte and has returned its loan; a READ or an atomic when its response has come.
 */
void weft_tx_complete(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->inflight;
	const struct weft_tx *tx = &qp->tx;
	struct weft_request *w;
	u32 i;

	lockdep_assert_held(&tx->lock.mutex);
	for (i = inflight->unsent; i != inflight->head; i++) {
		w = weft_inflight_at(inflight, i);
		if (w->end > tx->batch.sent && !weft_request_is_done(w))
			break;
		if (tx->loans && weft_loan_is_out(tx->loans, i, qp->dev->counters))
			break;
		if (!weft_op_answered(w->opcode) && !weft_request_is_done(w))
			weft_request_done(w);
	}
	weft_inflight_sent(inflight, i);
	/* The receive side completes the requests that lack a response. */
	if (READ_ONCE(inflight->tail) != i)
		weft_qp_complete_sends(qp);
}

/* Tells the connection, once, that the queue pair failed or closes. */
static void tx_tell(struct weft_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	if (qp->ending.told)
		return;
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->user) {
		qp->ending.told = true;
		if (state == IB_QPS_ERR)
			qp->user->ops->failed(qp->user);
		else
			qp->user->ops->closing(qp->user);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* Asks for a doorbell, because nothing is left to do. Returns false if a post came meanwhile. */
static bool tx_idle(const struct weft_tx *tx, struct weft_ring *sq)
{
	/*
	 * The first request in the ring waits for the peer, whose answer, or the return of a
	 * loan, will kick the worker. Do not test the ring again: a request posted meanwhile
	 * would be mistaken for this one.
	 */
	if (tx->waiting)
		return true;
	weft_ring_need_doorbell(sq, true);
	if (!weft_ring_pending(sq))
		return true;
	weft_ring_need_doorbell(sq, false);
	return false;
}

/* Returns true if an end waits for room: a graceful one, or with a Terminate (RFC 5040, 7.1). */
static bool tx_awaits_room(struct weft_qp *qp, enum ib_qp_state state)
{
	struct weft_ending *ending = &qp->ending;

	if (READ_ONCE(qp->dying))
		return false;
	return (state == IB_QPS_SQD || ending->due || ending->said) &&
	       !weft_ending_overdue(ending);
}

/* A queue pair that ends waits for room in the stream; an error of the stream fails it. */
static void tx_blocked(struct weft_qp *qp, enum ib_qp_state state, int error)
{
	if (error != -EAGAIN) {
		weft_qp_fail(qp, NULL, -1);
		state = IB_QPS_ERR;
	} else if (state == IB_QPS_RTS) {
		return;
	} else if (tx_awaits_room(qp, state)) {
		weft_qp_within(qp, WEFT_DRAIN_TIMEOUT + 1);
		return;
	}
	tx_tell(qp, state);
}

/* Pushes the bytes that are laid out; without room in the stream asks for the writable event. */
static int tx_push(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	int ret;

	weft_llp_assert_locked(qp->llp);
	ret = weft_batch_push(&tx->batch, qp->llp, !tx->dry, tx->cork);
	if (!ret && tx->end_segment)
		weft_llp_end_segment(qp->llp);
	if (ret == -EAGAIN && !weft_llp_want_space(qp->llp))
		weft_qp_within(qp, WEFT_TX_RETRY);
	return ret;
}

/* Counts a round for the queue pair first, then for the device: see weft_get_hw_stats(). */
static void tx_count(struct weft_tx *tx, struct weft_counters __percpu *counters,
		     u64 fpdus, u64 sent, int error)
{
	tx->bytes += sent;
	if (fpdus)
		weft_count(counters, WEFT_CNT_TX_FPDUS, fpdus);
	if (sent) {
		weft_count(counters, WEFT_CNT_TX_BYTES, sent);
		weft_count(counters, WEFT_CNT_TX_BATCHES, 1);
	}
	if (error == -EAGAIN)
		weft_count(counters, WEFT_CNT_TX_BLOCKED, 1);
}

/* Has the chunks of a queue pair freed, but for a page, once it has been idle for a while. */
static void tx_rest(struct weft_qp *qp)
{
	struct weft_batch *batch = &qp->tx.batch;

	if (batch->laid_out == batch->sent && weft_chunks_rest(&batch->chunks))
		weft_qp_within(qp, WEFT_CHUNK_IDLE);
}

/*
 * Lays out, pushes and completes. Only the stream itself needs the socket lock, so the queue pair
 * receives while much is laid out and while requests complete. May sleep. Returns true if another
 * round may find something to do.
 */
bool weft_tx_round(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	u32 tail = READ_ONCE(qp->inflight.tail);
	u64 sent = tx->batch.sent;
	u64 fpdus = tx->fpdus;
	enum ib_qp_state state;
	bool laid;
	int ret;

	lockdep_assert_held(&tx->lock.mutex);
	weft_llp_lock(qp->llp);
	laid = tx_build(qp);
	ret = tx_push(qp);
	weft_llp_unlock(qp->llp);
	if (laid)
		tx->batch.chunks.active = jiffies;
	tx_count(tx, qp->dev->counters, tx->fpdus - fpdus, tx->batch.sent - sent, ret);
	weft_tx_complete(qp);
	state = weft_qp_state(qp);
	if (ret) {
		tx_blocked(qp, state, ret);
		return false;
	}
	if (tx->starved) {
		/* A graceful end waits for memory as long as for room, a Terminate without end. */
		if (state == IB_QPS_SQD)
			tx_blocked(qp, state, -EAGAIN);
		weft_qp_within(qp, WEFT_TX_RETRY);
		return false;
	}
	if (tx->end_segment)
		return true;
	/* Completions may have freed in-flight slots for which posted requests waited. */
	if ((laid || tx->batch.sent != sent || READ_ONCE(qp->inflight.tail) != tail) &&
	    (!tx->dry || weft_ring_pending(&qp->sq)))
		return true;
	if (state != IB_QPS_RTS) {
		if (tx->msg.kind != WEFT_MSG_NONE || (state == IB_QPS_ERR && qp->ending.due))
			return true;
		if (weft_loan_settled(qp))
			tx_tell(qp, state);
	}
	if (!tx_idle(tx, &qp->sq))
		return true;
	tx_rest(qp);
	return false;
}

/* The stream has room again. May run inside our own send; does not sleep. */
void weft_tx_writable(struct weft_qp *qp)
{
	if (!READ_ONCE(qp->llp))
		return; /* not started yet; see weft_rx_readable() */
	weft_qp_assert_locked(qp);
	weft_qp_kick(qp);
}

/* Prepares the transmit side of a new queue pair, whose capacities are set. */
int weft_tx_init(struct weft_qp *qp)
{
	weft_baton_init(&qp->tx.lock);
	return weft_inflight_init(&qp->inflight, qp->cap.max_send_wr);
}

/* Undoes weft_tx_init(). The queue pair has no user any more. */
void weft_tx_destroy(struct weft_qp *qp)
{
	/* No reference is left, so all loans are returned. */
	weft_baton_lock(&qp->tx.lock);
	weft_loan_settled(qp);
	weft_baton_unlock(&qp->tx.lock);
	weft_inflight_destroy(&qp->inflight);
}

/* Prepares for a stream; @agreed is set. Returns 0 or -ENOMEM. */
int weft_tx_start(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	u32 lend = weft_setting(&qp->dev->settings, WEFT_SET_LEND);
	int ret;

	ret = weft_reads_start(&qp->reads, qp->agreed.ord, max(qp->cap.max_send_sge, 1U),
			       qp->owner);
	if (!ret)
		ret = weft_answers_start(&qp->answers, qp->agreed.ird, qp->owner);
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
void weft_tx_stop(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;

	lockdep_assert_held(&tx->lock.mutex);
	weft_batch_drop(&tx->batch);
	qp->ending.drain_until = jiffies + WEFT_LOAN_TIMEOUT;
	weft_reads_stop(&qp->reads);
	weft_answers_stop(&qp->answers);
}
