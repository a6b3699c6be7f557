/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests out of the send ring, for the rest of this room; see request.c. */
#ifndef WEFT_TX_REQUEST_H
#define WEFT_TX_REQUEST_H

#include <linux/types.h>

#include "pair/qp.h"

/* Why a work request cannot be done. */
struct weft_wr_error {
	u8 status;	/* enum ib_wc_status */
	u8 vendor;	/* enum weft_vendor_err */
};

bool weft_tx_check_sges(struct weft_qp *qp, const struct weft_sge *sge,
			u32 num, int access, u64 *total,
			struct weft_wr_error *why);
bool weft_tx_check_wr(struct weft_qp *qp, const struct weft_sq_wr *wr,
		      struct weft_wr_error *why);
void weft_tx_fail(struct weft_qp *qp, struct weft_inflight *w,
		  const struct weft_wr_error *why);

/*
 * Copies blocks out of the ring, each word read once: what is checked
 * afterwards is what is used. No message is being laid out.
 */
static inline void weft_tx_copy_blocks(struct weft_qp *qp, u32 first, u32 num)
{
	u64 *to = qp->tx.msg.copy.words + first * (WEFT_SQ_BLOCK / sizeof(u64));
	u32 b;

	weft_qp_assert_locked(qp);
	BUILD_BUG_ON(WEFT_SQ_BLOCK != 8 * sizeof(u64));
	for (b = first; b < first + num; b++, to += 8) {
		const u64 *slot = weft_ring_slot(&qp->sq, qp->sq.head + b);

		to[0] = READ_ONCE(slot[0]);
		to[1] = READ_ONCE(slot[1]);
		to[2] = READ_ONCE(slot[2]);
		to[3] = READ_ONCE(slot[3]);
		to[4] = READ_ONCE(slot[4]);
		to[5] = READ_ONCE(slot[5]);
		to[6] = READ_ONCE(slot[6]);
		to[7] = READ_ONCE(slot[7]);
	}
}

/* Enters a work request in the in-flight list. */
static inline struct weft_inflight *
weft_tx_admit(struct weft_qp *qp, const struct weft_sq_wr *wr, u32 blocks)
{
	struct weft_inflight *w = weft_tx_inflight(&qp->tx, qp->tx.head++);

	weft_qp_assert_locked(qp);
	qp->sq.head += blocks;
	w->wr_id = wr->wr_id;
	w->end = U64_MAX;
	w->ring_end = qp->sq.head;
	w->byte_len = 0;
	w->vendor = WEFT_VE_NONE;
	w->opcode = wr->opcode;
	w->status = IB_WC_SUCCESS;
	w->signaled = qp->sq_sig_all || (wr->flags & WEFT_WR_SIGNALED);
	w->done = false;
	return w;
}

/* Why a queue pair fails: for its own mistake, and for memory that went away. */
extern const struct weft_term weft_tx_term_local;
extern const struct weft_term weft_tx_term_revoked;

#endif /* WEFT_TX_REQUEST_H */
