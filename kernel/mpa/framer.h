/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From packets to DDP segments, whose meaning is not known here.
 *
 * With CRCs, a segment begins only after its FPDU's CRC has passed, so a bad header never names
 * memory. An FPDU that is not whole in one packet buffer stays in the stream's queue until it is
 * whole and checked, and is placed from there without a copy. If the queue is too small, the FPDU
 * is copied to the stage, which are pages of our own. Without memory for these the framer is
 * starved: the bytes stay in the stream for a retry, and TCP throttles the peer.
 */
#ifndef WEFT_MPA_FRAMER_H
#define WEFT_MPA_FRAMER_H

#include "llp/packet.h"
#include "wire/bytes.h"
#include "wire/fpdu.h"
#include "wire/mpa.h"

struct ib_ucontext;
struct weft_llp;
struct weft_stage;

/* Most bytes of a segment that @begin gets. */
#define WEFT_SEGMENT_HEAD	18

enum weft_rx_verdict {
	WEFT_RX_OK,
	WEFT_RX_WAIT,	/* no receive, or no memory: stop reading for now */
	WEFT_RX_BAD,	/* nothing more is taken */
};

/**
 * struct weft_segment_ops - called for each segment, in this order
 * @begin: a segment of @len bytes comes. @head, a private copy, has room for WEFT_SEGMENT_HEAD
 *	bytes; the first @have are the segment's. Sets @hdr_len. WEFT_RX_WAIT changes nothing, and
 *	the segment begins again later
 * @place: the next bytes behind the header, which a local sender may still write
 * @end: all bytes were placed, and the CRC, if any, is good
 * @row: takes FPDUs like the last one from @offset up to @end; returns where the next one begins
 *
 * A constant table: the framer's loops are inlined with it, so that no call is indirect.
 */
struct weft_segment_ops {
	enum weft_rx_verdict (*begin)(void *ctx, const u8 *head, u32 have, u32 len,
				      u32 *hdr_len);
	enum weft_rx_verdict (*place)(void *ctx, const u8 *from, u32 len);
	enum weft_rx_verdict (*end)(void *ctx);
	u32 (*row)(void *ctx, struct weft_packet *p, u32 offset, u32 end);
};

/* Progress of an FPDU that comes in parts. */
enum weft_framer_state {
	WEFT_FRAMER_HEAD,	/* gathering the length field and the segment's first bytes */
	WEFT_FRAMER_BEGIN,	/* gathered; the segment is still to begin */
	WEFT_FRAMER_PAYLOAD,
	WEFT_FRAMER_TRAILER,	/* padding and CRC */
	WEFT_FRAMER_STAGE,	/* copied to @stage: too large for the stream, or marked */
};

/* Why an FPDU cannot be taken. */
enum weft_framer_fault {
	WEFT_FRAMER_FINE,
	WEFT_FRAMER_CRC,
	WEFT_FRAMER_MARKER,	/* a marker does not point to its FPDU */
	WEFT_FRAMER_UNREADABLE,	/* see weft_packet_readable() */
};

/* FPDUs that ended since the queue pair was made. */
struct weft_framer_counts {
	u64 fpdus;
	u64 bytes;
	u32 split;	/* FPDUs that did not lie whole in one packet buffer; wraps */
	u32 staged;	/* FPDUs that the stream could not hold; wraps */
};

/*
 * The FPDUs of a stream.
 * Protected by the lock of weft_qp_assert_locked(). Only mpa/ writes the fields, except that
 * segment_messages() borrows @head and @ulpdu_len.
 */
struct weft_framer {
	u8 state;				/* enum weft_framer_state */
	u8 fault;				/* enum weft_framer_fault */
	bool crc_used;				/* CRCs are in use */
	bool marked;				/* the peer sends markers */
	bool ahead;				/* the next FPDU waits in the stream for its CRC */
	bool checked;				/* the CRC has passed: place payload when read */
	bool starved;				/* no memory for @stage; a timer retries */
	u8 head[WEFT_MPA_LEN + WEFT_SEGMENT_HEAD]; /* private copy of the FPDU's first bytes */
	u8 trailer[3 + WEFT_CRC_LEN];		/* padding and CRC as received */
	u8 trailer_have;			/* bytes in @trailer */
	struct weft_marks marks;		/* stream position, if @marked */
	u32 ulpdu_len;				/* the last length field */
	u32 have;				/* bytes in @head, of an FPDU that comes in parts */
	u32 given;				/* bytes of the segment given to weft_segment_ops */
	u32 summed;				/* bytes of the FPDU ahead in @crc or @trailer */
	u32 crc;				/* running CRC of that FPDU, or the marked one */
	const struct ib_ucontext *owner;	/* charged for @stage; NULL: nobody */
	struct weft_stage *stage;		/* FPDU that the stream cannot hold, or marked */
	struct weft_framer_counts counts;	/* over all streams; read without the lock */
};

/* weft_framer_part() with the caller's segment_ops. */
typedef enum weft_rx_verdict (*weft_framer_taker)(void *ctx, const u8 *from, u32 *len);

void weft_framer_start(struct weft_framer *f, const struct weft_mpa_agreed *agreed,
		       const struct ib_ucontext *owner);
void weft_framer_next(struct weft_framer *f);
void weft_framer_drop(struct weft_framer *f);
void weft_framer_free(struct weft_framer *f);
bool weft_framer_good(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len);
u32 weft_framer_fill_head(struct weft_framer *f, const u8 *from, u32 len);
bool weft_framer_trailer(struct weft_framer *f, const u8 *from, u32 *len);
enum weft_framer_fault weft_framer_fault(struct weft_framer *f);
u32 weft_framer_take_marked(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len,
			    weft_framer_taker part, void *ctx);

