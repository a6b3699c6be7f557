// SPDX-License-Identifier: GPL-2.0
/* The receive engine: from packets to FPDUs. */
#include <linux/slab.h>

#include "base/trace.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "llp/llp.h"
#include "llp/packet.h"
#include "pair/qp.h"
#include "rx/place.h"
#include "rx/rx.h"
#include "rx/split.h"
#include "wire/bytes.h"
#include "wire/crc.h"
#include "wire/plan.h"

static void rx_next_fpdu(struct weft_rx *rx)
{
	rx->state = WEFT_RX_HEADER;
	rx->hdr_have = 0;
	rx->done = 0;
	rx->trailer_have = 0;
	rx->checked = false;
}

/* Decodes the @have header bytes after the length field. Returns false if refused. */
static bool rx_decode(struct weft_rx *rx, u32 have)
{
	struct weft_term err;

	if (!weft_template_decode(&rx->seg, have, rx->extended, &err)) {
		rx->done = 0;
		weft_rx_refuse(rx, err.layer, err.etype, err.code);
		return false;
	}
	rx->pad = weft_fpdu_pad(rx->seg.ulpdu_len);
	return true;
}

/* Takes the header in rx->next, of which @have bytes are there. Returns false if refused. */
static bool rx_header(struct weft_rx *rx, u32 have)
{
	if (weft_template_goes_on(&rx->seg, rx->next, have)) {
		weft_template_follow(&rx->seg, rx->next);
		return true;
	}
	rx->seg.ended = false;
	memcpy(rx->seg.hdr, rx->next, sizeof(rx->seg.hdr));
	return rx_decode(rx, have - WEFT_MPA_LEN);
}

/* Counts and traces an FPDU of @len bytes that is whole and has a good CRC. */
static inline void rx_account(struct weft_rx *rx, u32 len)
{
	rx->fpdus++;
	rx->fpdu_bytes += len;
	trace_weft_rx_fpdu(rx->acc, &rx->seg.ddp, rx->seg.payload_len);
}

/*
 * Returns true if the CRC of a whole FPDU at @offset is good. It runs over the packet, not
 * over the copy of the header in rx->next. If the two differ, a sender on this host has
 * changed the header in flight.
 */
static noinline bool rx_whole_crc(struct weft_rx *rx, struct weft_packet *p,
				  u32 offset, u32 len)
{
	u32 end = offset + len - WEFT_CRC_LEN;
	u32 crc = WEFT_CRC_SEED;
	const u8 *piece;
	u32 n;

	for (; offset < end; offset += n) {
		n = end - offset;
		piece = weft_packet_piece(p, offset, &n);
		crc = weft_crc_update(crc, piece, n);
	}
	weft_packet_copy(p, end, rx->trailer, WEFT_CRC_LEN);
	return weft_crc_good(rx->trailer, crc);
}

/*
 * Takes a row: FPDUs from @offset on that differ from the one before only in their offset,
 * and each of which lies together in the packet. Each header is compared with the expected
 * one, which is faster than to decode it, and all are counted at once. Returns where the
 * first FPDU begins that is not part of the row.
 */
static noinline u32 rx_row(struct weft_rx *rx, struct weft_packet *p,
			   u32 offset, u32 end)
{
	u32 len = weft_fpdu_len(rx->seg.ulpdu_len);
	u32 payload = rx->seg.payload_len;
	bool tagged = rx->seg.ddp.tagged;
	u64 at = weft_template_place(&rx->seg);
	u32 n, fpdus = 0;
	const u8 *next;
	u64 room, to = 0;

	room = weft_rx_row_room(rx, &to);
	while (payload <= room && len <= end - offset) {
		n = len;
		next = weft_packet_piece(p, offset, &n);
		at += payload;
		if (n < len || !weft_ddp_repeats(rx->seg.hdr, next, tagged, at))
			break;
		if (rx->crc_used && !rx_whole_crc(rx, p, offset, len))
			break;
		weft_mr_write_short(rx->access.mr, to, next + rx->seg.hdr_len, payload);
		to += payload;
		room -= payload;
		offset += len;
		fpdus++;
	}
	if (fpdus) {
		rx->fpdus += fpdus;
		rx->fpdu_bytes += fpdus * len;
		weft_rx_row_end(rx, fpdus);
	}
	return offset;
}

