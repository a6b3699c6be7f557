// SPDX-License-Identifier: GPL-2.0
/*
 * Work requests: copied out of the send ring, checked, entered in the in-flight list, and failed.
 *
 * Everything here runs in process context with tx_lock held, with or without the socket lock.
 */
#include <linux/lockdep.h>
#include <linux/minmax.h>

#include "base/weft.h"
#include "memory/mr.h"
#include "tx/tx.h"

const struct weft_term weft_tx_term_local = {
	WEFT_TERM_RDMAP, WEFT_RDMAP_LOCAL, 0
};

const struct weft_term weft_tx_term_revoked = {
	WEFT_TERM_RDMAP, WEFT_RDMAP_PROTECTION, WEFT_RP_STAG
};

/*
 * Checks the gather or scatter list of the copied request, and adds up its length. Returns false,
 * with *@why, if the list names memory that the queue pair may not use in this way, or is too long
 * for a message.
 */
bool weft_tx_check_sges(struct weft_tx *tx, int access, u64 *total, struct weft_wr_error *why)
{
	const struct weft_sge *sge = tx->msg.copy.sge;
	u32 num = tx->msg.copy.wr.num_sge;
	struct weft_qp *qp = tx->qp;
	struct weft_access held = {};
	enum weft_key_error err;
	u32 i;

	lockdep_assert_held(&qp->tx_lock.mutex);
	*total = 0;
	for (i = 0; i < num; i++) {
		if (!sge[i].length)
			continue;
		err = weft_access_go_on(&held, &qp->acc, qp->acc.pd, sge[i].lkey, sge[i].addr,
					sge[i].length, access);
		if (err) {
			why->status = IB_WC_LOC_PROT_ERR;
			why->vendor = err == WEFT_KEY_ACCESS ? WEFT_VE_LOCAL_ACCESS :
				      err == WEFT_KEY_BOUNDS || err == WEFT_KEY_WRAP ?
				      WEFT_VE_LOCAL_BOUNDS : WEFT_VE_LKEY;
			return false;
		}
		*total += sge[i].length;
	}
	weft_access_end(&held);
	if (*total > WEFT_MAX_MSG) {
		why->status = IB_WC_LOC_LEN_ERR;
		why->vendor = WEFT_VE_LENGTH;
		return false;
	}
	return true;
}

/* Returns true if the queue pair may do this operation, inline if the request says so. */
static bool op_allowed(const struct weft_tx *tx, const struct weft_sq_wr *wr)
{
	struct weft_qp *qp = tx->qp;
	bool in_ring = wr->flags & WEFT_WR_INLINE;

	switch (wr->opcode) {
	case WEFT_OP_SEND:
	case WEFT_OP_SEND_INV:
	case WEFT_OP_WRITE:
		return true;
	case WEFT_OP_SEND_IMM:
	case WEFT_OP_WRITE_IMM:
		return qp->agreed.extended;
	case WEFT_OP_CMP_SWP:
	case WEFT_OP_FETCH_ADD:
		return qp->agreed.extended && qp->reads.ord && !in_ring;
	case WEFT_OP_READ:
		return qp->reads.ord && !in_ring;
	case WEFT_OP_READ_INV:
		return qp->reads.ord && !in_ring && !qp->owner;
	case WEFT_OP_LOCAL_INV:
	case WEFT_OP_BIND_MW:
		return !in_ring;
	case WEFT_OP_REG_MR:
		return !in_ring && !qp->owner;
	default:
		return false;
	}
}

#define WEFT_WR_FLAGS	(WEFT_WR_SIGNALED | WEFT_WR_SOLICITED | WEFT_WR_FENCE | \
			 WEFT_WR_INLINE)

/* Returns false, with *@why, if flags, operation or blocks of a copied request are wrong. */
bool weft_tx_check_wr(struct weft_tx *tx, const struct weft_sq_wr *wr,
		      struct weft_wr_error *why)
{
	struct weft_qp *qp = tx->qp;
	u32 blocks;

	lockdep_assert_held(&qp->tx_lock.mutex);
	why->status = IB_WC_LOC_QP_OP_ERR;
	why->vendor = WEFT_VE_OPCODE;
	/* Unknown flags are refused, so that they can be given a meaning later. */
	if (wr->flags & ~WEFT_WR_FLAGS)
		return false;
	if (!op_allowed(tx, wr)) {
		if (wr->opcode >= WEFT_OP_SEND_IMM && wr->opcode <= WEFT_OP_FETCH_ADD &&
		    !qp->agreed.extended)
			why->vendor = WEFT_VE_PEER;
		return false;
	}
	why->vendor = WEFT_VE_BLOCKS;
	if (wr->flags & WEFT_WR_INLINE) {
		if (wr->inline_len > qp->cap.max_inline_data || wr->num_sge)
			return false;
		blocks = weft_sq_blocks_for_inline(wr->inline_len);
	} else {
		if (wr->num_sge > qp->cap.max_send_sge || wr->inline_len ||
		    (wr->num_sge && weft_tx_is_local(wr->opcode)))
			return false;
		blocks = weft_sq_blocks_for_sge(wr->num_sge);
	}
	if (wr->num_blocks != blocks)
		return false;
	if (wr->opcode < WEFT_OP_CMP_SWP || wr->opcode > WEFT_OP_FETCH_ADD)
		return true;
	why->vendor = WEFT_VE_ATOMIC;
	if (wr->num_sge != 1 || wr->sge[0].length != WEFT_ATOMIC_LEN) {
		why->status = IB_WC_LOC_LEN_ERR;
		return false;
	}
	return !(wr->remote_addr & (WEFT_ATOMIC_LEN - 1));
}

/* Fails a work request that cannot be done, and the queue pair with it. */
void weft_tx_fail(struct weft_tx *tx, struct weft_request *w,
		  const struct weft_wr_error *why)
{
	struct weft_qp *qp = tx->qp;

	lockdep_assert_held(&qp->tx_lock.mutex);
	weft_request_fail(w, why->status, why->vendor);
	tx->msg.kind = WEFT_MSG_NONE;
	weft_qp_fail(qp, &weft_tx_term_local, -1);
}

/* Fails the queue pair: its message's memory was invalidated or deregistered after the check. */
void weft_tx_gather_failed(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	static const struct weft_wr_error lkey = {
		IB_WC_LOC_PROT_ERR, WEFT_VE_LKEY
	};

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (tx->msg.kind == WEFT_MSG_REQUEST) {
		weft_tx_fail(tx, weft_inflight_last(&qp->inflight), &lkey);
		return;
	}
	tx->msg.kind = WEFT_MSG_NONE;
	weft_qp_fail(qp, &weft_tx_term_revoked, IB_EVENT_QP_ACCESS_ERR);
}
