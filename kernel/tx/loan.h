/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loans: payload that TCP sends from the pages of a program or a kernel consumer. TCP may
 * retransmit the pages, so the work request completes when the stream has taken its last byte and
 * the last packet buffer with its pages is gone.
 *
 * A loan holds references on the pages, not on the region. A process that changes, deregisters or
 * unmaps the pages before the completion changes the payload that the peer gets, and nothing else.
 */
#ifndef WEFT_TX_LOAN_H
#define WEFT_TX_LOAN_H

#include <linux/list.h>
#include <linux/types.h>

#include "base/policy.h"
#include "tx/batch.h"

struct weft_counters;
struct weft_fpdu;
struct weft_loan;
struct weft_tx;

/* Bytes of a chunk that a lent FPDU takes: length, header, padding and CRC. */
#define WEFT_LOAN_FRAME		32U
/*
 * How long the end of a queue pair waits for pages after the stream was reset; then it gives the
 * loans up. Only a card that does not report its sent packets, such as an unplugged one, keeps
 * pages longer.
 */
#define WEFT_LOAN_TIMEOUT	(10 * HZ)

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

/* lend.c: the decision to lend, and the layout */
bool weft_loan_begin(struct weft_tx *tx, u32 len);
u32 weft_loan_layout(struct weft_tx *tx, struct weft_fpdu *fpdu, struct page *page,
		     u32 offset);

/* loan.c: a loan's life. The functions before weft_loan_is_out() are for lend.c */
struct weft_loans *weft_loans_get(struct weft_tx *tx);
bool weft_loan_open(struct weft_tx *tx);
void weft_loan_own(struct weft_loans *loans);
void weft_loan_want_open(struct weft_loans *loans);
void weft_loan_want_last(struct weft_loans *loans);
void weft_loan_close(struct weft_loans *loans);
bool weft_loan_is_out(struct weft_loans *loans, u32 inflight,
		      struct weft_counters __percpu *counters);
bool weft_loan_settled(struct weft_tx *tx);
void weft_loan_exit(void);

#endif /* WEFT_TX_LOAN_H */