/* Returns true if a row for rx_row() may follow in the @left bytes. */
static bool rx_may_row(const struct weft_rx *rx, u32 len, u32 left)
{
	return len <= left && rx->seg.payload_len && !rx->seg.ddp.last &&
	       !trace_weft_rx_fpdu_enabled();
}

/*
 * Takes FPDUs, each of which lies whole in the packet, from @offset to at most
 * @end. Returns where the first begins that does not lie whole (state HEADER),
 * must wait (rx.stalled) or was refused (state STOPPED).
 *
 * Not inlined, so that the compiler keeps in registers what each frame needs.
 */
static noinline u32 rx_whole(struct weft_qp *qp, struct weft_packet *p,
			     u32 offset, u32 end)
{
	struct weft_rx *rx = &qp->rx;
	u32 have, len, at, n;
	const u8 *piece;

	while (end - offset >= WEFT_MPA_LEN) {
		have = min_t(u32, end - offset, sizeof(rx->next));
		if (likely(have == sizeof(rx->next)))
			weft_packet_copy(p, offset, rx->next, sizeof(rx->next));
		else
			weft_packet_gather(p, offset, rx->next, have);
		rx->seg.ulpdu_len = weft_get_be16(rx->next);
		len = weft_fpdu_len(rx->seg.ulpdu_len);
		if (len > end - offset)
			break;
		if (rx->crc_used && !rx->checked &&
		    !rx_whole_crc(rx, p, offset, len)) {
			weft_rx_refuse_crc(rx);
			break;
		}
		if (!rx_header(rx, min(have, WEFT_MPA_LEN + rx->seg.ulpdu_len)))
			break;
		if (weft_rx_begin(qp) != WEFT_RX_OK)
			break;
		at = offset + rx->seg.hdr_len;
		for (; rx->done < rx->seg.payload_len; at += n) {
			n = rx->seg.payload_len - rx->done;
			piece = weft_packet_piece(p, at, &n);
			if (weft_rx_place(rx, piece, n) != WEFT_RX_OK)
				return offset;
		}
		rx_account(rx, len);
		if (weft_rx_end(qp) != WEFT_RX_OK)
			break;
		rx->seg.ended = true;
		rx->checked = false;
		offset += len;
		if (rx_may_row(rx, len, end - offset))
			offset = rx_row(rx, p, offset, end);
	}
	return offset;
}

/* Fills @to up to @need bytes, of which *@have are there. Returns bytes taken. */
static u32 rx_gather(u8 *to, u32 *have, u32 need, const u8 *from, u32 len)
{
	u32 n = min(len, need - *have);

	memcpy(to + *have, from, n);
	*have += n;
	return n;
}

/* Returns how many bytes of length field and header are needed for the next step. */
static u32 rx_header_need(const struct weft_rx *rx)
{
	u32 need = WEFT_MPA_LEN;

	if (rx->hdr_have > WEFT_MPA_LEN)
		need += weft_ddp_hdr_len(weft_ddp_is_tagged(rx->seg.hdr[WEFT_MPA_LEN]));
	else if (rx->hdr_have == WEFT_MPA_LEN)
		need++;
	if (rx->hdr_have >= WEFT_MPA_LEN)
		need = min(need, WEFT_MPA_LEN + weft_get_be16(rx->seg.hdr));
	return need;
}

