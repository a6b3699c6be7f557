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
#define WEFT_LOAN_WANTED	1	/* somebody waits for it: kick the worker */
#define WEFT_LOAN_RETURNED	2	/* TCP is through with it */
#define WEFT_LOAN_GIVEN_UP	4	/* nobody waits any more */

/**
 * struct weft_loan - a loan: pages of one work request, or of several
 * @ubuf: what packet buffers hold, a reference each; one is the transmit side's
 *	while it lends more
 * @entry: in weft_loans.out
 * @qp: its queue pair: a reference, until it is returned or given up
 * @inflight: the last of its work requests, index into the in-flight list
 * @flags: see above. Whoever is the second to set RETURNED or GIVEN_UP frees
 *	it; without GIVEN_UP, the transmit side does when it sees RETURNED
 * @copied: the kernel has copied some of it after all
 */
struct weft_loan {
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
	struct weft_loan *loan = container_of(ubuf, struct weft_loan, ubuf);
	struct weft_qp *qp = loan->qp;
	int flags;

	if (!uncopied)
		WRITE_ONCE(loan->copied, true);
	if (!refcount_dec_and_test(&ubuf->refcnt))
		return;
	/* From here on the transmit side may free it, and reads @copied before. */
	flags = atomic_fetch_or(WEFT_LOAN_RETURNED, &loan->flags);
	if (flags & WEFT_LOAN_GIVEN_UP) {
		kfree(loan);
	} else {
		if ((flags & WEFT_LOAN_WANTED) || weft_qp_state(qp) != IB_QPS_RTS)
			weft_qp_kick(qp);
		weft_qp_put(qp);
	}
	if (atomic_dec_and_test(&loans_out))
		wake_up_var(&loans_out);
}

static const struct weft_ubuf_ops loan_ubuf_ops = { .complete = loan_done };

static bool loan_returned(struct weft_loan *loan)
{
	return atomic_read_acquire(&loan->flags) & WEFT_LOAN_RETURNED;
}

/* Asks for a kick when it is returned. False: it is. */
static bool loan_want(struct weft_loan *loan)
{
	return !(atomic_fetch_or(WEFT_LOAN_WANTED, &loan->flags) & WEFT_LOAN_RETURNED);
}

/* The loan does not go on. */
static void loan_close(struct weft_loans *loans)
{
	struct weft_loan *loan = loans->open;

	loans->open = NULL;
	if (loan)
		loan_done(NULL, &loan->ubuf, true);
}

