// SPDX-License-Identifier: GPL-2.0
/* The decision to lend payload to TCP, and the layout of lent FPDUs; see tx.h. */
#include <linux/mm.h>

#include "base/weft.h"
#include "llp/llp.h"
#include "memory/mr.h"
#include "tx/batch.h"
#include "tx/tx.h"
#include "wire/fpdu.h"

/* Returns true if a loan has to end with the newest request, so that this can complete. */
static bool lend_ends(const struct weft_inflight *inflight)
{
	/* Unsignaled requests must complete as well before the in-flight list is full. */
	return weft_inflight_last(inflight)->signaled ||
	       weft_inflight_num(inflight) > inflight->size / 2;
}

/* Returns true if this connection may lend payload now. */
static bool lend_may(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_loans *loans = tx->loans;

	/* Of FPDUs of one segment, a packet buffer of lent pages holds only seven: copy them. */
	if (!tx->lends || tx->longest != WEFT_FPDU_ANY_LENGTH ||
	    tx->batch.sent < WEFT_LOAN_AFTER || !weft_llp_may_lend(qp->llp))
		return false;
	return !loans || loans->mode == WEFT_LOAN_YES || loans->mode == WEFT_LOAN_NEW;
}

/*
 * Returns true if a kernel consumer sends nothing behind the newest request until it is done. The
 * completion of a loan would then wait for a delayed acknowledgment.
 */
static bool lend_waits(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;

	return !qp->owner && weft_inflight_last(&qp->inflight)->signaled &&
	       !weft_ring_pending(&qp->sq);
}

/*
 * Notes that the newest request is not lent. Requests complete in order, so earlier loans delay its
 * completion. If the consumer awaits that, the return of the last loan has to kick the worker.
 */
static void lend_skip(struct weft_loans *loans, const struct weft_inflight *inflight)
{
	if (list_empty(&loans->out) || !lend_ends(inflight))
		return;
	weft_loan_want_last(loans);
	weft_loan_close(loans);
}

/*
 * Decides whether to lend the newest request, with @len bytes of payload in memory regions, as far
 * as possible. Once there are loans, each request needs this call; before that, requests of
 * WEFT_LOAN_LEAST bytes or more.
 */
bool weft_loan_begin(struct weft_tx *tx, u32 len)
{
	struct weft_qp *qp = tx->qp;
	bool lend = len >= WEFT_LOAN_LEAST && !lend_waits(tx) && lend_may(tx) &&
		    weft_loans_get(tx);

	if (!lend && tx->loans)
		lend_skip(tx->loans, &qp->inflight);
	return lend;
}

/*
 * Adds the pages of the next @len bytes of the message, or of fewer if they need too many runs.
 * Returns how many bytes; 0 if some are in pages that cannot be lent; -EFAULT if the memory was
 * invalidated or deregistered.
 */
static int lend_gather(struct weft_lent *lent, struct weft_tx_msg *msg,
		       struct weft_accessor *acc, u32 len)
{
	u32 index = msg->sge_index, offset = msg->offset;
	struct weft_access held = {};
	u32 done = 0, first, end, want;
	int n = 1;

	/* End with a page, so that the next FPDU begins with a page and no page is two runs. */
	if (PAGE_SIZE <= WEFT_LENT_MOST) {
		first = offset_in_page(msg->copy.sge[index].addr + offset);
		end = round_down(first + WEFT_LENT_MOST, PAGE_SIZE);
		len = min(len, end - first);
	}
	while (done < len && lent->num < WEFT_LENT_RUNS - 1) {
		const struct weft_sge *sge = &msg->copy.sge[index];

		want = min(len - done, sge->length - offset);
		if (want) {
			if (weft_access_go_on(&held, acc, acc->pd, sge->lkey, sge->addr + offset,
					      want, 0)) {
				n = -EFAULT;
				break;
			}
			n = weft_lent_add_region(lent, held.mr, sge->addr + offset, want);
			if (!n)
				break;
			done += n;
			offset += n;
		}
		if (offset == sge->length) {
			index++;
			offset = 0;
		}
	}
	weft_access_end(&held);
	if (n <= 0)
		return n;
	msg->sge_index = index;
	msg->offset = offset;
	return done;
}

/**
 * weft_loan_layout() - lay out one FPDU of the current message, its payload lent
 * @tx: the transmit side
 * @fpdu: as planned; made shorter if its payload needs too many runs
 * @page: a page of a chunk, for header and trailer
 * @offset: where in @page WEFT_LOAN_FRAME bytes are free
 *
 * If the payload cannot be lent, the rest of the message is copied. May sleep.
 *
 * Return: bytes of the chunk that are used; 0 if nothing was laid out. If the memory was
 * invalidated or deregistered, the queue pair has failed.
 */
u32 weft_loan_layout(struct weft_tx *tx, struct weft_fpdu *fpdu, struct page *page,
		     u32 offset)
{
	struct weft_qp *qp = tx->qp;
	struct weft_loans *loans = tx->loans;
	struct weft_lent *lent = &loans->lent;
	struct weft_tx_msg *msg = &tx->msg;
	u32 hdr_len = weft_ddp_hdr_len(msg->hdr.tagged);
	u32 front = weft_fpdu_front(hdr_len), back;
	u32 num = lent->num, last = num ? lent->run[num - 1].bv_len : 0;
	u8 *at = page_address(page) + offset;
	int payload = 0;
	bool ends;

	if (weft_loan_open(tx)) {
		weft_lent_add(lent, page, offset, front);
		payload = lend_gather(lent, msg, &qp->acc, fpdu->payload);
	}
	if (payload <= 0) {
		weft_lent_take_back(lent, num, last);
		msg->lend = false;
		weft_loan_close(loans);
		lend_skip(loans, &qp->inflight);
		if (payload < 0)
			weft_tx_gather_failed(tx);
		return 0;
	}
	if (payload < fpdu->payload)
		weft_plan_shorten(fpdu, hdr_len, payload);
	msg->hdr.last = fpdu->last;
	weft_ddp_encode(weft_fpdu_begin(at, hdr_len + payload), &msg->hdr);
	back = weft_fpdu_end_apart(at + front, hdr_len + payload, tx->crc,
				   tx->crc ? weft_lent_crc(lent, num, last) : 0);
	weft_lent_add(lent, page, offset + front, back);
	weft_loan_own(loans);
	lent->len += fpdu->len;
	if (msg->left == msg->total)
		weft_count(qp->dev->counters, WEFT_CNT_TX_LENT, 1);
	if (loans->mode == WEFT_LOAN_NEW)
		loans->mode = WEFT_LOAN_TRYING;
	ends = lend_ends(&qp->inflight);
	if (loans->mode != WEFT_LOAN_YES)
		msg->lend = false;
	/* Even if the rest of the request is copied, only the loan's return completes it. */
	if (ends && (!msg->lend || fpdu->last))
		weft_loan_want_open(loans);
	if (!msg->lend || (fpdu->last && ends))
		weft_loan_close(loans);
	weft_tx_advance(tx, &qp->inflight, &qp->acc, fpdu);
	return front + back;
}
