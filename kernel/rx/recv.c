// SPDX-License-Identifier: GPL-2.0
/* The receive that a message takes, and its completion. */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "base/context.h"
#include "base/weft.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "rx/rx.h"

/* --- the inbox of messages; see inbound.h --- */

/*
 * Allocates @size slots, a power of two, charged to @owner, in an inbox without messages. A larger
 * inbox stays, because it serves ordered streams as well. On -ENOMEM @w is unchanged. May sleep.
 */
int weft_inbox_init(struct weft_inbox *w, u32 size, u32 max_sge,
		    const struct ib_ucontext *owner)
{
	struct weft_inbound *slot;
	struct weft_sge *sge;
	u32 i;

	if (w->size >= size)
		return 0;
	slot = weft_charge_zalloc(owner, size, sizeof(*slot) + max_sge * sizeof(*sge));
	if (!slot)
		return -ENOMEM;
	sge = (struct weft_sge *)(slot + size);
	for (i = 0; i < size; i++)
		slot[i].recv.sge = sge + i * max_sge;
	kvfree(w->slot);
	w->slot = slot;
	w->size = size;
	return 0;
}

void weft_inbox_destroy(struct weft_inbox *w)
{
	kvfree(w->slot);
}

/* Prepares for a new stream: drops all messages without completions. */
void weft_inbox_start(struct weft_inbox *w)
{
	u32 i;

	w->next = 1;
	for (i = 0; i < w->size; i++) {
		w->slot[i].len = 0;
		w->slot[i].whole = false;
		w->slot[i].kept = false;
		w->slot[i].recv.active = false;
	}
}

/* --- receives --- */

/*
 * Takes the next receive for a message. If none is posted, returns WEFT_RX_WAIT: the next post
 * wakes the reader, and a timer limits the wait. Returns WEFT_RX_BAD if the ring is invalid.
 */
enum weft_rx_verdict weft_rx_fetch_recv(struct weft_rx *rx, struct weft_inbound *m)
{
	int taken;

	weft_qp_assert_locked(rx->qp);
	weft_access_yield(&rx->place.access);
	taken = weft_rq_take(rx->qp->rq, &m->recv, &rx->waiting);
	if (!taken) {
		if (!rx->stalled) {
			weft_count(rx->acc->dev->counters, WEFT_CNT_RNR_STALLS, 1);
			mod_timer(&rx->rnr, jiffies + WEFT_RNR_TIMEOUT);
		}
		rx->stalled = true;
		return WEFT_RX_WAIT;
	}
	if (rx->stalled) {
		rx->stalled = false;
		timer_delete(&rx->rnr);
	}
	if (rx->srq)
		weft_srq_taken(rx->srq, taken);
	if (taken > 0)
		return WEFT_RX_OK;
	return weft_rx_refuse(rx, WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0);
}

/* Completes a receive, even one without a message. Returns WEFT_RX_BAD if the CQ is full. */
enum weft_rx_verdict weft_rx_complete_recv(struct weft_rx *rx, struct weft_inbound *m, u8 status,
					   u32 vendor)
{
	struct weft_completion wc = {
		.wr_id = m->recv.wr_id,
		.qpn = rx->acc->qpn,
		.byte_len = status ? 0 : m->len,
		.opcode = WEFT_OP_RECV,
		.status = status,
		.ex = vendor,
	};

	weft_qp_assert_locked(rx->qp);
	m->recv.active = false;
	if (status)
		weft_count(rx->acc->dev->counters, status == IB_WC_WR_FLUSH_ERR ?
			   WEFT_CNT_RESP_CQE_FLUSH_ERROR : WEFT_CNT_RESP_CQE_ERROR, 1);
	/* As after a plain SEND, a failed receive has nothing more to tell. */
	switch (status ? WEFT_RDMAP_SEND : m->opcode) {
	case WEFT_RDMAP_SEND_SE:
		wc.solicited = true;
		break;
	case WEFT_RDMAP_SEND_INV:
	case WEFT_RDMAP_SEND_SE_INV:
		wc.ex = m->ex;
		wc.flags = WEFT_CQE_WITH_INV;
		wc.solicited = m->opcode == WEFT_RDMAP_SEND_SE_INV;
		break;
	case WEFT_RDMAP_SEND_IMM:
	case WEFT_RDMAP_SEND_SE_IMM:
		wc.ex = (__force u32)cpu_to_be32(m->ex);
		wc.flags = WEFT_CQE_WITH_IMM;
		wc.solicited = m->opcode == WEFT_RDMAP_SEND_SE_IMM;
		break;
	case WEFT_RDMAP_IMM:
	case WEFT_RDMAP_IMM_SE:
		wc.ex = (__force u32)cpu_to_be32(m->ex);
		wc.flags = WEFT_CQE_WITH_IMM;
		wc.opcode = WEFT_OP_RECV_WRITE_IMM;
		wc.solicited = m->opcode == WEFT_RDMAP_IMM_SE;
		break;
	}
	return likely(weft_cq_add(rx->rcq, &wc)) ? WEFT_RX_OK : weft_rx_refuse_local(rx);
}

/* Completes all receives in error, but leaves those of a shared queue there. May sleep. */
void weft_rx_flush_receives(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;
	struct weft_inbound *m = weft_inbox_at(&rx->sends, rx->sends.next);
	int pending;
	u32 i;

	weft_qp_assert_locked(qp);
	lockdep_assert_held(&qp->tx_lock.mutex);
	for (i = 0; i < rx->sends.size; i++) {
		struct weft_inbound *left = weft_inbox_at(&rx->sends, rx->sends.next + i);

		if (left->recv.active)
			weft_rx_complete_recv(rx, left, IB_WC_WR_FLUSH_ERR, WEFT_VE_CONNECTION);
	}
	if (!weft_qp_owns_rq(qp))
		return;
	/* Only receives posted by now: a later post rings the doorbell, which flushes again. */
	pending = weft_ring_pending(&rx->qp->rq->ring);
	while (pending-- > 0 && weft_rq_take(rx->qp->rq, &m->recv, NULL) > 0) {
		weft_rx_complete_recv(rx, m, IB_WC_WR_FLUSH_ERR, WEFT_VE_CONNECTION);
		cond_resched();
	}
}
