// SPDX-License-Identifier: GPL-2.0
/*
 * From messages to FPDUs.
 *
 * Everything here runs in process context with tx_lock held. Without the socket lock the queue pair
 * receives meanwhile. While a region is in use nothing sleeps, because the receive side in softirq
 * may need the same region.
 */
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "base/trace.h"
#include "memory/mr.h"
#include "tx/batch.h"
#include "tx/tx.h"
#include "wire/fpdu.h"

/*
 * Copies the next @len bytes of the message to @to. *@mr is the region of its current SGE, or NULL.
 * Returns false if the memory was invalidated or deregistered. Inline, because the copy is most of
 * the cost of a short message here.
 */
static __always_inline bool tx_copy_payload(struct weft_tx_msg *msg, struct weft_accessor *acc,
					    u8 *to, u32 len, struct weft_mr **mr)
{
	int access = msg->remote_access ? IB_ACCESS_REMOTE_READ : 0;
	enum weft_key_error err;
	u64 from;
	u32 n;

	if (msg->local) {
		memcpy(to, msg->copy.bytes + msg->offset, len);
		msg->offset += len;
		return true;
	}
	while (len) {
		const struct weft_sge *sge = &msg->copy.sge[msg->sge_index];

		n = min(len, sge->length - msg->offset);
		if (!n) {
			/* A kernel consumer has an SGE for each page, all in one region. */
			if (*mr && (!(*mr)->all_memory || sge[1].lkey != sge->lkey)) {
				weft_mr_access_end(*mr);
				*mr = NULL;
			}
			msg->sge_index++;
			msg->offset = 0;
			continue;
		}
		from = sge->addr + msg->offset;
		if (!*mr) {
			/* Check the rest of the SGE, so that the next FPDUs need no check. */
			*mr = weft_mr_access(acc, acc->pd, sge->lkey, from,
					     sge->length - msg->offset, access, &err);
			if (!*mr)
				return false;
		}
		msg->offset += n;
		len -= n;
		weft_mr_read(*mr, from, to, n);
		to += n;
	}
	return true;
}

/*
 * Advances the message and the stream past an FPDU. With its last one a message ends: Immediate
 * Data follows, or its work request, the newest of @inflight, ends here. In line in this file.
 */
__always_inline void weft_tx_advance(struct weft_tx *tx, struct weft_inflight *inflight,
				     const struct weft_accessor *acc, const struct weft_fpdu *fpdu)
{
	struct weft_tx_msg *msg = &tx->msg;

	lockdep_assert_held(&tx->qp->tx_lock.mutex);
	trace_weft_tx_fpdu(acc, &msg->hdr, fpdu->payload);
	msg->left -= fpdu->payload;
	if (msg->hdr.tagged)
		msg->hdr.to += fpdu->payload;
	else
		msg->hdr.mo += fpdu->payload;
	tx->fpdus++;
	weft_batch_advance(&tx->batch, fpdu->len);
	if (!fpdu->last)
		return;
	if (msg->kind != WEFT_MSG_REQUEST || !msg->imm_opcode) {
		if (msg->kind == WEFT_MSG_REQUEST)
			weft_inflight_at(inflight, inflight->head - 1)->end = tx->batch.laid_out;
		msg->kind = WEFT_MSG_NONE;
		return;
	}
	memset(&msg->hdr, 0, sizeof(msg->hdr));
	msg->hdr.opcode = msg->imm_opcode;
	msg->hdr.qn = WEFT_QN_SEND;
	msg->hdr.msn = ++tx->send_msn;
	memcpy(msg->copy.bytes, &msg->imm, sizeof(msg->imm));
	memset(msg->copy.bytes + sizeof(msg->imm), 0, WEFT_IMM_LEN - sizeof(msg->imm));
	msg->imm_opcode = 0;
	msg->local = true;
	msg->offset = 0;
	msg->total = WEFT_IMM_LEN;
	msg->left = WEFT_IMM_LEN;
}

/*
 * The header of a message's segments. All of @bytes is copied, because a fixed length is faster:
 * the payload or CRC overwrites the bytes past @len.
 */
struct weft_tx_head {
	u32 len;
	u8 bytes[WEFT_DDP_MAX_LEN];
};

/*
 * Plans the next FPDU: in the @room bytes left of its segment, or in further whole segments as well
 * if @max_fpdu is longer. Returns false if the segment must be ended first.
 */
static inline bool tx_plan(const struct weft_tx *tx, u32 max_fpdu, u32 room,
			   struct weft_fpdu *fpdu)
{
	if (unlikely(tx->marked))
		return weft_plan_marked(tx->batch.emss, tx->batch.laid_out, room,
					tx->msg.hdr.tagged, tx->msg.left, fpdu);
	return weft_plan_fpdu(tx->batch.emss, max_fpdu, room, tx->msg.hdr.tagged,
			      tx->msg.left, fpdu);
}

/* Returns true if the next FPDU fills a segment as @fpdu did. Markers would make them differ. */
static bool tx_repeats(const struct weft_tx *tx, const struct weft_fpdu *fpdu)
{
	const struct weft_batch *batch = &tx->batch;

	return fpdu->len == batch->emss && batch->room == batch->emss &&
	       fpdu->payload < tx->msg.left && !tx->marked;
}

