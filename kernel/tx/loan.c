// SPDX-License-Identifier: GPL-2.0
/* Lending pages to TCP, and getting them back; see loan.h. */
#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "base/compat.h"
#include "base/context.h"
#include "base/weft.h"
#include "base/workqueue.h"
#include "llp/llp.h"
#include "memory/mr.h"
#include "pair/qp.h"
#include "tx/batch.h"
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
	loans->lent.closed = true;
	if (loan)
		loan_done(NULL, &loan->ubuf, true);
}

/* Allocates zeroed memory for loans, to which the owner of @qp is charged; NULL without memory. */
static void *loan_alloc(const struct weft_qp *qp, size_t size)
{
	struct mem_cgroup *before = weft_charge_begin(qp->owner);
	void *mem = kzalloc(size, weft_charge_gfp(qp->owner));

	weft_charge_end(before);
	return mem;
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
		loan = loan_alloc(qp, sizeof(*loan));
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

/* Makes the bytes that wait the open loan's, if these are its first. */
static void loan_own(struct weft_loans *loans)
{
	struct weft_lent *lent = &loans->lent;

	if (lent->ubuf)
		return;
	net_zcopy_get(&loans->open->ubuf);
	lent->ubuf = &loans->open->ubuf;
	lent->len = 0;
	lent->joined = 0;
	lent->closed = false;
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

/* Returns true if the request fetched last may be lent. */
static bool loan_may(struct weft_qp *qp)
{
	struct weft_tx *tx = &qp->tx;
	struct weft_loans *loans = tx->loans;

	/*
	 * A kernel consumer that sends nothing behind this request until it is done would wait for
	 * a delayed acknowledgment.
	 */
	if (!qp->owner && weft_inflight_last(&qp->inflight)->signaled &&
	    !weft_ring_pending(&qp->sq))
		return false;
	if (!tx->lends || tx->longest != WEFT_FPDU_ANY_LENGTH ||
	    tx->batch.sent < WEFT_LOAN_AFTER || !weft_llp_may_lend(qp->llp))
		return false;
	if (loans)
		return loans->mode == WEFT_LOAN_YES || loans->mode == WEFT_LOAN_NEW;
	loans = loan_alloc(qp, sizeof(*loans));
	if (!loans)
		return false;
	INIT_LIST_HEAD(&loans->out);
	tx->loans = loans;
	tx->batch.lent = &loans->lent;
	return true;
}

/*
 * Notes that the request fetched last is not lent. Requests complete in order, so earlier
 * loans delay the completion of this one. If it is awaited, the last of them has to kick the
 * worker when it is returned.
 */
static void loan_skip(struct weft_loans *loans, const struct weft_inflight *inflight)
{
	if (list_empty(&loans->out) || !loan_ends(inflight))
		return;
	loan_want(list_last_entry(&loans->out, struct weft_loan, entry));
	loan_close(loans);
}

/**
 * weft_loan_begin() - decide whether the request fetched last is lent
 * @qp: the queue pair
 * @len: bytes of payload in memory regions; 0: none
 *
 * To be asked about each request once there are loans, and before that about one of
 * WEFT_LOAN_LEAST bytes or more.
 *
 * Context: as weft_tx_next_msg().
 * Return: true if its payload is lent, as far as that is possible.
 */
bool weft_loan_begin(struct weft_qp *qp, u32 len)
{
	bool lend = len >= WEFT_LOAN_LEAST && loan_may(qp);

	if (!lend && qp->tx.loans)
		loan_skip(qp->tx.loans, &qp->inflight);
	return lend;
}

/*
 * Adds the pages of the next @len bytes of the message, or of fewer if they lie in too
 * many runs. Returns how many bytes; 0 if some are not in pages that can be lent, or, with
 * *@gone true, if the memory was invalidated or deregistered.
 */
static u32 loan_gather(struct weft_lent *lent, struct weft_tx_msg *msg,
		       struct weft_accessor *acc, u32 len, bool *gone)
{
	u32 index = msg->sge_index, offset = msg->offset;
	struct weft_access held = {};
	u32 done = 0, first, end, want, n = 1;

	*gone = false;
	/* Ends with a page, so that the next FPDU begins with one, and no page is two runs. */
	if (PAGE_SIZE <= WEFT_LENT_MOST) {
		first = offset_in_page(msg->copy.sge[index].addr + offset);
		end = round_down(first + WEFT_LENT_MOST, PAGE_SIZE);
		len = min(len, end - first);
	}
	while (done < len && lent->num < WEFT_LENT_RUNS - 1) {
		const struct weft_sge *sge = &msg->copy.sge[index];

		want = min(len - done, sge->length - offset);
		if (want) {
			*gone = weft_access_go_on(&held, acc, acc->pd, sge->lkey,
						  sge->addr + offset, want, 0);
			n = *gone ? 0 : weft_lent_add_region(lent, held.mr, sge->addr + offset,
							     want);
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
	if (!n)
		return 0;
	msg->sge_index = index;
	msg->offset = offset;
	return done;
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
	struct weft_lent *lent = &loans->lent;
	struct weft_tx *tx = &qp->tx;
	struct weft_tx_msg *msg = &tx->msg;
	u32 hdr_len = weft_ddp_hdr_len(msg->hdr.tagged);
	u32 front = weft_fpdu_front(hdr_len), back;
	u32 num = lent->num, last = num ? lent->run[num - 1].bv_len : 0;
	u8 *at = page_address(page) + offset;
	bool gone = false, ends;
	u32 payload = 0;

	if (loan_open(qp)) {
		weft_lent_add(lent, page, offset, front);
		payload = loan_gather(lent, msg, &qp->acc, fpdu->payload, &gone);
	}
	if (!payload) {
		weft_lent_take_back(lent, num, last);
		msg->lend = false;
		loan_close(loans);
		loan_skip(loans, &qp->inflight);
		if (gone)
			weft_tx_gather_failed(qp);
		return 0;
	}
	if (payload < fpdu->payload)
		weft_plan_shorten(fpdu, hdr_len, payload);
	msg->hdr.last = fpdu->last;
	weft_ddp_encode(weft_fpdu_begin(at, hdr_len + payload), &msg->hdr);
	back = weft_fpdu_end_apart(at + front, hdr_len + payload, tx->crc,
				   tx->crc ? weft_lent_crc(lent, num, last) : 0);
	weft_lent_add(lent, page, offset + front, back);
	loan_own(loans);
	lent->len += fpdu->len;
	if (msg->left == msg->total)
		weft_count(qp->dev->counters, WEFT_CNT_TX_LENT, 1);
	if (loans->mode == WEFT_LOAN_NEW)
		loans->mode = WEFT_LOAN_TRYING;
	ends = loan_ends(&qp->inflight);
	if (loans->mode != WEFT_LOAN_YES)
		msg->lend = false;
	/* Even if the rest of the message is copied, only the loan's return completes it. */
	if (ends && (!msg->lend || fpdu->last))
		atomic_or(WEFT_LOAN_WANTED, &loans->open->flags);
	if (!msg->lend || (fpdu->last && ends))
		loan_close(loans);
	weft_tx_advance(tx, &qp->inflight, &qp->acc, fpdu);
	return front + back;
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

/*
 * TCP gets some time to deliver lent bytes, before the stream is reset to get the pages
 * back. The destruction of a queue pair does not wait for that. Returns true if no loan is
 * out any more, or time is up.
 */
static bool loan_drained(struct weft_qp *qp)
{
	struct weft_loans *loans = qp->tx.loans;
	struct weft_loan *loan;

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

/*
 * Gives up the loans of @qp that did not come back. Each frees itself if it comes after all,
 * which may be as soon as its flag is set: nothing of it is looked at from there on.
 */
static void loan_give_up(struct weft_qp *qp)
{
	struct weft_loan *loan, *next;

	list_for_each_entry_safe(loan, next, &qp->tx.loans->out, entry) {
		list_del(&loan->entry);
		if (atomic_fetch_or(WEFT_LOAN_GIVEN_UP, &loan->flags) & WEFT_LOAN_RETURNED)
			kfree(loan);
		else
			weft_qp_put(qp);
	}
}

/**
 * weft_loan_settled() - may a queue pair that ends go on without its loans?
 * @qp: a queue pair that ends: all is sent, or its stream is gone
 *
 * No more pages are lent. If the answer is no, the worker is started again. A queue pair
 * without a stream has no loans any more when the answer is yes.
 *
 * Context: process; the caller holds tx.lock.
 * Return: true if all pages are back, or time is up: with a stream that of the graceful end,
 * without one WEFT_LOAN_TIMEOUT, after which they are given up.
 */
bool weft_loan_settled(struct weft_qp *qp)
{
	struct weft_loans *loans = qp->tx.loans;

	lockdep_assert_held(&qp->tx.lock);
	if (!loans)
		return true;
	/* The message in progress stops here, if there is one. */
	loan_close(loans);
	if (qp->llp)
		return loan_drained(qp);
	if (!loan_reap(loans, qp->dev->counters)) {
		if (time_before(jiffies, qp->ending.drain_until)) {
			weft_qp_within(qp, qp->ending.drain_until - jiffies + 1);
			return false;
		}
		loan_give_up(qp);
	}
	qp->tx.batch.lent = NULL;
	qp->tx.loans = NULL;
	kfree(loans);
	return true;
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