/* Takes header bytes of an FPDU that comes in parts. Returns bytes taken. */
static u32 rx_part_header(struct weft_rx *rx, const u8 *from, u32 len)
{
	u32 taken = 0;

	rx->seg.ended = false;
	for (;;) {
		if (rx->hdr_have == rx_header_need(rx))
			break;
		if (taken == len)
			return taken;
		taken += rx_gather(rx->seg.hdr, &rx->hdr_have,
				   rx_header_need(rx), from + taken,
				   len - taken);
	}
	rx->seg.ulpdu_len = weft_get_be16(rx->seg.hdr);
	if (rx_decode(rx, rx->hdr_have - WEFT_MPA_LEN))
		rx->state = WEFT_RX_BEGIN;
	return taken;
}

/* Takes padding and trailer of an FPDU that came in parts. Returns bytes taken. */
static u32 rx_part_trailer(struct weft_qp *qp, const u8 *from, u32 len)
{
	struct weft_rx *rx = &qp->rx;
	u32 need = rx->pad + WEFT_CRC_LEN;
	u32 n;

	n = rx_gather(rx->trailer, &rx->trailer_have, need, from, len);
	if (rx->trailer_have < need)
		return n;
	rx->split++;
	rx_account(rx, weft_fpdu_len(rx->seg.ulpdu_len));
	if (weft_rx_end(qp) == WEFT_RX_OK) {
		rx_next_fpdu(rx);
		rx->seg.ended = true;
	}
	return n;
}

/**
 * rx_part() - take bytes of an FPDU that comes in parts
 * @qp: the queue pair; either no CRCs are in use, or this one's has passed
 * @from: the bytes
 * @len: how many
 *
 * Context: any, socket lock held; does not sleep.
 * Return: how many were taken; 0 only if reading must stop.
 */
static u32 rx_part(struct weft_qp *qp, const u8 *from, u32 len)
{
	struct weft_rx *rx = &qp->rx;
	u32 n;

	if (rx->state == WEFT_RX_BEGIN) {
		if (weft_rx_begin(qp) != WEFT_RX_OK)
			return 0;
		rx->state = rx->seg.payload_len ? WEFT_RX_PAYLOAD : WEFT_RX_TRAILER;
	}
	switch (rx->state) {
	case WEFT_RX_HEADER:
		return rx_part_header(rx, from, len);
	case WEFT_RX_PAYLOAD:
		n = min(len, rx->seg.payload_len - rx->done);
		if (weft_rx_place(rx, from, n) != WEFT_RX_OK)
			return 0;
		if (rx->done == rx->seg.payload_len)
			rx->state = WEFT_RX_TRAILER;
		return n;
	case WEFT_RX_TRAILER:
		return rx_part_trailer(qp, from, len);
	default:
		return 0;
	}
}

/* Takes as many of the @len bytes of a packet at @offset as it can. Returns how many. */
static u32 rx_take(struct weft_qp *qp, struct weft_packet *p, u32 offset,
		   u32 len)
{
	struct weft_rx *rx = &qp->rx;
	u32 taken = 0, n;
	const u8 *piece;

	while (taken < len && !rx->ahead) {
		if (rx->state == WEFT_RX_HEADER && !rx->hdr_have) {
			taken = rx_whole(qp, p, offset + taken,
					 offset + len) - offset;
			if (rx->stalled || taken == len)
				return taken;
			if (rx->state == WEFT_RX_HEADER && rx->crc_used &&
			    !rx->checked) {
				weft_rx_split_begin(rx);
				return taken;
			}
		}
		if (rx->state == WEFT_RX_STOPPED)
			return len; /* the rest of the stream is dropped */
		n = len - taken;
		piece = weft_packet_piece(p, offset + taken, &n);
		if (rx->state == WEFT_RX_STAGE)
			taken += weft_rx_stage_take(qp, piece, n, rx_part);
		else
			taken += rx_part(qp, piece, n);
		if (rx->stalled)
			return taken;
	}
	return taken;
}

