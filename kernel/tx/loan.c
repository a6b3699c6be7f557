// SPDX-License-Identifier: GPL-2.0
/*
 * Loans: payload that TCP sends from the pages of a program or a kernel consumer. TCP may
 * retransmit the pages, so the work request completes when the stream has taken its last byte and
 * the last packet buffer with its pages is gone.
 *
 * A loan holds references on the pages, not on the region. A process that changes, deregisters or
 * unmaps the pages before the completion changes the payload that the peer gets, and nothing else.
 */
#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "base/compat.h"
#include "base/context.h"
#include "base/weft.h"
#include "base/baton.h"
#include "llp/llp.h"
#include "memory/mr.h"
#include "tx/batch.h"
#include "tx/tx.h"
#include "wire/fpdu.h"

/* Bits of a loan's @flags. */
#define WEFT_LOAN_WANTED	1	/* kick the worker when it is returned */
#define WEFT_LOAN_RETURNED	2	/* TCP holds none of its pages */
#define WEFT_LOAN_GIVEN_UP	4	/* the transmit side has forgotten it */

/**
 * struct weft_loan - a loan: pages of one work request, or of several
 * @ubuf: referenced by each packet buffer with its pages, and by the transmit side while it
 *	may add to the loan
 * @entry: in weft_loans.out
 * @qp: its queue pair: a reference, until the loan is returned or given up
 * @inflight: the last work request, index into the in-flight list
 * @flags: see above. The second of RETURNED and GIVEN_UP to be set frees the loan. If it is
 *	not given up, the transmit side frees it when it sees RETURNED
 * @used: TCP got bytes of it, so @copied tells whether the kernel copies
 * @copied: the kernel has copied some of its bytes after all
 *
 * A packet buffer refers to one loan only, so an unsignaled request shares the loan of the
 * request behind it.
 */
struct weft_loan {
	struct ubuf_info ubuf;
	struct list_head entry;
	struct weft_qp *qp;
	u32 inflight;
	atomic_t flags;
	bool used;
	bool copied;
};

/*
 * Where the kernel copies lent pages on the way, as it does with all packets that stay on the
 * machine, a loan costs more than one copy. So a connection lends one FPDU as a trial, lends more
 * if that one comes back uncopied, and lends no more once one was copied.
 */
enum weft_loan_mode {
	WEFT_LOAN_NEW,		/* nothing was lent yet */
	WEFT_LOAN_TRYING,	/* the first has not come back */
	WEFT_LOAN_YES,		/* the first came back uncopied */
	WEFT_LOAN_NO,		/* one was copied */
};

/**
 * struct weft_loans - the loans of a connection
 * @mode: enum weft_loan_mode
 * @out: oldest first, until their work requests are done
 * @open: the loan to which more may be added, a reference; or NULL
 * @lent: the lent bytes of the batch
 *
 * Allocated for the first loan. Protected as struct weft_tx.
 */
struct weft_loans {
	u8 mode;
	struct list_head out;
	struct weft_loan *open;
	struct weft_lent lent;
};

/* Loans for which TCP may still call back; the module stays loaded until then. */
static atomic_t loans_out = ATOMIC_INIT(0);

/*
 * Drops the reference of a packet buffer that is gone or was copied. Any context, with or without
 * the socket lock, even inside our own send.
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

/* Asks for a kick at the loan's return. Returns false if it has returned. */
static bool loan_want(struct weft_loan *loan)
{
	return !(atomic_fetch_or(WEFT_LOAN_WANTED, &loan->flags) & WEFT_LOAN_RETURNED);
}

/* Closes the open loan, so that nothing is added to it. */
static void loan_close(struct weft_loans *loans)
{
	struct weft_loan *loan = loans->open;

	loans->open = NULL;
	loans->lent.closed = true;
	if (loan)
		loan_done(NULL, &loan->ubuf, true);
}

/* Allocates zeroed memory that the owner of the queue pair pays for. */
static void *loan_alloc(const struct weft_tx *tx, size_t size)
{
	struct weft_qp *qp = tx->qp;
	struct mem_cgroup *before = weft_charge_begin(qp->owner);
	void *mem = kzalloc(size, weft_charge_gfp(qp->owner));

	weft_charge_end(before);
	return mem;
}

/* Returns true if a loan has to end with the newest request, so that this can complete. */
static bool loan_ends(const struct weft_inflight *inflight)
{
	return weft_inflight_at(inflight, inflight->head - 1)->signaled ||
	       /* Or the list may fill up. Pairs with weft_inflight_complete(). */
	       inflight->head - smp_load_acquire(&inflight->tail) > inflight->size / 2;
}

/*
 * Notes that the newest request is not lent. Requests complete in order, so earlier loans delay its
 * completion. If the consumer awaits that, the return of the last loan has to kick the worker.
 */
static void loan_skip(struct weft_loans *loans, const struct weft_inflight *inflight)
{
	if (list_empty(&loans->out) || !loan_ends(inflight))
		return;
	loan_want(list_last_entry(&loans->out, struct weft_loan, entry));
	loan_close(loans);
}

