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
#include "wire/fpdu.h"

/* Bits of a loan's @flags. */
#define WEFT_LOAN_WANTED	1	/* kick the worker when it is returned */
#define WEFT_LOAN_RETURNED	2	/* TCP has let go of all its pages */
#define WEFT_LOAN_GIVEN_UP	4	/* the transmit side has forgotten it */

/**
 * struct weft_loan - a loan: pages of one work request, or of several
 * @ubuf: each packet buffer with its pages holds a reference, and so does the transmit
 *	side while it may add to the loan
 * @entry: in weft_loans.out
 * @qp: its queue pair: a reference, until it is returned or given up
 * @inflight: the last of its work requests, index into the in-flight list
 * @flags: see above. The second of RETURNED and GIVEN_UP to be set frees the loan. If it
 *	is not given up, the transmit side frees it when it sees RETURNED
 * @copied: the kernel has copied some of its bytes after all
 */
struct weft_loan {
	struct ubuf_info ubuf;
	struct list_head entry;
	struct weft_qp *qp;
	u32 inflight;
	atomic_t flags;
	bool copied;
};

/* Loans for which TCP may still call back. The module is not unloaded before. */
static atomic_t loans_out = ATOMIC_INIT(0);

/*
 * Drops the reference of a packet buffer that is gone or was copied. Any context, with or
 * without the socket's lock, even inside our own send.
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
	/* The transmit side may free the loan from here on, and reads @copied before it does. */
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

/* Asks for a kick when the loan is returned. Returns false if it is already. */
static bool loan_want(struct weft_loan *loan)
{
	return !(atomic_fetch_or(WEFT_LOAN_WANTED, &loan->flags) & WEFT_LOAN_RETURNED);
}

/* Closes the loan that is open, so that nothing is added to it. */
static void loan_close(struct weft_loans *loans)
{
	struct weft_loan *loan = loans->open;

	loans->open = NULL;
	if (loan)
		loan_done(NULL, &loan->ubuf, true);
}

/*
 * Makes the open loan, or a new one, the loan of the request fetched last. Returns false
 * without memory.
 */
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

/*
 * Returns true if a loan has to end with the request fetched last, since its completion is
 * awaited.
 */
static bool loan_ends(const struct weft_inflight *inflight)
{
	/* Unsignaled requests must complete, too, before the in-flight list is full. */
	return weft_inflight_last(inflight)->signaled ||
	       weft_inflight_num(inflight) > inflight->size / 2;
}

/* Frees a loan that was returned, and learns from it whether the next is worth while. */
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
 * @qp: the queue pair; the request has WEFT_LOAN_LEAST bytes or more
 *
 * Context: as weft_tx_next_msg().
 * Return: true if it may.
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

/* Adds bytes of a page to be sent. A compound page is given by its head. */
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
 * Adds the pages of at most @len bytes of one SGE, and leaves a run free for the trailer.
 * Returns how many bytes.
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
 * Adds the pages of the next @len bytes of the message, or of fewer if they lie in too
 * many runs. Returns how many bytes; 0 if some are not in pages of a user, or, with *@gone
 * true, if the memory was invalidated or deregistered.
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

/* Returns true if the stream has not yet taken all bytes of a loan. */
bool weft_loan_waits(const struct weft_tx *tx)
{
	return tx->loans && tx->loans->num;
}

/* Returns true if the stream has to take those bytes before more are lent. */
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
 * @page: a page of a chunk, for header and trailer
 * @offset: where in @page; WEFT_LOAN_FRAME bytes are free there
 *
 * If the payload cannot be lent, the rest of the message is copied.
 *
 * Context: as weft_tx_layout(), but may sleep.
 * Return: bytes of the chunk that are used; 0 if nothing was laid out. If the memory was
 * invalidated or deregistered, the queue pair has failed.
 */