/* Takes as many bytes of one packet as it can (weft_llp_actor). */
static u32 rx_packet(void *ctx, struct sk_buff *skb, u32 offset, u32 len)
{
	struct weft_qp *qp = ctx;
	struct weft_packet p;

	if (!weft_packet_init(&p, skb)) {
		weft_rx_refuse_local(&qp->rx);
		return len;
	}
	len = rx_take(qp, &p, offset, len);
	weft_rx_let_go(&qp->rx);
	return len;
}

/* Adds the FPDUs and bytes received to the device's counters, once for all packets read. */
static void rx_count(struct weft_rx *rx)
{
	struct weft_counters __percpu *counters = rx->acc->dev->counters;

	if (!rx->fpdus)
		return;
	weft_count(counters, WEFT_CNT_RX_FPDUS, rx->fpdus);
	weft_count(counters, WEFT_CNT_RX_BYTES, rx->fpdu_bytes);
	if (rx->split)
		weft_count(counters, WEFT_CNT_RX_SPLIT_FPDUS, rx->split);
	rx->fpdus = 0;
	rx->fpdu_bytes = 0;
	rx->split = 0;
}

/* Reads all that can be read now, and tells the stream how many bytes to await. */
static void rx_read(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;

	/* An FPDU on the stage comes before all bytes in the stream. */
	if (weft_rx_unstage(qp, rx_part)) {
		while (weft_rx_split_ready(rx, qp->llp)) {
			weft_llp_read(qp->llp, rx_packet, qp);
			if (!rx->ahead)
				break;
		}
	}
	weft_llp_await(qp->llp, rx->ahead ? weft_rx_split_need(rx) : 1);
}

/* Returns true if the stream has ended and all of it was taken. */
static bool rx_at_end(const struct weft_rx *rx, struct weft_llp *llp)
{
	if (rx->stage && rx->stalled && rx->state != WEFT_RX_STOPPED)
		return false;
	return rx->ahead ? weft_llp_ended(llp) : weft_llp_at_end(llp);
}

/* Reads all that can be read now. The caller holds the socket lock. */
static void rx_run(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;
	unsigned long flags;

	weft_qp_assert_locked(qp);
	if (rx->running)
		return; /* weft_llp_await() may call back at once */
	if (weft_qp_state(qp) == IB_QPS_ERR)
		rx->state = WEFT_RX_STOPPED;
	rx->running = true;
	rx_read(qp);
	rx->running = false;
	if (unlikely(rx->failure != WEFT_RX_FINE))
		weft_rx_fail(qp);
	rx_count(rx);
	if (!rx_at_end(rx, qp->llp))
		return;
	if (rx->state != WEFT_RX_STOPPED &&
	    (rx->state != WEFT_RX_HEADER || rx->hdr_have || rx->ahead)) {
		/* The stream ended in the middle of an FPDU: no orderly end. */
		rx->state = WEFT_RX_STOPPED;
		weft_qp_fail(qp, NULL, IB_EVENT_QP_FATAL);
		return;
	}
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->user)
		qp->user->ops->peer_closed(qp->user);
	spin_unlock_irqrestore(&qp->lock, flags);
}

/**
 * weft_rx_readable() - the stream has bytes, or has ended
 * @qp: the queue pair
 *
 * Context: softirq or process, socket lock held; does not sleep.
 */
void weft_rx_readable(struct weft_qp *qp)
{
	weft_qp_assert_locked(qp);
	/* While a message waits for a receive, all behind it waits as well: a post wakes us. */
	if (qp->llp && (!qp->rx.stalled || weft_qp_state(qp) == IB_QPS_ERR))
		rx_run(qp);
}

/* Runs @what under the stream's lock, if there is still a stream; see weft_qp_trylock(). */
static void rx_locked(struct weft_qp *qp, enum weft_tx_want who,
		      void (*what)(struct weft_qp *))
{
	if (!weft_qp_trylock(qp, who)) /* keeps the stream */
		return;
	if (qp->llp) {
		weft_llp_lock(qp->llp);
		what(qp);
		weft_llp_unlock(qp->llp);
	}
	weft_qp_unlock(qp);
}

