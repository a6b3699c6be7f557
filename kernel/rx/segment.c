// SPDX-License-Identifier: GPL-2.0
/*
 * DDP segments, one at a time or a row at once: each header is decoded here, each segment placed
 * (place.c), its message's progress noted, and with its last segment a message is delivered
 * (deliver.c).
 */
#include <linux/string.h>

#include "base/policy.h"
#include "base/trace.h"
#include "base/weft.h"
#include "llp/arrivals.h"
#include "llp/llp.h"
#include "mpa/framer.h"
#include "rx/rx.h"

static_assert(WEFT_SEGMENT_HEAD >= WEFT_DDP_MAX_LEN);

/* Decodes the first @have bytes of rx->seg.hdr. Returns false if refused. */
static noinline bool segment_decode(struct weft_rx *rx, u32 have)
{
	struct weft_term err;

	if (weft_template_decode(&rx->seg, have, rx->extended, &err))
		return true;
	rx->place.have = 0; /* nothing to show behind this header */
	weft_rx_refuse(rx, err.layer, err.etype, err.code);
	return false;
}

/* Decodes a header, unless it is like the one before. */
static inline enum weft_rx_verdict segment_begin(void *ctx, const u8 *head, u32 have, u32 len,
						 u32 *hdr_len)
{
	struct weft_rx *rx = ctx;

	rx->seg.len = len;
	if (!weft_template_follow(&rx->seg, head, have)) {
		memcpy(rx->seg.hdr, head, sizeof(rx->seg.hdr));
		if (!segment_decode(rx, have))
			return WEFT_RX_BAD;
	}
	*hdr_len = rx->seg.hdr_len;
	return weft_rx_begin(rx);
}

/* A segment is placed, and its CRC, if any, is good: notes how far its message has come. */
static enum weft_rx_verdict segment_placed(struct weft_rx *rx)
{
	const struct weft_ddp_hdr *ddp = &rx->seg.ddp;
	u32 len = rx->seg.payload_len;
	struct weft_inbound *m;

	switch (ddp->opcode) {
	case WEFT_RDMAP_WRITE:
		weft_written_add(&rx->written, len, ddp->last);
		return WEFT_RX_OK;
	case WEFT_RDMAP_READ_RESP:
		rx->place.read->got += len;
		return WEFT_RX_OK;
	case WEFT_RDMAP_READ_REQ:
	case WEFT_RDMAP_ATOMIC_REQ:
	case WEFT_RDMAP_TERMINATE:
		return WEFT_RX_OK; /* a single FPDU, now complete */
	case WEFT_RDMAP_ATOMIC_RESP:
		return weft_rx_place_atomic_response(rx);
	case WEFT_RDMAP_IMM:
	case WEFT_RDMAP_IMM_SE:
		/* The completion reports the length of the Write before it. */
		m = weft_inbox_at(&rx->sends, ddp->msn);
		weft_inbound_end(m, rx->written.len, ddp->opcode,
				 get_unaligned_be32(rx->place.bytes));
		return WEFT_RX_OK;
	default:
		m = weft_inbox_at(&rx->sends, ddp->msn);
		if (ddp->last) {
			/* A header has one of the two at most; the other is 0. */
			weft_inbound_end(m, len, ddp->opcode, ddp->inv_stag | ddp->imm);
			return WEFT_RX_OK;
		}
		weft_inbound_grow(m, len);
		return WEFT_RX_OK;
	}
}

static inline enum weft_rx_verdict segment_end(void *ctx)
{
	struct weft_rx *rx = ctx;
	struct weft_qp *qp = rx->qp;
	enum weft_rx_verdict verdict;

	trace_weft_rx_fpdu(rx->acc, &rx->seg.ddp, rx->seg.payload_len);
	verdict = segment_placed(rx);
	if (verdict == WEFT_RX_OK && rx->seg.ddp.last)
		verdict = weft_rx_deliver(rx);
	if (verdict != WEFT_RX_OK)
		return verdict;
	if (unlikely(rx->first)) {
		/* The initiator is in full operation: we may send, too (RFC 5044, 7.1.3). */
		rx->first = false;
		if (weft_gate_open(&qp->gate))
			weft_qp_kick(qp);
	}
	return WEFT_RX_OK;
}

