// SPDX-License-Identifier: GPL-2.0
/* Lending pages to TCP, and getting them back; see loan.h. */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "base/compat.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "llp/llp.h"
#include "memory/mr.h"
#include "pair/qp.h"
#include "tx/loan.h"
#include "tx/tx.h"
#include "wire/bytes.h"
#include "wire/crc.h"

/* What is known of a loan: bits of @flags. */
#define WEFT_LEND_WANTED	1	/* somebody waits for it: kick the worker */
#define WEFT_LEND_RETURNED	2	/* TCP is through with it */
#define WEFT_LEND_GIVEN_UP	4	/* nobody waits any more */

/**
 * struct weft_lend - a loan: pages of one work request, or of several
 * @ubuf: what packet buffers hold, a reference each; one is the transmit side's
 *	while it lends more
 * @entry: in weft_lending.out
 * @qp: its queue pair: a reference, until it is returned or given up
 * @inflight: the last of its work requests, index into the in-flight list
 * @flags: see above. Whoever is the second to set RETURNED or GIVEN_UP frees
 *	it; without GIVEN_UP, the transmit side does when it sees RETURNED
 * @copied: the kernel has copied some of it after all
 */
struct weft_lend {
	struct ubuf_info ubuf;
	struct list_head entry;
	struct weft_qp *qp;
	u32 inflight;
	atomic_t flags;
	bool copied;
};

/* How many TCP may still call back for: the module stays for them. */
static atomic_t loans_out = ATOMIC_INIT(0);

/*
 * A packet buffer is gone, or was copied. Any context and under whatever lock,
 * the socket's as well as none, even inside our own send.
 */
static void loan_done(struct sk_buff *skb, struct ubuf_info *ubuf, bool uncopied)
{
	struct weft_lend *lend = container_of(ubuf, struct weft_lend, ubuf);
	struct weft_qp *qp = lend->qp;
	int flags;

	if (!uncopied)
		WRITE_ONCE(lend->copied, true);
	if (!refcount_dec_and_test(&ubuf->refcnt))
		return;
	/* From here on the transmit side may free it, and reads @copied before. */
	flags = atomic_fetch_or(WEFT_LEND_RETURNED, &lend->flags);
	if (flags & WEFT_LEND_GIVEN_UP) {
		kfree(lend);
	} else {
		if ((flags & WEFT_LEND_WANTED) || weft_qp_state(qp) != IB_QPS_RTS)
			weft_qp_kick(qp);
		weft_qp_put(qp);
	}
	if (atomic_dec_and_test(&loans_out))
		wake_up_var(&loans_out);
}

static const struct weft_ubuf_ops loan_ubuf_ops = { .complete = loan_done };

static bool loan_returned(struct weft_lend *lend)
{
	return atomic_read_acquire(&lend->flags) & WEFT_LEND_RETURNED;
}

/* Asks for a kick when it is returned. False: it is. */
static bool loan_want(struct weft_lend *lend)
{
	return !(atomic_fetch_or(WEFT_LEND_WANTED, &lend->flags) & WEFT_LEND_RETURNED);
}

/* The loan does not go on. */
static void loan_close(struct weft_lending *lending)
{
	struct weft_lend *lend = lending->lend;

	lending->lend = NULL;
	if (lend)
		loan_done(NULL, &lend->ubuf, true);
}

/* Lends more to what goes on, or begins anew, for the request fetched last. */
static bool loan_open(struct weft_qp *qp)
{
	struct weft_lending *lending = qp->tx.lending;
	struct weft_lend *lend = lending->lend;

	if (!lend) {
		lend = kzalloc(sizeof(*lend), GFP_KERNEL);
		if (!lend)
			return false;
		weft_ubuf_init(&lend->ubuf, &loan_ubuf_ops);
		weft_qp_get(qp);
		lend->qp = qp;
		atomic_inc(&loans_out);
		list_add_tail(&lend->entry, &lending->out);
		lending->lend = lend;
	}
	lend->inflight = qp->inflight.head - 1;
	return true;
}

/* Whether a loan ends with the request fetched last: somebody waits for that. */
static bool loan_ends(const struct weft_inflight *inflight)
{
	/* Without signals, what is full has to become empty all the same. */
	return weft_inflight_last(inflight)->signaled ||
	       weft_inflight_num(inflight) > inflight->size / 2;
}

/* Has the books say that it is back. */
static void loan_forget(struct weft_lending *lending, struct weft_lend *lend,
			struct weft_counters __percpu *counters)
{
	if (lend->copied) {
		weft_count(counters, WEFT_CNT_TX_LENT_COPIED, 1);
		lending->mode = WEFT_LEND_NO;
	} else if (lending->mode == WEFT_LEND_TRYING) {
		lending->mode = WEFT_LEND_YES;
	}
	list_del(&lend->entry);
	kfree(lend);
}

