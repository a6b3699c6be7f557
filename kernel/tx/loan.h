/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loans: payload that TCP sends from the pages of a program or a kernel consumer.
 *
 * Header and trailer of a lent FPDU lie in a chunk, everything between them in the
 * pages of memory regions. A small copied FPDU behind it goes with the loan. The work
 * request completes when the stream has taken its last byte and the last packet buffer with
 * its pages is gone, since TCP may send them again until then. A packet buffer refers to one
 * loan only, so an unsignaled request shares the loan of the request behind it.
 *
 * A loan holds references on the pages, not on the region: a process may
 * change, deregister or unmap them meanwhile, or end. If it does so before the work request
 * completes, it changes the payload that the peer gets, and nothing else. With a CRC the
 * peer would then find another one than was computed, and end the connection, where a
 * copy would have lived. So payload with a CRC is lent only if the operator chose that
 * (WEFT_LEND_ALL). Whoever waits for the completion, as verbs want it, loses nothing.
 *
 * Of FPDUs of one segment each, a packet buffer of lent pages would hold seven only: these are
 * never lent.
 *
 * Where the kernel copies lent pages on the way, as it does with all packets that stay on
 * the machine, a loan costs more than copying once. So a connection that has sent enough
 * lends one FPDU as a trial. If it comes back uncopied, more are lent; if it was copied,
 * it was the connection's last loan.
 */
#ifndef WEFT_TX_LOAN_H
#define WEFT_TX_LOAN_H

#include <linux/list.h>
#include <linux/types.h>

#include "base/policy.h"
#include "pair/batch.h"

struct weft_counters;
struct weft_fpdu;
struct weft_loan;
struct weft_qp;

/* Bytes of a chunk that an FPDU takes: length, header, padding and CRC. */
#define WEFT_LOAN_FRAME		32U
/*
 * How long to wait for pages after the stream was reset. Only a card that does not report
 * its sent packets keeps them longer, such as one that is unplugged. The end of the queue
 * pair waits that long, and the loans are then given up.
 */
#define WEFT_LOAN_TIMEOUT	(10 * HZ)

enum weft_loan_mode {
	WEFT_LOAN_NEW,		/* nothing was lent yet */
	WEFT_LOAN_TRYING,	/* the first has not come back */
	WEFT_LOAN_YES,		/* the first came back uncopied */
	WEFT_LOAN_NO,		/* one was copied */
};

/**
 * struct weft_loans - the loans of a connection
 * @mode: enum weft_loan_mode
 * @out: oldest first, until the work requests are done
 * @open: the loan to which more may be added, a reference; or NULL
 * @lent: the bytes that wait to be sent; part of the batch
 *
 * Allocated for the first loan. Protected as struct weft_tx.
 */
struct weft_loans {
	u8 mode;
	struct list_head out;
	struct weft_loan *open;
	struct weft_lent lent;
};

/* lend.c: what is lent, and laid out */
bool weft_loan_begin(struct weft_qp *qp, u32 len);
u32 weft_loan_layout(struct weft_qp *qp, struct weft_fpdu *fpdu, struct page *page,
		     u32 offset);

/* loan.c: a loan's life. Up to weft_loan_is_out() for lend.c alone */
struct weft_loans *weft_loans_get(struct weft_qp *qp);
bool weft_loan_open(struct weft_qp *qp);
void weft_loan_own(struct weft_loans *loans);
void weft_loan_want_open(struct weft_loans *loans);
void weft_loan_want_last(struct weft_loans *loans);
void weft_loan_close(struct weft_loans *loans);
bool weft_loan_is_out(struct weft_loans *loans, u32 inflight,
		      struct weft_counters __percpu *counters);
bool weft_loan_settled(struct weft_qp *qp);
void weft_loan_exit(void);

#endif /* WEFT_TX_LOAN_H */