/*
 * Decides whether to lend the newest request, with @len bytes of payload in memory regions, as far
 * as possible. Once there are loans, each request needs this call; before that, if @lends, those of
 * WEFT_LOAN_LEAST bytes or more. May sleep.
 */
bool weft_loan_begin(struct weft_tx *tx, u32 len)
{
	struct weft_loans *loans = tx->loans;
	struct weft_qp *qp = tx->qp;
	bool lend;

	lockdep_assert_held(&qp->tx_lock.mutex);
	/* Of FPDUs of one segment, a packet buffer of lent pages holds only seven: copy them. */
	lend = len >= WEFT_LOAN_LEAST && tx->lends && tx->longest == WEFT_FPDU_ANY_LENGTH &&
	       tx->batch.sent >= WEFT_LOAN_AFTER &&
	       (!loans || loans->mode == WEFT_LOAN_YES || loans->mode == WEFT_LOAN_NEW);
	/*
	 * A kernel consumer that sends nothing behind the newest request until it is done would
	 * wait for a delayed acknowledgment, which returns the loan.
	 */
	lend = lend &&
	       (qp->owner || weft_ring_pending(&qp->sq) ||
		!weft_inflight_at(&qp->inflight, qp->inflight.head - 1)->signaled) &&
	       weft_llp_has(qp->llp, may_lend) && weft_llp_call(qp->llp, may_lend);
	if (lend && !loans) {
		loans = loan_alloc(tx, sizeof(*loans));
		if (!loans)
			return false;
		INIT_LIST_HEAD(&loans->out);
		tx->loans = loans;
		tx->batch.lent = &loans->lent;
	}
	if (!lend && loans)
		loan_skip(loans, &qp->inflight);
	return lend;
}

/* Opens a loan for the newest request, or shares the open one. Returns false without memory. */
static bool loan_open(struct weft_tx *tx)
{
	struct weft_loans *loans = tx->loans;
	struct weft_loan *loan = loans->open;
	struct weft_qp *qp = tx->qp;

	if (!loan) {
		loan = loan_alloc(tx, sizeof(*loan));
		if (!loan)
			return false;
		weft_ubuf_init(&loan->ubuf, &loan_ubuf_ops);
		kref_get(&qp->entry->refs);
		loan->qp = qp;
		atomic_inc(&loans_out);
		list_add_tail(&loan->entry, &loans->out);
		loans->open = loan;
	}
	loan->inflight = qp->inflight.head - 1;
	return true;
}

/*
 * Adds the pages of the next @len bytes of the message, or of fewer if they need too many runs.
 * Returns how many bytes; 0 if some are in pages that cannot be lent; -EFAULT if the memory was
 * invalidated or deregistered.
 */