/*
 * Returns how many payload bytes may follow the last FPDU without another check, and in @to their
 * address in the held region; 0 if each FPDU has to be looked at.
 */
static u64 segment_row_room(const struct weft_rx *rx, u64 *to)
{
	const struct weft_inbound *m = weft_inbox_at(&rx->sends, rx->seg.ddp.msn);
	const struct weft_placement *p = &rx->place;
	const struct weft_mr *mr = p->access.mr;
	u64 room;

	if (p->target == WEFT_RX_TO_BYTES || !mr)
		return 0;
	*to = p->sge->addr + p->at;
	room = mr->length - (*to - mr->iova);
	if (p->target == WEFT_RX_TO_REGION)
		return room;
	if (p->target == WEFT_RX_TO_READ)
		room = min_t(u64, room, p->read->len - p->read->got);
	else
		room = min_t(u64, room, m->recv.room - m->len);
	return min_t(u64, room, p->sge->length - p->at);
}

/*
 * Takes a row: segments from @offset on that differ from the one before only in their offset, each
 * in one piece in the packet. Comparing a header with the expected one is faster than decoding it,
 * and all are accounted for at once. Returns where the first FPDU behind the row begins.
 */
static noinline u32 segment_take_row(struct weft_rx *rx, struct weft_packet *p, u32 offset,
				     u32 end)
{
	u32 payload = rx->seg.payload_len, hdr_len = rx->seg.hdr_len;
	u32 len = rx->seg.len, fpdu_len = weft_fpdu_len(len);
	const struct weft_mr *mr = rx->place.access.mr;
	u64 at = weft_template_place(&rx->seg);
	bool tagged = rx->seg.ddp.tagged, crc = rx->framer.crc_used;
	u32 fpdus, most;
	const u8 *next;
	u64 to = 0;

	most = min_t(u64, segment_row_room(rx, &to), end - offset) / payload;
	most = min(most, (end - offset) / fpdu_len);
	for (fpdus = 0; fpdus < most; fpdus++) {
		at += payload;
		if (!weft_framer_like(p, offset, len, &next) ||
		    !weft_ddp_repeats(rx->seg.hdr, next, tagged, at))
			break;
		if (crc && !weft_framer_good(&rx->framer, p, offset, fpdu_len))
			break;
		weft_mr_write(mr, to, next + hdr_len, payload);
		to += payload;
		offset += fpdu_len;
	}
	if (!fpdus)
		return offset;
	weft_framer_took(&rx->framer, fpdus);
	payload *= fpdus;
	weft_template_advance(&rx->seg, payload);
	switch (rx->place.target) {
	case WEFT_RX_TO_REGION:
		rx->written.len += payload;
		break;
	case WEFT_RX_TO_READ:
		rx->place.read->got += payload;
		break;
	default:
		weft_inbound_grow(weft_inbox_at(&rx->sends, rx->seg.ddp.msn), payload);
	}
	return offset;
}

static inline u32 segment_row(void *ctx, struct weft_packet *p, u32 offset, u32 end)
{
	struct weft_rx *rx = ctx;

	if (!rx->seg.payload_len || rx->seg.ddp.last || trace_weft_rx_fpdu_enabled())
		return offset;
	return segment_take_row(rx, p, offset, end);
}

static const struct weft_segment_ops segment_ops = {
	.begin = segment_begin,
	.place = weft_rx_place,
	.end = segment_end,
	.row = segment_row,
};

/* Takes bytes of an FPDU that comes in parts (weft_framer_taker). */
static enum weft_rx_verdict segment_part(void *ctx, const u8 *from, u32 *len)
{
	struct weft_rx *rx = ctx;

	return weft_framer_part(&rx->framer, from, len, &segment_ops, rx);
}

static void segment_broken(struct weft_rx *rx)
{
	switch (weft_framer_fault(&rx->framer)) {
	case WEFT_FRAMER_CRC:
		weft_rx_refuse_crc(rx);
		break;
	case WEFT_FRAMER_MARKER:
		rx->seg.hdr_len = 0; /* the bytes around the marker are not known */
		weft_rx_refuse(rx, WEFT_TERM_LLP, WEFT_LLP_MPA, WEFT_MPA_MARKER);
		break;
	case WEFT_FRAMER_UNREADABLE:
		weft_rx_refuse_local(rx); /* the peer did no wrong */
		break;
	case WEFT_FRAMER_FINE:
		break;
	}
}

