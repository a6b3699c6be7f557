// SPDX-License-Identifier: GPL-2.0
/*
 * Segments that come before their turn, from an unordered lower layer. Their payload is placed at
 * once, as RFC 5041 allows, so that it need not be kept. All checks run again when the segment's
 * turn comes, so an invalid one is skipped here and ends the connection then.
 */
#include "base/weft.h"
#include "llp/arrivals.h"
#include "memory/mr.h"
#include "queue/rq.h"
#include "rx/rx.h"

/*
 * Takes receives for a message in the inbox and for those before it, because receives are taken in
 * the order of messages. Of a shared queue only the next message gets one. Returns NULL if none.
 */
static struct weft_inbound *early_message(struct weft_rx *rx, u32 msn)
{
	struct weft_inbox *w = &rx->sends;
	struct weft_inbound *m;
	u32 i;

	if (msn - w->next >= w->size || rx->stalled)
		return NULL;
	/* A peer may never complete early messages, and other queue pairs need the receives. */
	if (rx->srq && msn != w->next)
		return NULL;
	/* weft_srq_taken() may call the owner of the receives. */
	weft_access_yield(&rx->place.access);
	for (i = w->next;; i++) {
		m = weft_inbox_at(w, i);
		if (!m->recv.active) {
			/* No receive, or an invalid ring: the message's turn will tell. */
			if (weft_rq_take(rx->qp->rq, &m->recv, NULL) <= 0)
				return NULL;
			if (rx->srq)
				weft_srq_taken(rx->srq, 1);
			m->kept = true;
		}
		if (i == msn)
			return m;
	}
}

/*
 * Directs the payload of a segment, @len bytes, if its operation carries a program's bytes. Returns
 * false if it is not placed early.
 */
static bool early_aim(struct weft_rx *rx, const struct weft_reads *reads,
		      const struct weft_ddp_hdr *ddp, u32 len)
{
	const struct weft_inbound *m;
	const struct weft_read *read;

	switch (ddp->opcode) {
	case WEFT_RDMAP_WRITE:
		rx->place.region.addr = ddp->to;
		rx->place.region.length = len;
		rx->place.region.lkey = ddp->stag;
		weft_rx_aim(rx, rx->acc->pd, IB_ACCESS_REMOTE_WRITE, &rx->place.region, 1, 0);
		return true;
	case WEFT_RDMAP_READ_RESP:
		/* The STag names our read. */
		read = weft_reads_named(reads, ddp->stag);
		if (!read || read->atomic || ddp->to > read->len || len > read->len - ddp->to)
			return false;
		weft_rx_aim(rx, rx->acc->pd, IB_ACCESS_LOCAL_WRITE, read->sge, read->num_sge,
			    ddp->to);
		return true;
	case WEFT_RDMAP_SEND:
	case WEFT_RDMAP_SEND_SE:
	case WEFT_RDMAP_SEND_INV:
	case WEFT_RDMAP_SEND_SE_INV:
	case WEFT_RDMAP_SEND_IMM:
	case WEFT_RDMAP_SEND_SE_IMM:
		m = early_message(rx, ddp->msn);
		if (!m)
			return false;
		/* Payload beyond the list's room is not placed. */
		weft_rx_aim(rx, rx->srq ? rx->srq->ib.pd : rx->acc->pd, IB_ACCESS_LOCAL_WRITE,
			    m->recv.sge, m->recv.num_sge, ddp->mo);
		return true;
	default:
		return false; /* small messages, which have a meaning only in their turn */
	}
}

/* Places the payload of a segment before its turn. Returns true if all of it is placed. */
bool weft_rx_place_early(void *ctx, const struct weft_arrival *arrival)
{
	struct weft_rx *rx = ctx;
	struct weft_qp *qp = rx->qp;
	struct weft_ddp_hdr ddp;
	struct weft_term err;
	u32 hdr_len, len;
	bool placed;

	weft_qp_assert_locked(qp);
	if (rx->stopped || weft_qp_state(qp) == IB_QPS_ERR)
		return false;
	hdr_len = weft_ddp_decode(arrival->data, min_t(u32, arrival->len, WEFT_DDP_MAX_LEN),
				  rx->extended, &ddp, &err);
	if (!hdr_len || arrival->len == hdr_len)
		return false;
	len = arrival->len - hdr_len;
	placed = early_aim(rx, &qp->reads, &ddp, len) &&
		 weft_rx_put(rx, arrival->data + hdr_len, len) == WEFT_KEY_OK;
	weft_access_yield(&rx->place.access);
	if (placed) {
		weft_count(rx->acc->dev->counters, WEFT_CNT_RX_EARLY_FPDUS, 1);
		weft_count(rx->acc->dev->counters, WEFT_CNT_RX_EARLY_BYTES, len);
	}
	return placed;
}