/**
 * weft_lend_may() - may the request fetched last be lent?
 * @qp: the queue pair; what is to be lent is large enough
 *
 * Context: as weft_tx_next_msg().
 * Return: whether to try.
 */
bool weft_lend_may(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_lending *lending = tx->lending;

	if (!qp->owner || tx->crc || !tx->large || tx->sent < WEFT_LEND_AFTER ||
	    !weft_llp_may_lend(qp->llp))
		return false;
	if (lending)
		return lending->mode == WEFT_LEND_YES || lending->mode == WEFT_LEND_NEW;
	lending = kzalloc(sizeof(*lending), GFP_KERNEL);
	if (!lending)
		return false;
	INIT_LIST_HEAD(&lending->out);
	tx->lending = lending;
	return true;
}

static void loan_drop_pages(struct weft_lending *lending)
{
	while (lending->num)
		put_page(lending->bv[--lending->num].bv_page);
}

/* Adds bytes of a page, a compound one by its head. */
static void loan_add(struct weft_lending *lending, struct page *page,
		     u32 offset, u32 len)
{
	struct bio_vec *bv;

	if (lending->num) {
		bv = &lending->bv[lending->num - 1];
		if (bv->bv_page == page && bv->bv_offset + bv->bv_len == offset) {
			bv->bv_len += len;
			return;
		}
	}
	get_page(page);
	bvec_set_page(&lending->bv[lending->num++], page, len, offset);
}

/*
 * Collects the pages of at most @len bytes of one SGE, and leaves room for what
 * follows the payload. Returns how many bytes.
 */
static u32 loan_sge(struct weft_lending *lending, const struct weft_mr *mr,
		    u64 addr, u32 len)
{
	u32 done, n, offset;
	struct page *page;
	void *at;

	for (done = 0; done < len && lending->num < WEFT_LEND_RUNS - 1; done += n) {
		at = weft_blocks_at(&mr->blocks, addr - mr->iova + done, len - done, &n);
		page = virt_to_page(at);
		offset = offset_in_page(at);
		if (PageCompound(page)) {
			page = compound_head(page);
			offset = at - page_address(page);
			n = min_t(size_t, n, page_size(page) - offset);
		} else {
			n = min_t(u32, n, PAGE_SIZE - offset);
		}
		loan_add(lending, page, offset, n);
	}
	return done;
}

/*
 * Collects the pages of the next @len bytes of the message, or of fewer if there
 * are too many runs of them. 0: it is not all pages of a user's, or *@gone: the
 * memory is not to be had any more.
 */
static u32 loan_gather(struct weft_lending *lending, struct weft_tx_msg *msg,
		       struct weft_accessor *acc, u32 len, bool *gone)
{
	u32 index = msg->sge_index, offset = msg->offset;
	enum weft_key_error err;
	struct weft_mr *mr;
	u32 done = 0, want, n;

	*gone = false;
	while (done < len && lending->num < WEFT_LEND_RUNS - 1) {
		const struct weft_sge *sge = &msg->copy.sge[index];

		want = min(len - done, sge->length - offset);
		if (want) {
			mr = weft_mr_get(acc, acc->pd, sge->lkey, sge->addr + offset,
					 want, 0, &err);
			*gone = !mr;
			if (!mr)
				return 0;
			n = mr->umem ? loan_sge(lending, mr, sge->addr + offset, want) : 0;
			weft_mr_put(mr);
			if (!n)
				return 0;
			done += n;
			offset += n;
		}
		if (offset == sge->length) {
			index++;
			offset = 0;
		}
	}
	msg->sge_index = index;
	msg->offset = offset;
	return done;
}

/* Whether something is lent that the stream has yet to take. */
bool weft_lend_waits(const struct weft_tx *tx)
{
	return tx->lending && tx->lending->num;
}

/* Whether that has to be taken before more is lent. */
bool weft_lend_is_full(const struct weft_tx *tx)
{
	const struct weft_lending *lending = tx->lending;

	return weft_lend_waits(tx) && (lending->last || lending->taken ||
				       lending->num > WEFT_LEND_RUNS - WEFT_LEND_FPDU_RUNS);
}

/**
 * weft_lend_layout() - lay out one FPDU of the current message, its payload lent
 * @qp: the queue pair
 * @fpdu: as planned; made shorter if its payload is in too many pieces
 * @page: a chunk's, for what goes around the payload
 * @offset: where in @page; WEFT_LEND_FRAME bytes are free there
 *
 * Context: as weft_tx_layout(). A message that is not to be lent is copied from
 * here on.
 * Return: bytes of the chunk that are used; 0: nothing was laid out. Memory
 * that was taken away fails the queue pair.
 */
