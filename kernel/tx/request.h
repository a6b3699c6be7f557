/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests out of the send ring; see request.c. */
#ifndef WEFT_TX_REQUEST_H
#define WEFT_TX_REQUEST_H

#include <linux/types.h>

#include "tx/tx.h"

/* Why a work request cannot be done. */
struct weft_wr_error {
	u8 status;	/* enum ib_wc_status */
	u8 vendor;	/* enum weft_vendor_err */
};

bool weft_tx_check_sges(struct weft_accessor *acc, const struct weft_sge *sge,
			u32 num, int access, u64 *total,
			struct weft_wr_error *why);
bool weft_tx_check_wr(struct weft_tx *tx, const struct weft_sq_wr *wr,
		      struct weft_wr_error *why);
void weft_tx_fail(struct weft_tx *tx, struct weft_request *w,
		  const struct weft_wr_error *why);

/*
 * Copies blocks out of the ring and reads each word once, so that a process cannot change a request
 * after its check. No message uses @copy.
 */
static inline void weft_tx_copy_blocks(union weft_wr_copy *copy,
				       const struct weft_ring *sq, u32 first, u32 num)
{
	u64 *to = copy->words + first * (WEFT_SQ_BLOCK / sizeof(u64));
	u32 b;

	BUILD_BUG_ON(WEFT_SQ_BLOCK != 8 * sizeof(u64));
	for (b = first; b < first + num; b++, to += 8) {
		const u64 *slot = weft_ring_slot(sq, sq->head + b);

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

/* Takes a work request of @blocks out of the ring, and enters it in the in-flight list. */
static inline struct weft_request *
weft_tx_admit(struct weft_inflight *inflight, struct weft_ring *sq,
	      const struct weft_sq_wr *wr, u32 blocks, bool signal_all)
{
	struct weft_request *w = weft_inflight_add(inflight);

	WRITE_ONCE(sq->head, sq->head + blocks); /* the receive side reads it */
	w->wr_id = wr->wr_id;
	w->ring_end = sq->head;
	w->opcode = wr->opcode;
	w->signaled = signal_all || (wr->flags & WEFT_WR_SIGNALED);
	return w;
}

/* Why a queue pair fails: an error of this end, or memory invalidated after its check. */
extern const struct weft_term weft_tx_term_local;
extern const struct weft_term weft_tx_term_revoked;

#endif /* WEFT_TX_REQUEST_H */