/*
 * Lays out a row: FPDUs that differ from @fpdu only in their offset, as many as fit in @room bytes
 * at @to and in the current SGE. The last FPDU of a message is not in a row, because its header
 * differs. Returns how many.
 */
static noinline u32 tx_layout_row(struct weft_tx *tx, struct weft_tx_head *head,
				  const struct weft_fpdu *fpdu, u8 *to,
				  u32 room, const struct weft_mr *mr)
{
	struct weft_tx_msg *msg = &tx->msg;
	const struct weft_sge *sge = &msg->copy.sge[msg->sge_index];
	u32 payload = fpdu->payload, hdr_len = head->len, len = hdr_len + payload;
	bool tagged = msg->hdr.tagged, crc = tx->crc;
	u64 at = tagged ? msg->hdr.to : msg->hdr.mo;
	u64 from = sge->addr + msg->offset;
	u8 *segment;
	u32 fpdus, i;

	if (!mr || !payload || trace_weft_tx_fpdu_enabled())
		return 0;
	fpdus = min3(room / fpdu->len, (msg->left - 1) / payload,
		     (sge->length - msg->offset) / payload);
	for (i = 0; i < fpdus; i++) {
		segment = weft_fpdu_begin(to, len);
		memcpy(segment, head->bytes, sizeof(head->bytes));
		weft_ddp_encode_offset(segment, tagged, at);
		weft_mr_read(mr, from, segment + hdr_len, payload);
		to += weft_fpdu_end(to, len, crc);
		at += payload;
		from += payload;
	}
	if (tagged)
		msg->hdr.to = at;
	else
		msg->hdr.mo = at;
	msg->offset += fpdus * payload;
	msg->left -= fpdus * payload;
	tx->batch.laid_out += fpdus * fpdu->len;
	tx->fpdus += fpdus;
	return fpdus;
}

/**
 * weft_tx_layout() - lay out FPDUs of the current message
 * @tx: the transmit side
 * @c: the chunk for them
 * @train: the largest FPDU; 0: a segment
 *
 * A copied FPDU is as long as the chunk allows: it need not be large, nor fill its segment, in
 * which another may follow. Ends with the message, when a segment must be ended, or when the chunk
 * is full. If the payload's memory was invalidated or deregistered, the queue pair fails, and the
 * FPDUs before it are laid out. Keeps the payload's region from one FPDU to the next, which spares
 * checks, so this does not sleep meanwhile. Of the state that both directions share, writes only
 * the request's end, which tx_lock protects.
 *
 * Return: false if the current segment must be ended first, and nothing is laid out.
 */
bool weft_tx_layout(struct weft_tx *tx, struct weft_chunk *c, u32 train)
{
	struct weft_qp *qp = tx->qp;
	u8 *to = page_address(c->page) + c->fill;
	u32 room = c->size - c->fill;
	struct weft_mr *mr = NULL;
	struct weft_tx_head head = {};
	struct weft_fpdu fpdu;
	u32 fpdus, len;
	u8 *segment;
	bool good;

	lockdep_assert_held(&qp->tx_lock.mutex);
	if (!tx_plan(tx, min(train, room), min(tx->batch.room, room), &fpdu))
		return false;
	good = !WARN_ON_ONCE(fpdu.len > room);
	tx->msg.hdr.last = fpdu.last;
	head.len = weft_ddp_encode(head.bytes, &tx->msg.hdr);
	while (good) {
		len = head.len + fpdu.payload;
		segment = unlikely(tx->marked) ?
			  weft_fpdu_begin_marked(to, len, tx->batch.laid_out) :
			  weft_fpdu_begin(to, len);
		memcpy(segment, head.bytes, sizeof(head.bytes));
		good = tx_copy_payload(&tx->msg, &qp->acc, segment + head.len, fpdu.payload, &mr);
		if (!good)
			break;
		if (unlikely(tx->marked))
			weft_fpdu_end_marked(to, len, tx->batch.laid_out, tx->crc);
		else
			weft_fpdu_end(to, len, tx->crc);
		to += fpdu.len;
		room -= fpdu.len;
		weft_tx_advance(tx, &qp->inflight, &qp->acc, &fpdu);
		if (fpdu.last)
			break;
		if (tx_repeats(tx, &fpdu)) {
			fpdus = tx_layout_row(tx, &head, &fpdu, to, room, mr);
			to += fpdus * fpdu.len;
			room -= fpdus * fpdu.len;
		}
		if (!tx_repeats(tx, &fpdu) &&
		    !tx_plan(tx, min(train, room), tx->batch.room, &fpdu))
			break;
		if (fpdu.len > room)
			break;
		tx->msg.hdr.last = fpdu.last;
		weft_ddp_encode_place(head.bytes, &tx->msg.hdr);
	}
	if (mr)
		weft_mr_access_end(mr);
	c->fill = c->size - room;
	if (!good)
		weft_tx_payload_failed(tx);
	return true;
}