/* Lends more to what goes on, or begins anew, for the request fetched last. */
static bool loan_open(struct weft_qp *qp)
{
	struct weft_loans *loans = qp->tx.loans;
	struct weft_loan *loan = loans->open;

	if (!loan) {
		loan = kzalloc(sizeof(*loan), GFP_KERNEL);
		if (!loan)
			return false;
		weft_ubuf_init(&loan->ubuf, &loan_ubuf_ops);
		weft_qp_get(qp);
		loan->qp = qp;
		atomic_inc(&loans_out);
		list_add_tail(&loan->entry, &loans->out);
		loans->open = loan;
	}
	loan->inflight = qp->inflight.head - 1;
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
static void loan_forget(struct weft_loans *loans, struct weft_loan *loan,
			struct weft_counters __percpu *counters)
{
	if (loan->copied) {
		weft_count(counters, WEFT_CNT_TX_LENT_COPIED, 1);
		loans->mode = WEFT_LOAN_NO;
	} else if (loans->mode == WEFT_LOAN_TRYING) {
		loans->mode = WEFT_LOAN_YES;
	}
	list_del(&loan->entry);
	kfree(loan);
}

/**
 * weft_loan_may() - may the request fetched last be lent?
 * @qp: the queue pair; what is to be lent is large enough
 *
 * Context: as weft_tx_next_msg().
 * Return: whether to try.
 */
bool weft_loan_may(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_loans *loans = tx->loans;

	if (!qp->owner || tx->crc || !tx->large || tx->sent < WEFT_LOAN_AFTER ||
	    !weft_llp_may_lend(qp->llp))
		return false;
	if (loans)
		return loans->mode == WEFT_LOAN_YES || loans->mode == WEFT_LOAN_NEW;
	loans = kzalloc(sizeof(*loans), GFP_KERNEL);
	if (!loans)
		return false;
	INIT_LIST_HEAD(&loans->out);
	tx->loans = loans;
	return true;
}

static void loan_drop_pages(struct weft_loans *loans)
{
	while (loans->num)
		put_page(loans->bv[--loans->num].bv_page);
}

/* Adds bytes of a page, a compound one by its head. */
static void loan_add(struct weft_loans *loans, struct page *page,
		     u32 offset, u32 len)
{
	struct bio_vec *bv;

	if (loans->num) {
		bv = &loans->bv[loans->num - 1];
		if (bv->bv_page == page && bv->bv_offset + bv->bv_len == offset) {
			bv->bv_len += len;
			return;
		}
	}
	get_page(page);
	bvec_set_page(&loans->bv[loans->num++], page, len, offset);
}

/*
 * Collects the pages of at most @len bytes of one SGE, and leaves room for what
 * follows the payload. Returns how many bytes.
 */
static u32 loan_sge(struct weft_loans *loans, const struct weft_mr *mr,
		    u64 addr, u32 len)
{
	u32 done, n, offset;
	struct page *page;
	void *at;

	for (done = 0; done < len && loans->num < WEFT_LOAN_RUNS - 1; done += n) {
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
		loan_add(loans, page, offset, n);
	}
	return done;
}

/*
 * Collects the pages of the next @len bytes of the message, or of fewer if there
 * are too many runs of them. 0: it is not all pages of a user's, or *@gone: the
 * memory is not to be had any more.
 */
static u32 loan_gather(struct weft_loans *loans, struct weft_tx_msg *msg,
		       struct weft_accessor *acc, u32 len, bool *gone)
{
	u32 index = msg->sge_index, offset = msg->offset;
	enum weft_key_error err;
	struct weft_mr *mr;
	u32 done = 0, want, n;

	*gone = false;
	while (done < len && loans->num < WEFT_LOAN_RUNS - 1) {
		const struct weft_sge *sge = &msg->copy.sge[index];

		want = min(len - done, sge->length - offset);
		if (want) {
			mr = weft_mr_access(acc, acc->pd, sge->lkey, sge->addr + offset,
					    want, 0, &err);
			*gone = !mr;
			if (!mr)
				return 0;
			n = mr->umem ? loan_sge(loans, mr, sge->addr + offset, want) : 0;
			weft_mr_access_end(mr);
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
bool weft_loan_waits(const struct weft_tx *tx)
{
	return tx->loans && tx->loans->num;
}

/* Whether that has to be taken before more is lent. */
bool weft_loan_is_full(const struct weft_tx *tx)
{
	const struct weft_loans *loans = tx->loans;

	return weft_loan_waits(tx) && (loans->last || loans->taken ||
				       loans->num > WEFT_LOAN_RUNS - WEFT_LOAN_FPDU_RUNS);
}

/**
 * weft_loan_layout() - lay out one FPDU of the current message, its payload lent
 * @qp: the queue pair
 * @fpdu: as planned; made shorter if its payload is in too many pieces
 * @page: a chunk's, for what goes around the payload
 * @offset: where in @page; WEFT_LOAN_FRAME bytes are free there
 *
 * Context: as weft_tx_layout(). A message that is not to be lent is copied from
 * here on.
 * Return: bytes of the chunk that are used; 0: nothing was laid out. Memory
 * that was taken away fails the queue pair.
 */
u32 weft_loan_layout(struct weft_qp *qp, struct weft_fpdu *fpdu, struct page *page,
		     u32 offset)
{
	struct weft_loans *loans = qp->tx.loans;
	struct weft_tx *tx = &qp->tx;
	struct weft_tx_msg *msg = &tx->msg;
	u32 hdr_len = weft_ddp_hdr_len(msg->hdr.tagged);
	u32 front = WEFT_MPA_LEN + hdr_len, back;
	u32 num = loans->num, first = num ? loans->bv[num - 1].bv_len : 0;
	u8 *at = page_address(page) + offset;
	bool gone = false, ends;
	u32 payload = 0;

	if (loan_open(qp)) {
		loan_add(loans, page, offset, front);
		payload = loan_gather(loans, msg, &qp->acc, fpdu->payload, &gone);
	}
	if (!payload) {
		/* As it was before. */
		while (loans->num > num)
			put_page(loans->bv[--loans->num].bv_page);
		if (num)
			loans->bv[num - 1].bv_len = first;
		msg->lend = false;
		loans->last = true;
		if (!num)
			loan_close(loans);
		weft_loan_skip(loans, &qp->inflight);
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
	loan_add(loans, page, offset + front, back);
	if (!num)
		loans->len = 0;
	loans->len += fpdu->len;
	if (msg->left == msg->total)
		weft_count(qp->dev->counters, WEFT_CNT_TX_LENT, 1);
	if (loans->mode == WEFT_LOAN_NEW)
		loans->mode = WEFT_LOAN_TRYING;
	ends = loan_ends(&qp->inflight);
	if (loans->mode != WEFT_LOAN_YES)
		msg->lend = false;
	loans->last = !msg->lend || (fpdu->last && ends);
	/* Also if the rest of it is copied: nothing else tells that it is done. */
	if (loans->last && ends)
		atomic_or(WEFT_LOAN_WANTED, &loans->open->flags);
	weft_tx_advance(tx, &qp->inflight, &qp->acc, fpdu);
	return front + back;
}

/**
 * weft_loan_push() - hand over the rest of what is lent, if there is something
 * @tx: the transmit side; something was lent
 * @llp: its stream
 *
 * Context: as weft_tx_next_msg().
 * Return: 0, or why not all of it was taken: -EAGAIN or another negative errno
 * value.
 */
int weft_loan_push(struct weft_tx *tx, struct weft_llp *llp)
{
	struct weft_loans *loans = tx->loans;
	int n;

	if (!weft_loan_waits(tx))
		return 0;
	n = weft_llp_lend(llp, &loans->open->ubuf, loans->bv, loans->num,
			  loans->taken, loans->len, !tx->dry);
	if (n < 0)
		return n;
	loans->taken += n;
	tx->sent += n;
	if (loans->taken < loans->len)
		return -EAGAIN;
	loans->taken = 0;
	loan_drop_pages(loans);
	if (loans->last)
		loan_close(loans);
	return 0;
}

/**
 * weft_loan_skip() - the request fetched last is not lent
 * @loans: what is lent; NULL: nothing ever was
 * @inflight: the requests under way
 *
 * If somebody waits for it, it is held up by what was lent before. Context: as
 * weft_tx_next_msg().
 */
void weft_loan_skip(struct weft_loans *loans, const struct weft_inflight *inflight)
{
	if (!loans || list_empty(&loans->out) || !loan_ends(inflight))
		return;
	loan_want(list_last_entry(&loans->out, struct weft_loan, entry));
	loans->last = true;
	if (!loans->num)
		loan_close(loans);
}

/*
 * The oldest that is out holds up others. If one of these was waited for and is back,
 * it is waited for instead. False: it is back itself.
 */
static bool loan_hold(struct weft_loans *loans, struct weft_loan *oldest)
{
	struct weft_loan *loan;

	list_for_each_entry(loan, &loans->out, entry) {
		if (!(atomic_read(&loan->flags) & WEFT_LOAN_WANTED))
			continue;
		if (loan == oldest || !loan_returned(loan))
			break;
		return loan_want(oldest);
	}
	return !loan_returned(oldest);
}

/**
 * weft_loan_is_out() - may TCP still send pages of this work request?
 * @loans: what is lent
 * @inflight: the work request, by its index; those before it were asked for
 * @counters: the device's
 *
 * Context: as weft_tx_complete().
 * Return: whether it has to wait.
 */
bool weft_loan_is_out(struct weft_loans *loans, u32 inflight,
		      struct weft_counters __percpu *counters)
{
	struct weft_loan *loan;

	if (list_empty(&loans->out))
		return false;
	loan = list_first_entry(&loans->out, struct weft_loan, entry);
	if (loan->inflight != inflight)
		return false;
	if (!loan_returned(loan) && loan_hold(loans, loan))
		return true;
	loan_forget(loans, loan, counters);
	return false;
}

/* Forgets what is back. Returns whether all of it is. */
static bool loan_reap(struct weft_loans *loans,
		      struct weft_counters __percpu *counters)
{
	struct weft_loan *loan, *next;

	list_for_each_entry_safe(loan, next, &loans->out, entry)
		if (loan_returned(loan))
			loan_forget(loans, loan, counters);
	return list_empty(&loans->out);
}

/**
 * weft_loan_drained() - may the connection be told that the queue pair is done?
 * @qp: a queue pair that ends, with a stream, all sent
 *
 * For a limited time TCP may get across what was lent, before the stream is
 * reset for its sake; but who destroys a queue pair does not wait for that. Until
 * then the worker comes back.
 *
 * Context: as weft_tx_next_msg().
 * Return: whether nothing is out any more, or time is up.
 */
bool weft_loan_drained(struct weft_qp *qp)
{
	struct weft_loans *loans = qp->tx.loans;
	struct weft_loan *loan;

	if (!loans || list_empty(&loans->out))
		return true;
	/* A message that was begun may not go on. */
	loan_close(loans);
	list_for_each_entry(loan, &loans->out, entry)
		if (loan_want(loan))
			break;
	if (list_entry_is_head(loan, &loans->out, entry))
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
 * weft_loan_settled() - are all pages back?
 * @qp: a queue pair whose stream is gone; the caller holds tx.lock
 *
 * If not, the worker comes back.
 *
 * Return: whether they are, or were given up.
 */
bool weft_loan_settled(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_loan *loan, *next;

	lockdep_assert_held(&qp->tx.lock);
	if (!tx->loans)
		return true;
	if (!loan_reap(tx->loans, qp->dev->counters)) {
		if (time_before(jiffies, qp->ending.drain_until)) {
			weft_qp_within(qp, qp->ending.drain_until - jiffies + 1);
			return false;
		}
		list_for_each_entry_safe(loan, next, &tx->loans->out, entry) {
			list_del(&loan->entry);
			if (atomic_fetch_or(WEFT_LOAN_GIVEN_UP, &loan->flags) & WEFT_LOAN_RETURNED)
				kfree(loan);
			else
				weft_qp_put(qp);
		}
	}
	kfree(tx->loans);
	tx->loans = NULL;
	return true;
}

/**
 * weft_loan_stop() - lend no more, and drop what was not yet sent
 * @loans: of a transmit side whose stream is gone
 */
void weft_loan_stop(struct weft_loans *loans)
{
	loan_drop_pages(loans);
	loan_close(loans);
}

/* Frees what is left. No one uses the queue pair any more, so that all is back. */
void weft_loan_destroy(struct weft_loans *loans)
{
	struct weft_loan *loan, *next;

	list_for_each_entry_safe(loan, next, &loans->out, entry)
		kfree(loan);
	kfree(loans);
}

/* Waits for what was given up, before the module goes. */
void weft_loan_exit(void)
{
	wait_var_event(&loans_out, !atomic_read(&loans_out));
	/*
	 * The last callback may be on its way out: in softirq, or in a process that was
	 * interrupted there, with nothing that says so. That one leaves before it sleeps.
	 */
	synchronize_rcu();
	synchronize_rcu_tasks();
}