u32 weft_lend_layout(struct weft_qp *qp, struct weft_fpdu *fpdu, struct page *page,
		     u32 offset)
{
	struct weft_lending *lending = qp->tx.lending;
	struct weft_tx *tx = &qp->tx;
	struct weft_tx_msg *msg = &tx->msg;
	u32 hdr_len = weft_ddp_hdr_len(msg->hdr.tagged);
	u32 front = WEFT_MPA_LEN + hdr_len, back;
	u32 num = lending->num, first = num ? lending->bv[num - 1].bv_len : 0;
	u8 *at = page_address(page) + offset;
	bool gone = false, ends;
	u32 payload = 0;

	if (loan_open(qp)) {
		loan_add(lending, page, offset, front);
		payload = loan_gather(lending, msg, &qp->acc, fpdu->payload, &gone);
	}
	if (!payload) {
		/* As it was before. */
		while (lending->num > num)
			put_page(lending->bv[--lending->num].bv_page);
		if (num)
			lending->bv[num - 1].bv_len = first;
		msg->lend = false;
		lending->last = true;
		if (!num)
			loan_close(lending);
		weft_lend_skip(lending, &qp->inflight);
		if (gone)
			weft_tx_gather_failed(qp);
		return 0;
	}
	if (payload < fpdu->payload) {
		fpdu->payload = payload;
		fpdu->last = false;
		fpdu->pad = weft_fpdu_pad(hdr_len + payload);
		fpdu->len = weft_fpdu_len(hdr_len + payload);
	}
	msg->hdr.last = fpdu->last;
	weft_put_be16(at, hdr_len + fpdu->payload);
	weft_ddp_encode(at + WEFT_MPA_LEN, &msg->hdr);
	back = fpdu->pad + WEFT_CRC_LEN;
	memset(at + front, 0, back);
	loan_add(lending, page, offset + front, back);
	if (!num)
		lending->len = 0;
	lending->len += fpdu->len;
	if (msg->left == msg->total)
		weft_count(qp->dev->counters, WEFT_CNT_TX_LENT, 1);
	if (lending->mode == WEFT_LEND_NEW)
		lending->mode = WEFT_LEND_TRYING;
	ends = loan_ends(&qp->inflight);
	if (lending->mode != WEFT_LEND_YES)
		msg->lend = false;
	lending->last = !msg->lend || (fpdu->last && ends);
	/* Also if the rest of it is copied: nothing else tells that it is done. */
	if (lending->last && ends)
		atomic_or(WEFT_LEND_WANTED, &lending->lend->flags);
	weft_tx_advance(tx, &qp->inflight, &qp->acc, fpdu);
	return front + back;
}

/**
 * weft_lend_push() - hand over the rest of what is lent, if there is something
 * @tx: the transmit side; something was lent
 * @llp: its stream
 *
 * Context: as weft_tx_next_msg().
 * Return: 0, or why not all of it was taken: -EAGAIN or another negative errno
 * value.
 */
int weft_lend_push(struct weft_tx *tx, struct weft_llp *llp)
{
	struct weft_lending *lending = tx->lending;
	int n;

	if (!weft_lend_waits(tx))
		return 0;
	n = weft_llp_lend(llp, &lending->lend->ubuf, lending->bv, lending->num,
			  lending->taken, lending->len, !tx->dry);
	if (n < 0)
		return n;
	lending->taken += n;
	tx->sent += n;
	if (lending->taken < lending->len)
		return -EAGAIN;
	lending->taken = 0;
	loan_drop_pages(lending);
	if (lending->last)
		loan_close(lending);
	return 0;
}

/**
 * weft_lend_skip() - the request fetched last is not lent
 * @lending: what is lent; NULL: nothing ever was
 * @inflight: the requests under way
 *
 * If somebody waits for it, it is held up by what was lent before. Context: as
 * weft_tx_next_msg().
 */
void weft_lend_skip(struct weft_lending *lending, const struct weft_inflight *inflight)
{
	if (!lending || list_empty(&lending->out) || !loan_ends(inflight))
		return;
	loan_want(list_last_entry(&lending->out, struct weft_lend, entry));
	lending->last = true;
	if (!lending->num)
		loan_close(lending);
}

/*
 * The oldest that is out holds up others. If one of these was waited for and is back,
 * it is waited for instead. False: it is back itself.
 */
