// SPDX-License-Identifier: GPL-2.0
/* The life of a loan, until TCP no longer holds its pages; see tx.h. */
#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "base/compat.h"
#include "base/context.h"
#include "base/weft.h"
#include "base/baton.h"
#include "llp/llp.h"
#include "tx/batch.h"
#include "tx/tx.h"

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
 * @used: it has bytes: one without does not show whether the kernel copies
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
void weft_loan_close(struct weft_loans *loans)
{
	struct weft_loan *loan = loans->open;

	loans->open = NULL;
	loans->lent.closed = true;
	if (loan)
		loan_done(NULL, &loan->ubuf, true);
}

/* Asks for a kick at the return of the open loan. */
void weft_loan_want_open(struct weft_loans *loans)
{
	atomic_or(WEFT_LOAN_WANTED, &loans->open->flags);
}

/* Asks for a kick at the return of the last loan, if any is out. */
void weft_loan_want_last(struct weft_loans *loans)
{
	if (!list_empty(&loans->out))
		loan_want(list_last_entry(&loans->out, struct weft_loan, entry));
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

/* Returns the loans of a connection, allocated by the first call, or NULL. May sleep. */
struct weft_loans *weft_loans_get(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_loans *loans = tx->loans;

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (loans)
		return loans;
	loans = loan_alloc(tx, sizeof(*loans));
	if (!loans)
		return NULL;
	INIT_LIST_HEAD(&loans->out);
	tx->loans = loans;
	tx->batch.lent = &loans->lent;
	return loans;
}

/* Makes a new loan the open one. Returns NULL without memory. */
static struct weft_loan *loan_new(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_loan *loan = loan_alloc(tx, sizeof(*loan));

	if (!loan)
		return NULL;
	weft_ubuf_init(&loan->ubuf, &loan_ubuf_ops);
	weft_qp_get(qp);
	loan->qp = qp;
	atomic_inc(&loans_out);
	list_add_tail(&loan->entry, &tx->loans->out);
	tx->loans->open = loan;
	return loan;
}

/* Opens a loan for the newest request, or shares the open one. Returns false without memory. */
bool weft_loan_open(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	struct weft_loans *loans = tx->loans;
	struct weft_loan *loan = loans->open;

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (!loan)
		loan = loan_new(tx);
	if (loan)
		loan->inflight = qp->inflight.head - 1;
	return loan;
}

/* Makes the lent bytes that wait the open loan's, if they are its first. */
void weft_loan_own(struct weft_loans *loans)
{
	struct weft_lent *lent = &loans->lent;

	loans->open->used = true;
	if (lent->ubuf)
		return;
	net_zcopy_get(&loans->open->ubuf);
	lent->ubuf = &loans->open->ubuf;
	lent->len = 0;
	lent->joined = 0;
	lent->closed = false;
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

/* Frees the returned loans. Returns true if none is left. */
static bool loan_reap(struct weft_loans *loans, struct weft_counters __percpu *counters)
{
	struct weft_loan *loan, *next;

	list_for_each_entry_safe(loan, next, &loans->out, entry)
		if (loan_returned(loan))
			loan_forget(loans, loan, counters);
	return list_empty(&loans->out);
}

/* Asks for a kick at the return of a loan that is out. Returns false if none is. */
static bool loan_want_one(struct weft_loans *loans)
{
	struct weft_loan *loan;

	list_for_each_entry(loan, &loans->out, entry)
		if (loan_want(loan))
			return true;
	return false;
}

/*
 * Gives TCP some time to deliver lent bytes, before the stream is reset to get the pages back. The
 * destruction of a queue pair does not wait. Returns true if no loan is out, or time is up.
 */
static bool loan_drained(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;

	if (!loan_want_one(tx->loans))
		return true;
	/* An exiting process destroys its queue pairs one by one: the waits would add up. */
	if (READ_ONCE(qp->dying))
		return true;
	if (weft_ending_overdue(&qp->ending))
		return true;
	weft_qp_within(qp, WEFT_DRAIN_TIMEOUT + 1);
	return false;
}

/*
 * Frees the returned loans, and gives up the others. A loan that is given up frees itself at its
 * return, maybe as soon as its flag is set, so nothing reads it after that.
 */
static void loan_give_up(struct weft_tx *tx, struct weft_loans *loans)
{
	struct weft_qp *qp = tx->qp;
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

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (!loans)
		return true;
	/* A message in progress stops here. */
	weft_loan_close(loans);
	if (qp->llp)
		return loan_drained(tx);
	if (time_before(jiffies, qp->ending.drain_until)) {
		if (!loan_reap(loans, qp->dev->counters)) {
			weft_qp_within(qp, qp->ending.drain_until - jiffies + 1);
			return false;
		}
	} else {
		loan_give_up(tx, loans);
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