static int loan_lend_payload(struct weft_lent *lent, struct weft_tx_msg *msg,
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

/*
 * Returns the running CRC, begun with WEFT_CRC_SEED, of the bytes that were added after there were
 * @num runs, the last one of @last bytes. A program may write to the pages meanwhile.
 */
static u32 loan_crc(const struct weft_lent *lent, u32 num, u32 last)
{
	u32 i, skip = num ? last : 0, crc = WEFT_CRC_SEED;
	const struct bio_vec *run;

	for (i = num ? num - 1 : 0; i < lent->num; i++, skip = 0) {
		run = &lent->run[i];
		crc = crc32c(crc, page_address(run->bv_page) + run->bv_offset + skip,
			     run->bv_len - skip);
	}
	return crc;
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
u32 weft_loan_layout(struct weft_tx *tx, struct weft_fpdu *fpdu, struct page *page, u32 offset)
{
	struct weft_qp *qp = tx->qp;
	struct weft_loans *loans = tx->loans;
	struct weft_lent *lent = &loans->lent;
	struct weft_tx_msg *msg = &tx->msg;
	u32 hdr_len = weft_ddp_hdr_len(msg->hdr.tagged);
	u32 front = WEFT_MPA_LEN + hdr_len, back;
	u32 num = lent->num, last = num ? lent->run[num - 1].bv_len : 0;
	u8 *at = page_address(page) + offset;
	int payload = 0;
	bool ends;

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (loan_open(tx)) {
		weft_lent_add(lent, page, offset, front);
		payload = loan_lend_payload(lent, msg, &qp->acc, fpdu->payload);
	}
	if (payload <= 0) {
		weft_lent_take_back(lent, num, last);
		msg->lend = false;
		loan_close(loans);
		loan_skip(loans, &qp->inflight);
		if (payload < 0)
			weft_tx_payload_failed(tx);
		return 0;
	}
	if (payload < fpdu->payload) {
		fpdu->payload = payload;
		fpdu->len = weft_plan_rest(msg->hdr.tagged, payload);
		fpdu->last = false;
	}
	msg->hdr.last = fpdu->last;
	weft_ddp_encode(weft_fpdu_begin(at, hdr_len + payload), &msg->hdr);
	back = weft_fpdu_end_apart(at + front, hdr_len + payload, tx->crc,
				   tx->crc ? loan_crc(lent, num, last) : 0);
	weft_lent_add(lent, page, offset + front, back);
	loans->open->used = true;
	/* The lent bytes that wait are the open loan's, if they are its first. */
	if (!lent->ubuf) {
		net_zcopy_get(&loans->open->ubuf);
		lent->ubuf = &loans->open->ubuf;
		lent->len = 0;
		lent->joined = 0;
		lent->closed = false;
	}
	lent->len += fpdu->len;
	if (msg->left == msg->total)
		weft_count(qp->dev->counters, WEFT_CNT_TX_LENT, 1);
	if (loans->mode == WEFT_LOAN_NEW)
		loans->mode = WEFT_LOAN_TRYING;
	ends = loan_ends(&qp->inflight);
	if (loans->mode != WEFT_LOAN_YES)
		msg->lend = false;
	/* Even if the rest of the request is copied, only the loan's return completes it. */
	if (ends && (!msg->lend || fpdu->last))
		atomic_or(WEFT_LOAN_WANTED, &loans->open->flags);
	if (!msg->lend || (fpdu->last && ends))
		loan_close(loans);
	weft_tx_advance(tx, &qp->inflight, &qp->acc, fpdu);
	return front + back;
}

/* Frees a returned loan, and learns from it whether to lend again. */
static void loan_forget(struct weft_loans *loans, struct weft_loan *loan,
			struct weft_counters __percpu *counters)
{
	if (loan->copied) {
		weft_count(counters, WEFT_CNT_TX_LENT_COPIED, 1);
		loans->mode = WEFT_LOAN_NO;
	} else if (loans->mode == WEFT_LOAN_TRYING && loan->used) {
		loans->mode = WEFT_LOAN_YES;
	}
	list_del(&loan->entry);
	kfree(loan);
}

/*
 * Requests complete in order, so the oldest loan delays all behind it. If a later loan that a
 * consumer awaits has returned, asks for a kick at the oldest one's return. Returns false if the
 * oldest has returned, too.
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

/*
 * Returns true if the request at index @inflight has to wait for its loan. The caller has asked
 * about all requests before it.
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

/*
 * Frees the returned loans, and gives up the others. A loan that is given up frees itself at its
 * return, maybe as soon as its flag is set, so nothing reads it after that.
 */
static void loan_give_up(struct weft_qp *qp, struct weft_loans *loans)
{
	struct weft_loan *loan, *next;

	list_for_each_entry_safe(loan, next, &loans->out, entry) {
		list_del(&loan->entry);
		if (atomic_fetch_or(WEFT_LOAN_GIVEN_UP, &loan->flags) & WEFT_LOAN_RETURNED)
			kfree(loan);
		else
			weft_qp_put(qp);
	}
}

/**
 * weft_loan_settled() - may a queue pair that ends go on without its loans?
 * @tx: of a queue pair that ends: all is sent, or its stream is gone
 *
 * Lends no more pages. After false the worker is started again. After true a queue pair without
 * a stream has no loans.
 *
 * Return: true if all pages are back or time is up: with a stream after the timeout of a graceful
 * end; without one after WEFT_LOAN_TIMEOUT, and the loans are given up.
 */
bool weft_loan_settled(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_loans *loans = tx->loans;
	struct weft_loan *loan, *next;

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (!loans)
		return true;
	/* A message in progress stops here. */
	loan_close(loans);
	if (qp->llp) {
		/* TCP gets some time to deliver, before a reset of the stream returns the pages. */
		list_for_each_entry(loan, &loans->out, entry) {
			if (!loan_want(loan))
				continue;
			/* An exiting process destroys its queue pairs one by one, without waits. */
			if (READ_ONCE(qp->dying) || weft_ending_overdue(&qp->ending))
				return true;
			weft_qp_within(qp, WEFT_DRAIN_TIMEOUT + 1);
			return false;
		}
		return true;
	}
	if (time_before(jiffies, qp->ending.drain_until)) {
		list_for_each_entry_safe(loan, next, &loans->out, entry)
			if (loan_returned(loan))
				loan_forget(loans, loan, qp->dev->counters);
		if (!list_empty(&loans->out)) {
			weft_qp_within(qp, qp->ending.drain_until - jiffies + 1);
			return false;
		}
	} else {
		loan_give_up(qp, loans);
	}
	tx->batch.lent = NULL;
	tx->loans = NULL;
	kfree(loans);
	return true;
}

/* Waits for the loans that were given up, before the module is unloaded. */
void weft_loan_exit(void)
{
	wait_var_event(&loans_out, !atomic_read(&loans_out));
	/*
	 * The last callback may still run its last instructions: in softirq, or in a preempted
	 * process. The second call waits until such a process has slept.
	 */
	synchronize_rcu();
	synchronize_rcu_tasks();
}