static bool loan_hold(struct weft_lending *lending, struct weft_lend *oldest)
{
	struct weft_lend *lend;

	list_for_each_entry(lend, &lending->out, entry) {
		if (!(atomic_read(&lend->flags) & WEFT_LEND_WANTED))
			continue;
		if (lend == oldest || !loan_returned(lend))
			break;
		return loan_want(oldest);
	}
	return !loan_returned(oldest);
}

/**
 * weft_lend_is_out() - may TCP still send pages of this work request?
 * @lending: what is lent
 * @inflight: the work request, by its index; those before it were asked for
 * @counters: the device's
 *
 * Context: as weft_tx_complete().
 * Return: whether it has to wait.
 */
bool weft_lend_is_out(struct weft_lending *lending, u32 inflight,
		      struct weft_counters __percpu *counters)
{
	struct weft_lend *lend;

	if (list_empty(&lending->out))
		return false;
	lend = list_first_entry(&lending->out, struct weft_lend, entry);
	if (lend->inflight != inflight)
		return false;
	if (!loan_returned(lend) && loan_hold(lending, lend))
		return true;
	loan_forget(lending, lend, counters);
	return false;
}

/* Forgets what is back. Returns whether all of it is. */
static bool loan_reap(struct weft_lending *lending,
		      struct weft_counters __percpu *counters)
{
	struct weft_lend *lend, *next;

	list_for_each_entry_safe(lend, next, &lending->out, entry)
		if (loan_returned(lend))
			loan_forget(lending, lend, counters);
	return list_empty(&lending->out);
}

/**
 * weft_lend_drained() - may the connection be told that the queue pair is done?
 * @qp: a queue pair that ends, with a stream, all sent
 *
 * For a limited time TCP may get across what was lent, before the stream is
 * reset for its sake; but who destroys a queue pair does not wait for that. Until
 * then the worker comes back.
 *
 * Context: as weft_tx_next_msg().
 * Return: whether nothing is out any more, or time is up.
 */
bool weft_lend_drained(struct weft_qp *qp)
{
	struct weft_lending *lending = qp->tx.lending;
	struct weft_lend *lend;

	if (!lending || list_empty(&lending->out))
		return true;
	/* A message that was begun may not go on. */
	loan_close(lending);
	list_for_each_entry(lend, &lending->out, entry)
		if (loan_want(lend))
			break;
	if (list_entry_is_head(lend, &lending->out, entry))
		return true;
	/* One by one, those of a process that ends would wait for all their peers. */
	if (READ_ONCE(qp->dying))
		return true;
	if (weft_ending_overdue(&qp->ending))
		return true;
	weft_qp_within(qp, WEFT_DRAIN_TIMEOUT + 1);
	return false;
}

/**
 * weft_lend_settled() - are all pages back?
 * @qp: a queue pair whose stream is gone; the caller holds tx.lock
 *
 * If not, the worker comes back.
 *
 * Return: whether they are, or were given up.
 */
bool weft_lend_settled(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_lend *lend, *next;

	lockdep_assert_held(&qp->tx.lock);
	if (!tx->lending)
		return true;
	if (!loan_reap(tx->lending, qp->dev->counters)) {
		if (time_before(jiffies, qp->ending.drain_until)) {
			weft_qp_within(qp, qp->ending.drain_until - jiffies + 1);
			return false;
		}
		list_for_each_entry_safe(lend, next, &tx->lending->out, entry) {
			list_del(&lend->entry);
			if (atomic_fetch_or(WEFT_LEND_GIVEN_UP, &lend->flags) & WEFT_LEND_RETURNED)
				kfree(lend);
			else
				weft_qp_put(qp);
		}
	}
	kfree(tx->lending);
	tx->lending = NULL;
	return true;
}

/**
 * weft_lend_stop() - lend no more, and drop what was not yet sent
 * @lending: of a transmit side whose stream is gone
 */
void weft_lend_stop(struct weft_lending *lending)
{
	loan_drop_pages(lending);
	loan_close(lending);
}

/* Frees what is left. No one uses the queue pair any more, so that all is back. */
void weft_lend_destroy(struct weft_lending *lending)
{
	struct weft_lend *lend, *next;

	list_for_each_entry_safe(lend, next, &lending->out, entry)
		kfree(lend);
	kfree(lending);
}

/* Waits for what was given up, before the module goes. */
void weft_lend_exit(void)
{
	wait_var_event(&loans_out, !atomic_read(&loans_out));
	/*
	 * The last callback may be on its way out: in softirq, or in a process that was
	 * interrupted there, with nothing that says so. That one leaves before it sleeps.
	 */
	synchronize_rcu();
	synchronize_rcu_tasks();
}
