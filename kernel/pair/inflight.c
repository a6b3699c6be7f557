// SPDX-License-Identifier: GPL-2.0
/* Work requests between their fetch and their completion. */
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "base/weft.h"
#include "pair/inflight.h"
#include "queue/cq.h"
#include "queue/ring.h"

int weft_inflight_init(struct weft_inflight *list, u32 num)
{
	list->size = roundup_pow_of_two(max(num, 1U));
	list->slot = kvcalloc(list->size, sizeof(*list->slot), GFP_KERNEL_ACCOUNT);
	return list->slot ? 0 : -ENOMEM;
}

void weft_inflight_destroy(struct weft_inflight *list)
{
	kvfree(list->slot);
}

/* Adds a completion. A failed @w fails all behind it. Not inline: most requests need none. */
static noinline bool inflight_report(struct weft_inflight *list, const struct weft_request *w,
				     struct weft_cq *scq, struct weft_cq_adds *adds, u32 qpn)
{
	struct weft_completion wc = {
		.wr_id = w->wr_id,
		.qpn = qpn,
		.byte_len = w->byte_len,
		.ex = w->vendor,
		.opcode = w->opcode,
		.status = w->status,
	};

	if (unlikely(w->status != IB_WC_SUCCESS)) {
		list->broken = true;
		if (scq->ib.device) /* in KUnit suites there may be none */
			weft_count(to_weft_device(scq->ib.device)->counters,
				   w->status == IB_WC_WR_FLUSH_ERR ?
				   WEFT_CNT_REQ_CQE_FLUSH_ERROR : WEFT_CNT_REQ_CQE_ERROR, 1);
	}
	return weft_cq_put(scq, adds, &wc);
}

/*
 * Completes requests in the order of posting, up to the first that is not done or whose last byte
 * the stream has not taken. Both directions may call at once: the later holder of the lock of @scq
 * sees the requests that the other direction marked done. The lock is dropped between slices,
 * because interrupts are off under it and a process may have thousands of requests done. Returns
 * false if @scq is full, and the queue pair must fail. Any context.
 */
bool weft_inflight_complete(struct weft_inflight *list, struct weft_ring *sq,
			    struct weft_cq *scq, u32 qpn)
{
	struct weft_request *next, *w;
	struct weft_cq_adds adds;
	u32 first, end, tail;
	bool completed = true;

	do {
		w = NULL;
		adds = (struct weft_cq_adds){};
		spin_lock_irqsave(&scq->lock, adds.flags);
		first = list->tail;
		/* Pairs with weft_tx_complete(): all slots before it are filled. */
		end = first + min_t(u32, smp_load_acquire(&list->unsent) - first, WEFT_CQ_SLICE);
		for (tail = first; tail != end; tail++) {
			next = weft_inflight_at(list, tail);
			if (!weft_request_is_done(next))
				break;
			w = next;
			if (unlikely(list->broken) && !w->status) {
				/* Possibly sent, but behind a request that the peer refused. */
				w->status = IB_WC_WR_FLUSH_ERR;
				w->vendor = WEFT_VE_CONNECTION;
			}
			if (!w->signaled && !w->status)
				continue;
			/* The slot first: a consumer that polls this may post at once. */
			weft_ring_release(sq, w->ring_end);
			completed &= inflight_report(list, w, scq, &adds, qpn);
		}
		if (w) {
			weft_ring_release(sq, w->ring_end);
			/* Pairs with weft_tx_take_request(): the slots before it have been read. */
			smp_store_release(&list->tail, tail);
		}
		/* Unsignaled sends mostly add nothing. */
		if (adds.unpolled || adds.died)
			weft_cq_end(scq, &adds);
		else
			spin_unlock_irqrestore(&scq->lock, adds.flags);
	} while (tail - first == WEFT_CQ_SLICE);
	return completed;
}

/* Fails all requests that are not done, because the stream is gone. */
void weft_inflight_flush(struct weft_inflight *list)
{
	struct weft_request *w;
	u32 i;

	for (i = list->tail; i != list->head; i++) {
		w = weft_inflight_at(list, i);
		if (!weft_request_is_done(w))
			weft_request_fail(w, IB_WC_WR_FLUSH_ERR, WEFT_VE_CONNECTION);
	}
}
