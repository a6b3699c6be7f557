// SPDX-License-Identifier: GPL-2.0
/*
 * Segments that come before their turn, from a lower layer that is not ordered: their payload
 * is placed at once, as RFC 5041 allows, so that it need not be kept.
 *
 * Nothing else is done with such a segment here, and nothing it says is believed for longer than
 * that: when its turn has come it is looked at as if it had just come, but for its payload. So a
 * wrong one ends the connection then, and is refused here without a word.
 *
 * Everything here runs with the socket lock held and does not sleep.
 */
#include "base/weft.h"
#include "llp/arrivals.h"
#include "memory/mr.h"
#include "pair/qp.h"
#include "queue/srq.h"
#include "rx/place.h"
#include "rx/rx.h"

/**
 * struct early - a segment before its turn
 * @ddp: its header
 * @payload: its payload
 * @len: bytes of that, not 0
 */
struct early {
	struct weft_ddp_hdr ddp;
	const u8 *payload;
	u32 len;
};

static bool early_write(struct weft_rx *rx, const struct early *seg)
{
	rx->place.region.addr = seg->ddp.to;
	rx->place.region.length = seg->len;
	rx->place.region.lkey = seg->ddp.stag;
	weft_rx_aim(rx, rx->acc->pd, IB_ACCESS_REMOTE_WRITE, &rx->place.region, 1, 0);
	return weft_rx_try(rx, seg->payload, seg->len);
}

/* A part of an answer: to which of our reads, it says itself. */
static bool early_response(struct weft_rx *rx, const struct weft_reads *reads,
			   const struct early *seg)
{
	const struct weft_read *read = weft_reads_named(reads, seg->ddp.stag);

	if (!read || read->atomic || seg->ddp.to > read->len ||
	    seg->len > read->len - seg->ddp.to)
		return false;
	weft_rx_aim(rx, rx->acc->pd, IB_ACCESS_LOCAL_WRITE, read->sge, read->num_sge,
		    seg->ddp.to);
	return weft_rx_try(rx, seg->payload, seg->len);
}

/*
 * Sees that a message in the window has a receive, and those before it, for receives are taken
 * in the order of messages. Of a shared queue only the next message gets one. Returns the
 * message, or NULL.
 */
static struct weft_inbound *early_message(struct weft_rx *rx, u32 msn)
{
	struct weft_window *w = &rx->sends;
	struct weft_inbound *m;
	u32 i;

	if (msn - w->next >= w->size || rx->stalled)
		return NULL;
	/* Others would miss the receives that this peer keeps for as long as it likes. */
	if (rx->srq && msn != w->next)
		return NULL;
	/* The owner of the receives may be told below. */
	weft_access_yield(&rx->place.access);
	for (i = w->next;; i++) {
		m = weft_window_at(w, i);
		if (!m->recv.active) {
			/* If none is posted, or the ring makes no sense, its turn will tell. */
			if (weft_rq_take(rx->rq, &m->recv, NULL) <= 0)
				return NULL;
			if (rx->srq)
				weft_srq_taken(rx->srq, 1);
			m->kept = true;
		}
		if (i == msn)
			return m;
	}
}

static bool early_send(struct weft_rx *rx, const struct early *seg)
{
	const struct weft_inbound *m = early_message(rx, seg->ddp.msn);

	if (!m)
		return false;
	/* What the list has no room for is not placed. */
	weft_rx_aim(rx, rx->srq ? rx->srq->ib.pd : rx->acc->pd, IB_ACCESS_LOCAL_WRITE,
		    m->recv.sge, m->recv.num_sge, seg->ddp.mo);
	return weft_rx_try(rx, seg->payload, seg->len);
}

/* Places the payload, if the operation is one of those that carry programs' bytes. */
static bool early_place(struct weft_rx *rx, const struct weft_reads *reads, const struct early *seg)
{
	switch (seg->ddp.opcode) {
	case WEFT_RDMAP_WRITE:
		return early_write(rx, seg);
	case WEFT_RDMAP_READ_RESP:
		return early_response(rx, reads, seg);
	case WEFT_RDMAP_SEND:
	case WEFT_RDMAP_SEND_SE:
	case WEFT_RDMAP_SEND_INV:
	case WEFT_RDMAP_SEND_SE_INV:
	case WEFT_RDMAP_SEND_IMM:
	case WEFT_RDMAP_SEND_SE_IMM:
		return early_send(rx, seg);
	default:
		return false; /* a few bytes, which mean something in their turn only */
	}
}

/**
 * weft_rx_place_early() - place the payload of a segment before its turn
 * @ctx: the queue pair
 * @arrival: the segment
 *
 * Context: any, socket lock held; does not sleep.
 * Return: true if all of the payload is placed.
 */
bool weft_rx_place_early(void *ctx, const struct weft_arrival *arrival)
{
	struct weft_qp *qp = ctx;
	struct weft_rx *rx = &qp->rx;
	struct weft_term err;
	struct early seg;
	bool placed;
	u32 hdr_len;

	weft_qp_assert_locked(qp);
	if (rx->stopped || weft_qp_state(qp) == IB_QPS_ERR)
		return false;
	hdr_len = weft_ddp_decode(arrival->data, min_t(u32, arrival->len, WEFT_DDP_MAX_LEN),
				  rx->extended, &seg.ddp, &err);
	if (!hdr_len || arrival->len == hdr_len)
		return false;
	seg.payload = arrival->data + hdr_len;
	seg.len = arrival->len - hdr_len;
	placed = early_place(rx, &qp->reads, &seg);
	weft_access_yield(&rx->place.access);
	if (placed) {
		weft_count(rx->acc->dev->counters, WEFT_CNT_RX_EARLY_FPDUS, 1);
		weft_count(rx->acc->dev->counters, WEFT_CNT_RX_EARLY_BYTES, seg.len);
	}
	return placed;
}
