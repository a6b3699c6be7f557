// SPDX-License-Identifier: GPL-2.0
/* The parts of the framer that are not inlined; see framer.h. */
#include <linux/string.h>

#include "mpa/framer.h"
#include "wire/fpdu.h"

/* Starts a new stream, with nothing on the stage. @owner pays for the stage; NULL: nobody. */
void weft_framer_start(struct weft_framer *f, const struct weft_mpa_agreed *agreed,
		       const struct ib_ucontext *owner)
{
	f->fault = WEFT_FRAMER_FINE;
	f->owner = owner;
	f->crc_used = agreed->crc;
	f->marked = agreed->marks_in;
	f->marks = (struct weft_marks){};
	f->crc = WEFT_CRC_SEED;
	f->ahead = false;
	f->starved = false;
	weft_framer_next(f);
}

void weft_framer_next(struct weft_framer *f)
{
	f->state = WEFT_FRAMER_HEAD;
	f->checked = false;
	f->have = 0;
	f->trailer_have = 0;
}

/* Forgets the rest of an FPDU, because nothing more is taken. */
void weft_framer_drop(struct weft_framer *f)
{
	f->ahead = false;
	f->starved = false;
	weft_framer_free(f);
}

/* Returns the fault, if any, once. */
enum weft_framer_fault weft_framer_fault(struct weft_framer *f)
{
	enum weft_framer_fault fault = f->fault;

	f->fault = WEFT_FRAMER_FINE;
	return fault;
}

/*
 * Returns true if an FPDU that is whole in a packet has a good CRC. The CRC runs over the packet,
 * not the copy in @f->head: if the two differ, a sender on this host changed them in flight.
 */
bool weft_framer_good(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len)
{
	u32 end = offset + len - WEFT_CRC_LEN;
	u32 crc = WEFT_CRC_SEED;
	const u8 *piece;
	u32 n;

	for (; offset < end; offset += n) {
		n = end - offset;
		piece = weft_packet_piece(p, offset, &n);
		crc = weft_crc_update(crc, piece, n);
	}
	weft_packet_copy(p, end, f->trailer, WEFT_CRC_LEN);
	return weft_crc_good(f->trailer, crc);
}

/* Fills @to up to @need bytes, of which *@have are there. Returns the number of bytes taken. */
static u32 framer_fill(u8 *to, u32 *have, u32 need, const u8 *from, u32 len)
{
	u32 n = min(len, need - *have);

	memcpy(to + *have, from, n);
	*have += n;
	return n;
}

/* WEFT_FRAMER_HEAD: gathers the first bytes of an FPDU. Returns the number of bytes taken. */
u32 weft_framer_gather(struct weft_framer *f, const u8 *from, u32 len)
{
	u32 taken = 0, need;

	if (f->have < WEFT_MPA_LEN) {
		taken = framer_fill(f->head, &f->have, WEFT_MPA_LEN, from, len);
		if (f->have < WEFT_MPA_LEN)
			return taken;
		f->ulpdu_len = weft_get_be16(f->head);
	}
	need = WEFT_MPA_LEN + min_t(u32, f->ulpdu_len, WEFT_SEGMENT_HEAD);
	taken += framer_fill(f->head, &f->have, need, from + taken, len - taken);
	if (f->have == need)
		f->state = WEFT_FRAMER_BEGIN;
	return taken;
}

/* WEFT_FRAMER_TRAILER: takes padding and CRC, *@len bytes at most. Returns true if all is here. */
bool weft_framer_trailer(struct weft_framer *f, const u8 *from, u32 *len)
{
	u32 need = weft_fpdu_pad(f->ulpdu_len) + WEFT_CRC_LEN, have = f->trailer_have;

	*len = framer_fill(f->trailer, &have, need, from, *len);
	f->trailer_have = have;
	if (have < need)
		return false;
	f->counts.split++;
	weft_framer_took(f, 1);
	return true;
}

/*
 * A stream with markers. Markers lie amidst FPDUs, so no FPDU is taken whole from a packet. With
 * CRCs, an FPDU is gathered on the stage without its markers, and placed when its CRC has passed.
 * Because this is slower, only peers that were asked for markers send them.
 */

/* Takes bytes to the stage, and begins an FPDU there if none is under way. */
static enum weft_rx_verdict marked_stage(struct weft_framer *f, const u8 *from, u32 *len,
					 weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict;

	if (f->state != WEFT_FRAMER_STAGE) {
		f->summed = 0;
		if (!weft_framer_stage_begin(f)) {
			*len = 0;
			return WEFT_RX_WAIT;
		}
	}
	verdict = weft_framer_stage(f, from, len, part, ctx);
	if (!*len)
		return verdict;
	weft_marks_pass(&f->marks, *len);
	/* An FPDU whose segment waits is whole nevertheless. */
	f->marks.amid = f->state == WEFT_FRAMER_STAGE;
	if (!f->marks.amid)
		f->crc = WEFT_CRC_SEED;
	return verdict;
}

/* As weft_framer_take(), with markers. */
u32 weft_framer_take_marked(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len,
			    weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	u32 at = offset, end = offset + len, n;
	const u8 *piece;

	for (; at < end && verdict == WEFT_RX_OK; at += n) {
		n = end - at;
		piece = weft_packet_piece(p, at, &n);
		if (!weft_marks_next(&f->marks, &n)) {
			if (f->crc_used) {
				verdict = marked_stage(f, piece, &n, part, ctx);
				continue;
			}
			/* Takes the bytes as they come; none if the segment waits. */
			verdict = part(ctx, piece, &n);
			if (n)
				weft_marks_pass(&f->marks, n);
			f->marks.amid = weft_framer_amid(f);
			continue;
		}
		/* Once whole, a marker must point to the head of the FPDU around it. */
		switch (weft_marks_take(&f->marks, piece, n)) {
		case WEFT_MARKS_WHOLE:
			f->crc = weft_crc_update(f->crc, f->marks.bytes, WEFT_MARKER_LEN);
			f->counts.bytes += WEFT_MARKER_LEN;
			break;
		case WEFT_MARKS_WRONG:
			f->fault = WEFT_FRAMER_MARKER;
			verdict = WEFT_RX_BAD;
			break;
		case WEFT_MARKS_PART:
			break;
		}
	}
	return verdict == WEFT_RX_BAD ? len : at - offset;
}