static void rx_work(struct work_struct *work)
{
	rx_locked(container_of(work, struct weft_qp, rx.work), WEFT_WANT_RX,
		  rx_run);
}

/* Ends the connection, since no receive was posted for too long. */
static void rx_give_up(struct weft_qp *qp)
{
	/* The wait may have ended, or a new one begun, before this function had the lock. */
	if (!qp->rx.stalled || delayed_work_pending(&qp->rx.rnr))
		return;
	weft_count(qp->dev->counters, WEFT_CNT_RNR_TIMEOUTS, 1);
	weft_rx_refuse(&qp->rx, WEFT_TERM_DDP, WEFT_DDP_UNTAGGED_BUFFER,
		       WEFT_DU_NO_BUFFER);
	weft_rx_fail(qp);
}

static void rx_rnr(struct work_struct *work)
{
	rx_locked(container_of(to_delayed_work(work), struct weft_qp,
			       rx.rnr), WEFT_WANT_RNR, rx_give_up);
}

/**
 * weft_rx_doorbell() - receives were posted to a ring that asked for a doorbell
 * @qp: the queue pair, which owns the ring
 *
 * Context: any.
 * Return: 0, or -EINVAL in a state in which nothing may be posted.
 */
int weft_rx_doorbell(struct weft_qp *qp)
{
	switch (weft_qp_state(qp)) {
	case IB_QPS_RESET:
		return -EINVAL;
	case IB_QPS_ERR:
		weft_qp_kick(qp);
		return 0;
	default:
		weft_rq_wake(qp->rx.rq);
		return 0;
	}
}

/**
 * weft_rx_init() - prepare the receive side of a new queue pair
 * @qp: the queue pair, its receive queue set
 *
 * The list of a receive's SGEs is allocated by its own. As an array of the largest size it
 * would make each queue pair larger than 2 KiB, which takes 4 KiB.
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int weft_rx_init(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;

	rx->acc = &qp->acc;
	rx->state = WEFT_RX_STOPPED;
	INIT_LIST_HEAD(&rx->waiting.entry);
	rx->waiting.work = &rx->work;
	INIT_WORK(&rx->work, rx_work);
	INIT_DELAYED_WORK(&rx->rnr, rx_rnr);
	rx->recv.sge = kcalloc(rx->rq->max_sge, sizeof(*rx->recv.sge),
			       GFP_KERNEL_ACCOUNT);
	return rx->recv.sge ? 0 : -ENOMEM;
}

/* Undoes weft_rx_init(). The work of both sides has ended, since either takes receives. */
void weft_rx_destroy(struct weft_rx *rx)
{
	kfree(rx->recv.sge);
}

/* Prepares for a stream, with @agreed set. The caller holds the socket lock. */
void weft_rx_start(struct weft_qp *qp)
{
	struct weft_rx *rx = &qp->rx;

	weft_qp_assert_locked(qp);
	rx->crc_used = qp->agreed.crc;
	rx->extended = qp->agreed.extended;
	rx->empty_first = qp->agreed.p2p && qp->agreed.rtr == WEFT_RTR_SEND && !qp->initiator;
	rx->failure = WEFT_RX_FINE;
	rx->ahead = false;
	rx->recv.active = false;
	rx->msg_got = 0;
	rx->send_msn = 1;
	rx->read_msn = 1;
	rx->atomic_msn = 1;
	rx->write_len = 0;
	rx->write_goes_on = false;
	rx->first = true;
	rx->stalled = false;
	rx->seg.ended = false;
	rx->seg.hdr_len = 0;
	rx_next_fpdu(rx);
}

/* Waits for work in progress, since the stream is gone. That work never waits for tx.lock. */
void weft_rx_stop(struct weft_rx *rx)
{
	weft_rq_leave(rx->rq, &rx->waiting);
	cancel_delayed_work_sync(&rx->rnr);
	cancel_work_sync(&rx->work);
	weft_rx_stage_free(rx);
}
