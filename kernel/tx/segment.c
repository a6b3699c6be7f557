// SPDX-License-Identifier: GPL-2.0
/*
 * From messages to FPDUs.
 *
 * Everything here runs in process context with the socket lock held. It does not
 * sleep while a region is held, which softirq may ask for too.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "base/copy.h"
#include "base/trace.h"
#include "llp/llp.h"
#include "memory/mr.h"
#include "pair/qp.h"
#include "tx/tx.h"
#include "wire/bytes.h"
#include "wire/crc.h"

/* Fetches the next @len bytes of the message; @mr as in weft_tx_layout(). */
static bool tx_gather(struct weft_tx_msg *msg, struct weft_accessor *acc,
		      u8 *to, u32 len, struct weft_mr **mr)
{
	int access = msg->remote_access ? IB_ACCESS_REMOTE_READ : 0;
	enum weft_key_error err;
	u64 from;
	u32 n;

	if (msg->local) {
		weft_copy(to, msg->copy.bytes + msg->offset, len);
		msg->offset += len;
		return true;
	}
	while (len) {
		const struct weft_sge *sge = &msg->copy.sge[msg->sge_index];

		n = min(len, sge->length - msg->offset);
		if (!n) {
			if (*mr)
				weft_mr_access_end(*mr);
			*mr = NULL;
			msg->sge_index++;
			msg->offset = 0;
			continue;
		}
		from = sge->addr + msg->offset;
		if (!*mr) {
			/* For all that is left of it, as long as it is held. */
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

/* Goes on with the Immediate Data message that follows a WRITE. */
static void tx_begin_imm(struct weft_tx *tx)
{
	struct weft_tx_msg *msg = &tx->msg;

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

/* The message is laid out: what comes next, and when is its work request done? */
static void tx_end_msg(struct weft_tx *tx, struct weft_inflight *inflight)
{
	struct weft_tx_msg *msg = &tx->msg;

	if (msg->kind == WEFT_MSG_REQUEST) {
		if (msg->imm_opcode) {
			tx_begin_imm(tx);
			return;
		}
		weft_inflight_last(inflight)->end = tx->laid_out;
	}
	msg->kind = WEFT_MSG_NONE;
}

/* Goes on behind an FPDU of the message. */
static void tx_step(struct weft_tx *tx, const struct weft_accessor *acc,
		    const struct weft_fpdu *fpdu)
{
	struct weft_tx_msg *msg = &tx->msg;

	trace_weft_tx_fpdu(acc, &msg->hdr, fpdu->payload);
	tx->laid_out += fpdu->len;
	msg->left -= fpdu->payload;
	if (msg->hdr.tagged)
		msg->hdr.to += fpdu->payload;
	else
		msg->hdr.mo += fpdu->payload;
	tx->fpdus++;
	if (fpdu->len < tx->room)
		tx->room -= fpdu->len;
	else if (fpdu->len == tx->room)
		tx->room = tx->emss;
	else
		tx->room = tx->emss - (fpdu->len - tx->room) % tx->emss;
}

/**
 * weft_tx_advance() - go on behind an FPDU that was laid out elsewhere
 * @tx: the transmit side
 * @inflight: the work requests under way, the last of which the message is
 * @acc: their queue pair, as memory knows it
 * @fpdu: one of its current message; the message may end with it
 */
void weft_tx_advance(struct weft_tx *tx, struct weft_inflight *inflight,
		     const struct weft_accessor *acc, const struct weft_fpdu *fpdu)
{
	weft_tx_assert_locked(tx);
	tx_step(tx, acc, fpdu);
	if (fpdu->last)
		tx_end_msg(tx, inflight);
}

/*
 * A message's header as it goes before each segment, but for what differs. Copied
 * whole: what follows a shorter one overwrites it, be it the CRC alone.
 */
struct weft_tx_head {
	u32 len;
	u8 bytes[WEFT_MPA_LEN + WEFT_DDP_MAX_LEN];
};

/* Writes the CRC of the @len bytes of an FPDU at @to behind them. */
static __always_inline void tx_put_crc(const struct weft_tx *tx, u8 *to, u32 len)
{
	if (tx->crc)
		weft_crc_put(to + len, weft_crc_update(WEFT_CRC_SEED, to, len));
	else
		memset(to + len, 0, WEFT_CRC_LEN);
}

/*
 * Writes one FPDU of the message to @to. False: the payload is not to be had
 * any more; nothing was laid out.
 */
static bool tx_layout_one(struct weft_tx *tx, struct weft_accessor *acc,
			  const struct weft_tx_head *head,
			  struct weft_fpdu fpdu, u8 *to,
			  struct weft_mr **mr)
{
	struct weft_tx_msg *msg = &tx->msg;
	u32 at = head->len;

	memcpy(to, head->bytes, sizeof(head->bytes));
	msg->hdr.last = fpdu.last;
	weft_put_be16(to, at - WEFT_MPA_LEN + fpdu.payload);
	weft_ddp_encode_place(to + WEFT_MPA_LEN, &msg->hdr);
	if (!tx_gather(msg, acc, to + at, fpdu.payload, mr))
		return false;
	at += fpdu.payload;
	if (fpdu.pad)
		memset(to + at, 0, fpdu.pad);
	at += fpdu.pad;
	tx_put_crc(tx, to, at);
	return true;
}

/* Whether an FPDU fills a segment, and a fresh one is to be filled behind it. */
static bool tx_repeats(const struct weft_tx *tx, const struct weft_fpdu *fpdu)
{
	return fpdu->len == tx->emss && tx->room == tx->emss &&
	       fpdu->payload < tx->msg.left;
}

/*
 * Lays out FPDUs that are as the one before but for their place in the message, as
 * many as @room at @to and the SGE that is held have; the last of a message is
 * none of them. Returns how many.
 */
static noinline u32 tx_layout_row(struct weft_tx *tx, struct weft_tx_head *head,
				  const struct weft_fpdu *fpdu, u8 *to,
				  u32 room, const struct weft_mr *mr)
{
	struct weft_tx_msg *msg = &tx->msg;
	const struct weft_sge *sge = &msg->copy.sge[msg->sge_index];
	u32 payload = fpdu->payload;
	u32 len = fpdu->len;
	bool tagged = msg->hdr.tagged;
	u64 at = tagged ? msg->hdr.to : msg->hdr.mo;
	u64 from = sge->addr + msg->offset;
	u32 fpdus, i;

	if (!mr || fpdu->pad || !payload || trace_weft_tx_fpdu_enabled())
		return 0;
	fpdus = min3(room / len, (msg->left - 1) / payload,
		     (sge->length - msg->offset) / payload);
	msg->hdr.last = false;
	weft_put_be16(head->bytes, head->len - WEFT_MPA_LEN + payload);
	weft_ddp_encode_place(head->bytes + WEFT_MPA_LEN, &msg->hdr);
	for (i = 0; i < fpdus; i++) {
		memcpy(to, head->bytes, sizeof(head->bytes));
		weft_ddp_encode_offset(to + WEFT_MPA_LEN, tagged, at);
		weft_mr_read_short(mr, from, to + head->len, payload);
		tx_put_crc(tx, to, len - WEFT_CRC_LEN);
		at += payload;
		from += payload;
		to += len;
	}
	if (tagged)
		msg->hdr.to = at;
	else
		msg->hdr.mo = at;
	msg->offset += fpdus * payload;
	msg->left -= fpdus * payload;
	tx->laid_out += fpdus * len;
	tx->fpdus += fpdus;
	return fpdus;
}

/**
 * weft_tx_layout() - lay out FPDUs of the current message
 * @qp: the queue pair
 * @c: where they go
 * @fpdu: the first of them as planned; it fits. Overwritten
 *
 * Until the message ends, the segment must be ended or the chunk is full. The
 * region that the payload comes from is held meanwhile: nothing here sleeps.
 *
 * Return: whether anything was laid out. If not, the payload is not to be had
 * any more and the queue pair has failed.
 */
bool weft_tx_layout(struct weft_qp *qp, struct weft_chunk *c,
		    struct weft_fpdu *fpdu)
{
	u8 *to = page_address(c->page) + c->fill;
	struct weft_tx *tx = &qp->tx;
	u32 room = c->size - c->fill;
	struct weft_mr *mr = NULL;
	struct weft_tx_head head = {};
	bool any = false;
	u32 fpdus;

	weft_qp_assert_locked(qp);
	head.len = WEFT_MPA_LEN + weft_ddp_encode(head.bytes + WEFT_MPA_LEN,
						  &tx->msg.hdr);
	for (;;) {
		/* A large one is as large as what memory is to be had: none need be. */
		if (!fpdu->last && tx->large)
			weft_tx_plan(tx, min(weft_llp_train(qp->llp, tx->emss), room), fpdu);
		if (!tx_layout_one(tx, &qp->acc, &head, *fpdu, to, &mr)) {
			weft_tx_gather_failed(qp);
			break;
		}
		any = true;
		to += fpdu->len;
		room -= fpdu->len;
		tx_step(tx, &qp->acc, fpdu);
		if (fpdu->last) {
			tx_end_msg(tx, &qp->inflight);
			break;
		}
		if (tx_repeats(tx, fpdu)) {
			fpdus = tx_layout_row(tx, &head, fpdu, to, room, mr);
			to += fpdus * fpdu->len;
			room -= fpdus * fpdu->len;
		}
		if (!tx_repeats(tx, fpdu) && !weft_tx_plan(tx, tx->emss, fpdu))
			break;
		if (fpdu->len > room)
			break;
	}
	if (mr)
		weft_mr_access_end(mr);
	c->fill = c->size - room;
	return any;
}
