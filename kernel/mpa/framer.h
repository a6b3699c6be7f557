/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From packets to DDP segments: what an FPDU looks like, and where its CRC is. What a
 * segment means is not known here.
 *
 * With CRCs in use, that of an FPDU is checked before its segment is told of. An FPDU that
 * does not lie whole in one packet buffer then stays in the stream's queue, and the
 * checksum is run over its bytes there, over each byte once. When its trailer has come and
 * the CRC is good, it is placed from the queue, without a copy. So a header under a bad CRC
 * never names memory. If the queue is too small for the whole FPDU, its bytes are copied to
 * the stage: pages of our own, for one FPDU at most, from which it is placed. If there is no
 * memory for these, the framer is starved: the bytes stay in the stream, to be read again
 * later, and TCP slows the peer down. Without CRCs an FPDU is placed as its pieces come. A
 * stream with markers is taken another way; see marked.c.
 *
 * The loops are inlined into who takes the segments, with the constant table of its
 * functions, as a hash table of the kernel is with its parameters: a call through a pointer
 * for each FPDU would cost more than the rest of the loop.
 */
#ifndef WEFT_MPA_FRAMER_H
#define WEFT_MPA_FRAMER_H

#include "llp/packet.h"
#include "pair/framer.h"
#include "wire/bytes.h"
#include "wire/fpdu.h"
#include "wire/negotiate.h"

struct weft_llp;

/*
 * Takes bytes of an FPDU that comes in parts: weft_framer_part() with the segment_ops of
 * whoever takes them.
 */
typedef enum weft_rx_verdict (*weft_framer_taker)(void *ctx, const u8 *from, u32 *len);

void weft_framer_start(struct weft_framer *f, const struct weft_mpa_agreed *agreed,
		       const struct ib_ucontext *owner);
void weft_framer_next(struct weft_framer *f);
void weft_framer_drop(struct weft_framer *f);
void weft_framer_free(struct weft_framer *f);
bool weft_framer_good(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len);
u32 weft_framer_gather(struct weft_framer *f, const u8 *from, u32 len);
bool weft_framer_trailer(struct weft_framer *f, const u8 *from, u32 *len);
enum weft_framer_fault weft_framer_fault(struct weft_framer *f);

/* split.c: an FPDU that does not lie whole in a packet, where CRCs are in use */
bool weft_framer_ready(struct weft_framer *f, struct weft_llp *llp);
u32 weft_framer_need(const struct weft_framer *f);
bool weft_framer_stage_begin(struct weft_framer *f);
enum weft_rx_verdict weft_framer_stage(struct weft_framer *f, const u8 *from, u32 *len,
				       weft_framer_taker part, void *ctx);
enum weft_rx_verdict weft_framer_unstage(struct weft_framer *f, weft_framer_taker part,
					 void *ctx);

/* marked.c: a stream with markers */
u32 weft_framer_take_marked(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len,
			    weft_framer_taker part, void *ctx);

/* Returns true if the stream is within an FPDU: it must not end here. */
static inline bool weft_framer_amid(const struct weft_framer *f)
{
	return f->state != WEFT_FRAMER_HEAD || f->have || f->ahead;
}

/*
 * Returns true if the segment of an FPDU on the stage waits to be placed. What the stream has
 * behind that FPDU must not be taken before: it would pass for the rest of the segment.
 */
static inline bool weft_framer_holds(const struct weft_framer *f)
{
	return f->stage && f->state != WEFT_FRAMER_STAGE;
}

/* Counts FPDUs of the length that came last. */
static inline void weft_framer_took(struct weft_framer *f, u32 fpdus)
{
	f->counts.fpdus += fpdus;
	f->counts.bytes += fpdus * weft_fpdu_len(f->ulpdu_len);
}

/*
 * Returns true if the FPDU at @offset, all of which is in the packet, has a segment of
 * @ulpdu_len bytes and lies together; @segment is then where.
 */
static __always_inline bool weft_framer_like(struct weft_packet *p, u32 offset, u32 ulpdu_len,
					     const u8 **segment)
{
	u32 len = weft_fpdu_len(ulpdu_len), n = len;
	const u8 *fpdu;

	fpdu = weft_packet_piece(p, offset, &n);
	*segment = fpdu + WEFT_MPA_LEN;
	return n == len && weft_get_be16(fpdu) == ulpdu_len;
}

/**
 * weft_framer_whole() - take FPDUs, each of which lies whole in the packet
 * @f: the framer, between two FPDUs
 * @p: the packet
 * @at: in: where the first begins; out: where the first begins that does not lie whole,
 *	must wait or was not taken
 * @end: where the bytes end that may be taken
 * @ops: who takes the segments
 * @ctx: for @ops
 *
 * Context: any; does not sleep.
 * Return: WEFT_RX_OK, or what the segment at @at met with.
 */