/* Takes as many bytes of one packet as it can (weft_llp_actor). */
static u32 segment_packet(void *ctx, struct sk_buff *skb, u32 offset, u32 len)
{
	struct weft_rx *rx = ctx;
	struct weft_packet p = weft_packet_begin(skb);

	if (rx->stopped)
		return len; /* the rest of the stream is dropped */
	if (!weft_packet_readable(skb)) {
		weft_rx_refuse_local(rx);
		return len;
	}
	len = weft_framer_take(&rx->framer, &p, offset, len, &segment_ops, segment_part, rx);
	if (unlikely(rx->framer.fault))
		segment_broken(rx);
	/*
	 * The region that is held from piece to piece is given up with each packet, so that a
	 * deregistration waits for the bytes of one packet at most; but see weft_access_yield().
	 */
	weft_access_end(&rx->place.access);
	return len;
}

/*
 * Takes the messages whose turn it is, and has later ones placed early. Nothing overtakes the very
 * first, because it says that the peer is ready.
 */
static void segment_messages(struct weft_rx *rx, struct weft_arrivals *arrivals)
{
	struct weft_qp *qp = rx->qp;
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	struct weft_arrival *message;
	u8 *head = rx->framer.head;
	u32 have, hdr_len;

	while (!rx->stopped && (message = weft_arrivals_turn(arrivals)) && !message->control) {
		have = min_t(u32, message->len, WEFT_SEGMENT_HEAD);
		/* segment_begin() reads a header of full length, even of a shorter message. */
		memcpy(head, message->data, have);
		verdict = segment_begin(rx, head, have, message->len, &hdr_len);
		if (verdict == WEFT_RX_OK && !message->placed && message->len > hdr_len)
			verdict = weft_rx_place(rx, message->data + hdr_len,
						message->len - hdr_len);
		if (verdict == WEFT_RX_WAIT)
			break;
		if (verdict == WEFT_RX_OK) {
			rx->framer.ulpdu_len = message->len;
			weft_framer_took(&rx->framer, 1);
			segment_end(rx);
		}
		weft_arrivals_pass(arrivals);
	}
	if (rx->stopped)
		weft_llp_held(qp->llp, read, segment_packet, rx);
	else if (arrivals->early && !rx->first)
		weft_arrivals_offer(arrivals, weft_rx_place_early, rx);
	WRITE_ONCE(rx->kept_most, arrivals->most);
	weft_access_end(&rx->place.access);
}

/*
 * Takes all that can be taken of the stream now, and sets how many bytes to await. Returns true if
 * a softirq stopped early amid an FPDU: bytes are left, and the reading is resumed.
 */
bool weft_rx_read(struct weft_rx *rx)
{
	struct weft_qp *qp = rx->qp;
	u64 before = rx->framer.counts.bytes;
	bool more = false, waits = false;

	weft_qp_assert_locked(qp);
	if (unlikely(qp->llp->arrivals)) {
		segment_messages(rx, qp->llp->arrivals);
		weft_llp_held(qp->llp, await, 1);
		return false;
	}
	if (rx->stopped)
		weft_framer_drop(&rx->framer);
	/* An FPDU on the stage comes before all bytes in the stream. */
	if (unlikely(rx->framer.stage)) {
		waits = weft_framer_unstage(&rx->framer, segment_part, rx) == WEFT_RX_WAIT;
		weft_access_end(&rx->place.access);
	}
	while (!waits && (likely(!rx->framer.ahead) || weft_framer_ready(&rx->framer, qp->llp))) {
		if (unlikely(rx->framer.fault))
			segment_broken(rx);
		weft_llp_held(qp->llp, read, segment_packet, rx);
		if (!rx->framer.ahead)
			break;
		/* A softirq stops the threads of its processor. */
		if (in_serving_softirq() &&
		    rx->framer.counts.bytes - before > WEFT_TCP_AT_ONCE) {
			weft_llp_call(qp->llp, resume);
			more = true;
			break;
		}
	}
	weft_llp_held(qp->llp, await, rx->framer.ahead ? weft_framer_len_ahead(&rx->framer) : 1);
	return more;
}
