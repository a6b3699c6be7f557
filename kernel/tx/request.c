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
 * Copies blocks out of the ring and reads each word once, so that a process cannot change a request
 * after its check. No message uses tx->msg.copy.
 */
inline void weft_tx_copy_blocks(struct weft_tx *tx, u32 first, u32 num)
{
	u64 *to = tx->msg.copy.words + first * (WEFT_SQ_BLOCK / sizeof(u64));
	struct weft_qp *qp = tx->qp;
	u32 b;

	lockdep_assert_held(&qp->tx_lock.mutex);
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

/* Takes the copied work request out of the ring, and enters it in the in-flight list. */
inline struct weft_request *weft_tx_admit(struct weft_tx *tx, u32 blocks)
{
	const struct weft_sq_wr *wr = &tx->msg.copy.wr;
	struct weft_qp *qp = tx->qp;
	struct weft_request *w = weft_inflight_add(&qp->inflight);

	lockdep_assert_held(&qp->tx_lock.mutex);
	WRITE_ONCE(qp->sq.head, qp->sq.head + blocks); /* the receive side reads it */
	w->wr_id = wr->wr_id;
	w->ring_end = qp->sq.head;
	w->opcode = wr->opcode;
	w->signaled = qp->sq_sig_all || (wr->flags & WEFT_WR_SIGNALED);
	return w;
}

/*
 * Checks the gather or scatter list of the copied request, and adds up its length. Returns false,
 * with *@why, if the list names memory that the queue pair may not use in this way, or is too long
 * for a message.
 */
static bool tx_check_sges(struct weft_tx *tx, int access, u64 *total, struct weft_wr_error *why)
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
static bool tx_check_wr(struct weft_tx *tx, const struct weft_sq_wr *wr, struct weft_wr_error *why)
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
		blocks = weft_sq_blocks_for_sge(wr->num_sge);
		if (wr->num_sge > qp->cap.max_send_sge || wr->inline_len ||
		    (wr->num_sge && weft_op_local(wr->opcode)))
			return false;
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

/*
 * Takes the next work request from the send ring, checked, with a copy in tx->msg; *@total is the
 * length of its payload. Returns NULL if there is none, it failed, or it waits (fence, ORD, list
 * full).
 */
struct weft_request *weft_tx_take_request(struct weft_tx *tx, u64 *total)
{
	const struct weft_sq_wr *wr = &tx->msg.copy.wr;
	struct weft_qp *qp = tx->qp;
	struct weft_inflight *inflight = &qp->inflight;
	struct weft_wr_error why;
	struct weft_request *w;
	int pending;
	bool fence, good;
	u32 blocks;

	lockdep_assert_held(&qp->tx_lock.mutex);
	pending = weft_ring_pending(&qp->sq);
	tx->waiting = pending;
	/* Pairs with weft_inflight_complete(): slots that it has left may be filled. */
	if (!pending || inflight->head - smp_load_acquire(&inflight->tail) == inflight->size ||
	    weft_qp_state(qp) != IB_QPS_RTS)
		return NULL;
	if (pending < 0) {
		/* The producer index is wrong: there is no work request to blame. */
		weft_qp_fail(qp, &weft_tx_term_local, IB_EVENT_QP_FATAL);
		return NULL;
	}

	weft_tx_copy_blocks(tx, 0, 1);
	blocks = wr->num_blocks;
	if (!blocks || blocks > WEFT_SQ_MAX_BLOCKS || blocks > pending) {
		why.status = IB_WC_LOC_QP_OP_ERR;
		why.vendor = WEFT_VE_BLOCKS;
		w = weft_tx_admit(tx, 1);
		weft_tx_fail(tx, w, &why);
		return NULL;
	}
	fence = wr->flags & WEFT_WR_FENCE;
	if ((fence || weft_op_answered(wr->opcode)) && weft_reads_outstanding(&qp->reads) &&
	    (fence || weft_reads_full(&qp->reads)))
		return NULL;
	weft_tx_copy_blocks(tx, 1, blocks - 1);

	w = weft_tx_admit(tx, blocks);
	good = tx_check_wr(tx, wr, &why);
	*total = wr->inline_len; /* 0 unless the payload is in line */
	if (good && !weft_op_local(wr->opcode) && !(wr->flags & WEFT_WR_INLINE))
		good = tx_check_sges(tx, weft_op_answered(wr->opcode) ? IB_ACCESS_LOCAL_WRITE : 0,
				     total, &why);
	if (good)
		return w;
	weft_tx_fail(tx, w, &why);
	return NULL;
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
void weft_tx_payload_failed(struct weft_tx *tx)
{
	struct weft_qp *qp = tx->qp;
	static const struct weft_wr_error lkey = {
		IB_WC_LOC_PROT_ERR, WEFT_VE_LKEY
	};

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (tx->msg.kind == WEFT_MSG_REQUEST) {
		weft_tx_fail(tx, weft_inflight_at(&qp->inflight, qp->inflight.head - 1), &lkey);
		return;
	}
	tx->msg.kind = WEFT_MSG_NONE;
	weft_qp_fail(qp, &weft_tx_term_revoked, IB_EVENT_QP_ACCESS_ERR);
}
