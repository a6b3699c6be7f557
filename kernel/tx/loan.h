/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lending: payload that TCP sends from where it lies, in the program's own pages.
 *
 * Header and trailer of a lent FPDU lie in a chunk, everything between them in the
 * pages of user memory regions. The work request completes when the stream has taken
 * its last byte and the last packet buffer with its pages is gone, since TCP may
 * send them again until then. A packet buffer gives back one loan only, so requests
 * for whose completion nobody asked are one loan with what follows them.
 *
 * What holds the pages is their own reference counts, not the region: a process may
 * change them, deregister or unmap them meanwhile, or end. Where that is before the
 * work request completes, it changes the payload that the peer gets, and nothing else.
 *
 * What is sent with a CRC is never lent: the peer is to get what was checksummed.
 * Neither is what a peer reads, whose memory may lawfully go away and be something
 * else when it is sent again, nor what is sent in frames of a segment, of which a
 * packet buffer would hold seven.
 *
 * Where the kernel copies lent pages on the way, as everywhere that packets do not
 * leave the machine, lending is dearer than copying once. So a connection that has
 * sent enough tries it with one FPDU and goes on when that was given back uncopied;
 * one that was copied is the connection's last.
 */
#ifndef WEFT_TX_LOAN_H
#define WEFT_TX_LOAN_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/types.h>

struct weft_counters;
struct weft_fpdu;
struct weft_inflight;
struct weft_loan;
struct weft_llp;
struct weft_qp;
struct weft_tx;

/* Less payload is copied: to keep books on it costs more. */
#define WEFT_LOAN_LEAST		(32U << 10)
/* What a connection sends before it tries: short ones shall not pay for it. */
#define WEFT_LOAN_AFTER		(256U << 10)
/* Runs of bytes handed over at once, and what an FPDU of 64 KiB in single pages takes. */
#define WEFT_LOAN_RUNS		64
#define WEFT_LOAN_FPDU_RUNS	20
/* Bytes of a chunk that an FPDU takes: length, header, padding and CRC. */
#define WEFT_LOAN_FRAME		32U
/*
 * How long pages may stay out when the stream was reset. Only a card that does
 * not say what it has sent keeps them longer, one that is taken away above all:
 * it is waited for by whoever waits for the queue pair.
 */
#define WEFT_LOAN_TIMEOUT	(10 * HZ)

enum weft_loan_mode {
	WEFT_LOAN_NEW,		/* nothing was lent yet */
	WEFT_LOAN_TRYING,	/* the first has not come back */
	WEFT_LOAN_YES,
	WEFT_LOAN_NO,		/* one was copied */
};

/**
 * struct weft_loans - the lending of a connection
 * @mode: enum weft_loan_mode
 * @out: what was lent, oldest first, until its work request is done
 * @open: the loan that goes on; or NULL
 * @last: it does not go on behind @bv
 * @bv: what is being sent, a reference on each page
 * @num: how many of @bv; 0: nothing is being sent
 * @len: its bytes
 * @taken: how many of these the stream has taken
 *
 * Made when the first is lent. Protected as struct weft_tx.
 */
struct weft_loans {
	u8 mode;
	struct list_head out;
	struct weft_loan *open;
	bool last;
	struct bio_vec bv[WEFT_LOAN_RUNS];
	u32 num;
	u32 len;
	u32 taken;
};

bool weft_loan_waits(const struct weft_tx *tx);
bool weft_loan_is_full(const struct weft_tx *tx);
bool weft_loan_may(struct weft_qp *qp);
u32 weft_loan_layout(struct weft_qp *qp, struct weft_fpdu *fpdu, struct page *page,
		     u32 offset);
int weft_loan_push(struct weft_tx *tx, struct weft_llp *llp);
void weft_loan_skip(struct weft_loans *loans, const struct weft_inflight *inflight);
bool weft_loan_is_out(struct weft_loans *loans, u32 inflight,
		      struct weft_counters __percpu *counters);
bool weft_loan_drained(struct weft_qp *qp);
bool weft_loan_settled(struct weft_qp *qp);
void weft_loan_stop(struct weft_loans *loans);
void weft_loan_destroy(struct weft_loans *loans);
void weft_loan_exit(void);

#endif /* WEFT_TX_LOAN_H */