/* With CRCs, FPDUs that are not whole in a packet: */
bool weft_framer_ready(struct weft_framer *f, struct weft_llp *llp);
u32 weft_framer_len_ahead(const struct weft_framer *f);
bool weft_framer_stage_begin(struct weft_framer *f);
enum weft_rx_verdict weft_framer_stage(struct weft_framer *f, const u8 *from, u32 *len,
				       weft_framer_taker part, void *ctx);
enum weft_rx_verdict weft_framer_unstage(struct weft_framer *f, weft_framer_taker part,
					 void *ctx);

/* Returns true if the stream is within an FPDU, where it must not end. */
static inline bool weft_framer_amid(const struct weft_framer *f)
{
	return f->state != WEFT_FRAMER_HEAD || f->have || f->ahead;
}

static inline void weft_framer_took(struct weft_framer *f, u32 fpdus)
{
	f->counts.fpdus += fpdus;
	f->counts.bytes += fpdus * weft_fpdu_len(f->ulpdu_len);
}

/*
 * Returns true if the FPDU at @offset, whole in the packet, is contiguous and its segment, to which
 * @segment then points, has @ulpdu_len bytes.
 */
static __always_inline bool weft_framer_like(struct weft_packet *p, u32 offset, u32 ulpdu_len,
					     const u8 **segment)
{
	u32 len = weft_fpdu_len(ulpdu_len), n = len;
	const u8 *fpdu;

	fpdu = weft_packet_piece(p, offset, &n);
	*segment = fpdu + WEFT_MPA_LEN;
	return n == len && get_unaligned_be16(fpdu) == ulpdu_len;
}

/*
 * Takes FPDUs that lie whole in the packet. *@at: in: offset of the first; out: offset of the first
 * that was not taken. Returns the verdict on that one, or WEFT_RX_OK.
 *
 * The loops are inlined with a constant @ops, as rhashtable's are with its parameters, because an
 * indirect call for each FPDU would cost more than the rest of the loop.
 */
static __always_inline enum weft_rx_verdict
weft_framer_whole(struct weft_framer *f, struct weft_packet *p, u32 *at, u32 end,
		  const struct weft_segment_ops *ops, void *ctx)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	u32 offset = *at, have, len, given, n;
	const u8 *piece;

	while (end - offset >= WEFT_MPA_LEN) {
		have = min_t(u32, end - offset, sizeof(f->head));
		if (likely(have == sizeof(f->head)))
			weft_packet_copy(p, offset, f->head, sizeof(f->head));
		else
			weft_packet_copy_pieces(p, offset, f->head, have);
		f->ulpdu_len = get_unaligned_be16(f->head);
		len = weft_fpdu_len(f->ulpdu_len);
		if (len > end - offset)
			break;
		if (f->crc_used && !f->checked && !weft_framer_good(f, p, offset, len)) {
			f->fault = WEFT_FRAMER_CRC;
			verdict = WEFT_RX_BAD;
			break;
		}
		verdict = ops->begin(ctx, f->head + WEFT_MPA_LEN,
				     min(have - WEFT_MPA_LEN, f->ulpdu_len), f->ulpdu_len, &given);
		for (; verdict == WEFT_RX_OK && given < f->ulpdu_len; given += n) {
			n = f->ulpdu_len - given;
			piece = weft_packet_piece(p, offset + WEFT_MPA_LEN + given, &n);
			verdict = ops->place(ctx, piece, n);
		}
		if (verdict != WEFT_RX_OK)
			break;
		f->counts.fpdus++;
		f->counts.bytes += len;
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

/*
 * Takes bytes of an FPDU that comes in parts. Its CRC has passed, or CRCs are not in use. *@len:
 * in: bytes there, not 0; out: bytes taken, at least one after WEFT_RX_OK.
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
		/* Bytes gathered behind the header are payload. */
		if (verdict == WEFT_RX_OK && head > hdr_len)
			verdict = ops->place(ctx, f->head + WEFT_MPA_LEN + hdr_len,
					     head - hdr_len);
		if (verdict != WEFT_RX_OK)
			return verdict;
		f->given = head;
		f->state = head < f->ulpdu_len ? WEFT_FRAMER_PAYLOAD : WEFT_FRAMER_TRAILER;
	}
	switch (f->state) {
	case WEFT_FRAMER_HEAD:
		*len = weft_framer_fill_head(f, from, n);
		return WEFT_RX_OK;
	case WEFT_FRAMER_PAYLOAD:
		*len = min(n, f->ulpdu_len - f->given);
		f->given += *len;
		if (f->given == f->ulpdu_len)
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

/*
 * Takes bytes of a packet. Returns the number of bytes taken: all, if nothing more is taken of this
 * stream; fewer, if the next segment has to wait, if its FPDU is not whole in the packet and its
 * CRC comes first, or if @f is starved.
 */
static __always_inline u32
weft_framer_take(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len,
		 const struct weft_segment_ops *ops, weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	u32 at = offset, end = offset + len, n;
	const u8 *piece;

	/*
	 * An FPDU on the stage waits to be placed: bytes behind it would pass for the rest of its
	 * segment. TCP offers the rest of a packet at once, also behind a segment that waits.
	 */
	if (unlikely(f->stage && f->state != WEFT_FRAMER_STAGE))
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
