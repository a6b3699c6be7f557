/* SPDX-License-Identifier: GPL-2.0 */
/* The transmit side's functions; pair/tx.h has its structure. */
#ifndef WEFT_TX_H
#define WEFT_TX_H

#include "pair/tx.h"
#include "wire/plan.h"

struct weft_accessor;
struct weft_inflight;
struct weft_qp;

/*
 * Plans the next FPDU: in the @room bytes left of its segment, or in further whole segments as well
 * if @max_fpdu is longer. Returns false if the segment must be ended first.
 */
static inline bool weft_tx_plan(const struct weft_tx *tx, u32 max_fpdu, u32 room,
				struct weft_fpdu *fpdu)
{
	if (unlikely(tx->marked))
		return weft_plan_marked(tx->batch.emss, tx->batch.laid_out, room,
					tx->msg.hdr.tagged, tx->msg.left, fpdu);
	return weft_plan_fpdu(tx->batch.emss, max_fpdu, room, tx->msg.hdr.tagged,
			      tx->msg.left, fpdu);
}

/* message.c, request.c, flush.c: from work requests to messages */
bool weft_tx_next_msg(struct weft_qp *qp);
void weft_tx_gather_failed(struct weft_qp *qp);
void weft_tx_flush_requests(struct weft_qp *qp);

/* segment.c: from messages to FPDUs */
bool weft_tx_layout(struct weft_qp *qp, struct weft_chunk *c, u32 train,
		    struct weft_fpdu *fpdu);
void weft_tx_advance(struct weft_tx *tx, struct weft_inflight *inflight,
		     const struct weft_accessor *acc, const struct weft_fpdu *fpdu);

/* Returns true if a work request is done at this end alone. */
static inline bool weft_tx_is_local(u8 opcode)
{
	return opcode == WEFT_OP_LOCAL_INV || opcode == WEFT_OP_BIND_MW ||
	       opcode == WEFT_OP_REG_MR;
}

/* local.c */
bool weft_tx_do_local(struct weft_accessor *acc, const struct weft_sq_wr *wr);

/* tx.c */
int weft_tx_init(struct weft_qp *qp);
void weft_tx_destroy(struct weft_qp *qp);
int weft_tx_start(struct weft_qp *qp);
bool weft_tx_round(struct weft_qp *qp);
void weft_tx_stop(struct weft_qp *qp);
void weft_tx_writable(struct weft_qp *qp);
void weft_tx_complete(struct weft_qp *qp);

#endif /* WEFT_TX_H */
