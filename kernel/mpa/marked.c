// SPDX-License-Identifier: GPL-2.0
/*
 * A stream with markers. Markers lie amidst FPDUs, so no FPDU is taken whole from a packet. With
 * CRCs, an FPDU is gathered on the stage without its markers, and placed when its CRC has passed.
 * Because this is slower, only peers that were asked for markers send them.
 */
#include "mpa/framer.h"
#include "wire/crc.h"

/* Takes bytes of a marker. Once whole, it must point to the head of the FPDU around it. */
static enum weft_rx_verdict marked_marker(struct weft_framer *f, const u8 *from, u32 len)
{
	switch (weft_marks_take(&f->marks, from, len)) {
	case WEFT_MARKS_WHOLE:
		f->crc = weft_crc_update(f->crc, f->marks.bytes, WEFT_MARKER_LEN);
		f->counts.bytes += WEFT_MARKER_LEN;
		return WEFT_RX_OK;
	case WEFT_MARKS_WRONG:
		f->fault = WEFT_FRAMER_MARKER;
		return WEFT_RX_BAD;
	default:
		return WEFT_RX_OK;
	}
}

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

/* Takes bytes of an FPDU as they come. If its segment waits, takes none. */
static enum weft_rx_verdict marked_part(struct weft_framer *f, const u8 *from, u32 *len,
					weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict = part(ctx, from, len);

	if (*len)
		weft_marks_pass(&f->marks, *len);
	f->marks.amid = weft_framer_amid(f);
	return verdict;
}

/* As weft_framer_take(), with markers. */
u32 weft_framer_take_marked(struct weft_framer *f, struct weft_packet *p, u32 offset, u32 len,
			    weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict = WEFT_RX_OK;
	u32 at = offset, end = offset + len, n;
	const u8 *piece;

	while (at < end && verdict == WEFT_RX_OK) {
		n = end - at;
		piece = weft_packet_piece(p, at, &n);
		if (weft_marks_next(&f->marks, &n))
			verdict = marked_marker(f, piece, n);
		else if (f->crc_used)
			verdict = marked_stage(f, piece, &n, part, ctx);
		else
			verdict = marked_part(f, piece, &n, part, ctx);
		at += n;
	}
	return verdict == WEFT_RX_BAD ? len : at - offset;
}