static __always_inline enum weft_rx_verdict
weft_framer_whole(struct weft_framer *f, struct weft_packet *p, u32 *at, u32 end,
		  const struct weft_segment_ops *ops, void *ctx)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	u32 offset = *at, have, len, told, n;
	const u8 *piece;

	while (end - offset >= WEFT_MPA_LEN) {
		have = min_t(u32, end - offset, sizeof(f->head));
		if (likely(have == sizeof(f->head)))
			weft_packet_copy(p, offset, f->head, sizeof(f->head));
		else
			weft_packet_gather(p, offset, f->head, have);
		f->ulpdu_len = weft_get_be16(f->head);
		len = weft_fpdu_len(f->ulpdu_len);
		if (len > end - offset)
			break;
		if (f->crc_used && !f->checked && !weft_framer_good(f, p, offset, len)) {
			f->fault = WEFT_FRAMER_CRC;
			verdict = WEFT_RX_BAD;
			break;
		}
		verdict = ops->begin(ctx, f->head + WEFT_MPA_LEN,
				     min(have - WEFT_MPA_LEN, f->ulpdu_len), f->ulpdu_len, &told);
		for (; verdict == WEFT_RX_OK && told < f->ulpdu_len; told += n) {
			n = f->ulpdu_len - told;
			piece = weft_packet_piece(p, offset + WEFT_MPA_LEN + told, &n);
			verdict = ops->place(ctx, piece, n);
		}
		if (verdict != WEFT_RX_OK)
			break;
		weft_framer_took(f, 1);
		verdict = ops->end(ctx);
		if (verdict != WEFT_RX_OK)
			break;
		f->checked = false;
		offset += len;
		if (len <= end - offset)
			offset = ops->row(ctx, p, offset, end);
	}
	*at = offset;
	return verdict;
}

/**
 * weft_framer_part() - take bytes of an FPDU that comes in parts
 * @f: the framer; either no CRCs are in use, or this one's has passed
 * @from: the bytes
 * @len: in: how many, not 0; out: how many were taken
 * @ops: who takes the segments
 * @ctx: for @ops
 *
 * Context: any; does not sleep.
 * Return: WEFT_RX_OK, and at least one was taken; or what the segment met with.
 */
static __always_inline enum weft_rx_verdict
weft_framer_part(struct weft_framer *f, const u8 *from, u32 *len,
		 const struct weft_segment_ops *ops, void *ctx)
{
	u32 head = f->have - WEFT_MPA_LEN, n = *len, hdr_len;
	enum weft_rx_verdict verdict;

	if (f->state == WEFT_FRAMER_BEGIN) {
		*len = 0;
		verdict = ops->begin(ctx, f->head + WEFT_MPA_LEN, head, f->ulpdu_len, &hdr_len);
		/* What was gathered behind the header is payload. */
		if (verdict == WEFT_RX_OK && head > hdr_len)
			verdict = ops->place(ctx, f->head + WEFT_MPA_LEN + hdr_len,
					     head - hdr_len);
		if (verdict != WEFT_RX_OK)
			return verdict;
		f->told = head;
		f->state = head < f->ulpdu_len ? WEFT_FRAMER_PAYLOAD : WEFT_FRAMER_TRAILER;
	}
	switch (f->state) {
	case WEFT_FRAMER_HEAD:
		*len = weft_framer_gather(f, from, n);
		return WEFT_RX_OK;
	case WEFT_FRAMER_PAYLOAD:
		*len = min(n, f->ulpdu_len - f->told);
		f->told += *len;
		if (f->told == f->ulpdu_len)
			f->state = WEFT_FRAMER_TRAILER;
		return ops->place(ctx, from, *len);
	default:
		*len = n;
		if (!weft_framer_trailer(f, from, len))
			return WEFT_RX_OK;
		verdict = ops->end(ctx);
		if (verdict == WEFT_RX_OK)
			weft_framer_next(f);
		return verdict;
	}
}

/**
 * weft_framer_take() - take as many bytes of a packet as can be taken
 * @f: the framer
 * @p: the packet
 * @offset: where they begin
 * @len: how many there are
 * @ops: who takes the segments
 * @part: weft_framer_part() with the same
 * @ctx: for both
 *
 * Context: any; does not sleep.
 * Return: how many were taken. All, if nothing more is taken of this stream; fewer, if the
 * segment that comes next has to wait, or is in an FPDU that does not lie whole in the
 * packet, while its CRC is to be looked at first, or if @f is starved.
 */
static __always_inline u32
weft_framer_take(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len,
		 const struct weft_segment_ops *ops, weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	u32 at = offset, end = offset + len, n;
	const u8 *piece;

	/* TCP offers at once what was left of a packet, also behind a segment that waits. */
	if (unlikely(weft_framer_holds(f)))
		return 0;
	if (unlikely(f->marked))
		return weft_framer_take_marked(f, p, offset, len, part, ctx);
	while (at < end && verdict == WEFT_RX_OK) {
		if (f->state == WEFT_FRAMER_HEAD && !f->have) {
			verdict = weft_framer_whole(f, p, &at, end, ops, ctx);
			if (verdict != WEFT_RX_OK || at == end)
				break;
			if (f->crc_used && !f->checked) {
				f->ahead = true;
				f->summed = 0;
				f->crc = WEFT_CRC_SEED;
				break;
			}
		}
		n = end - at;
		piece = weft_packet_piece(p, at, &n);
		if (f->state == WEFT_FRAMER_STAGE)
			verdict = weft_framer_stage(f, piece, &n, part, ctx);
		else
			verdict = part(ctx, piece, &n);
		at += n;
	}
	return verdict == WEFT_RX_BAD ? len : at - offset;
}

#endif /* WEFT_MPA_FRAMER_H */