u32 weft_loan_layout(struct weft_qp *qp, struct weft_fpdu *fpdu, struct page *page,
		     u32 offset)
{
	struct weft_loans *loans = qp->tx.loans;
	struct weft_tx *tx = &qp->tx;
	struct weft_tx_msg *msg = &tx->msg;
	u32 hdr_len = weft_ddp_hdr_len(msg->hdr.tagged);
	u32 front = weft_fpdu_front(hdr_len), back;
	u32 num = loans->num, first = num ? loans->bv[num - 1].bv_len : 0;
	u8 *at = page_address(page) + offset;
	bool gone = false, ends;
	u32 payload = 0;

	if (loan_open(qp)) {
		loan_add(loans, page, offset, front);
		payload = loan_gather(loans, msg, &qp->acc, fpdu->payload, &gone);
	}
	if (!payload) {
		/* Take back the pages that were added. */
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
	if (payload < fpdu->payload)
		weft_plan_shorten(fpdu, hdr_len, payload);
	msg->hdr.last = fpdu->last;
	weft_ddp_encode(weft_fpdu_begin(at, hdr_len + payload), &msg->hdr);
	back = weft_fpdu_end_apart(at + front, hdr_len + payload);
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
	/* Even if the rest of the message is copied, only the loan's return completes it. */
	if (loans->last && ends)
		atomic_or(WEFT_LOAN_WANTED, &loans->open->flags);
	weft_tx_advance(tx, &qp->inflight, &qp->acc, fpdu);
	return front + back;
}

/**
 * weft_loan_push() - hand lent bytes to the stream, if any are left
 * @tx: the transmit side, which has loans
 * @llp: its stream
 *
 * Context: as weft_tx_next_msg().
 * Return: 0 if all were taken; -EAGAIN or another negative errno value if not.
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
 * weft_loan_skip() - note that the request fetched last is not lent
 * @loans: the loans; NULL: there never were any
 * @inflight: the requests under way
 *
 * Requests complete in order, so earlier loans delay the completion of this one. If it is
 * awaited, the last of them has to kick the worker when it is returned.
 *
 * Context: as weft_tx_next_msg().
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
 * Loans end in order, so the oldest delays all behind it. If a later loan that is waited
 * for has come back, asks for a kick when the oldest does. Returns false if the oldest is
 * back, too.
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
 * @loans: the loans
 * @inflight: index of the work request; all before it were asked about
 * @counters: the device's
 *
 * Context: as weft_tx_complete().
 * Return: true if the request has to wait for its loan.
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

/* Frees the loans that were returned. Returns true if none is left. */
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
 * TCP gets some time to deliver lent bytes, before the stream is reset to get the pages
 * back. The destruction of a queue pair does not wait for that. If the answer is no, the
 * worker is started again.
 *
 * Context: as weft_tx_next_msg().
 * Return: true if no loan is out any more, or time is up.
 */
bool weft_loan_drained(struct weft_qp *qp)
{
	struct weft_loans *loans = qp->tx.loans;
	struct weft_loan *loan;

	if (!loans || list_empty(&loans->out))
		return true;
	/* The message in progress stops here, if there is one. */
	loan_close(loans);
	list_for_each_entry(loan, &loans->out, entry)
		if (loan_want(loan))
			break;
	if (list_entry_is_head(loan, &loans->out, entry))
		return true;
	/* A process that ends destroys its queue pairs one by one, each with such a wait. */
	if (READ_ONCE(qp->dying))
		return true;
	if (weft_ending_overdue(&qp->ending))
		return true;
	weft_qp_within(qp, WEFT_DRAIN_TIMEOUT + 1);
	return false;
}

/**
 * weft_loan_settled() - are all pages back?
 * @qp: a queue pair whose stream is gone
 *
 * If the answer is no, the worker is started again.
 *
 * Context: process; the caller holds tx.lock.
 * Return: true if they are back, or were given up after WEFT_LOAN_TIMEOUT.
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
 * weft_loan_stop() - lend no more, and drop bytes that were not sent
 * @loans: the loans of a transmit side whose stream is gone
 *
 * Context: process, under tx.lock.
 */
void weft_loan_stop(struct weft_loans *loans)
{
	loan_drop_pages(loans);
	loan_close(loans);
}

/* Frees the loans of a queue pair that nobody uses any more, so that all are returned. */
void weft_loan_destroy(struct weft_loans *loans)
{
	struct weft_loan *loan, *next;

	list_for_each_entry_safe(loan, next, &loans->out, entry)
		kfree(loan);
	kfree(loans);
}

/* Waits for the loans that were given up, before the module is unloaded. */
void weft_loan_exit(void)
{
	wait_var_event(&loans_out, !atomic_read(&loans_out));
	/*
	 * The last callback may still run its last instructions: in softirq, or in a process
	 * that was preempted there. The second call waits until such a process has slept.
	 */
	synchronize_rcu();
	synchronize_rcu_tasks();
}
