// SPDX-License-Identifier: GPL-2.0
/*
 * A stream with markers: takes them out before an FPDU is looked at.
 *
 * Markers lie amidst an FPDU, so no FPDU is taken from a packet as a whole. With CRCs in use, an
 * FPDU without its markers is gathered on the stage, and placed from there when its CRC has
 * passed. Without CRCs, its pieces are placed as they come. Only peers that were asked for
 * markers are served so, since this is slower.
 */
#include "mpa/framer.h"
#include "wire/crc.h"

/* Takes @len bytes of a marker, which, once whole, must point to the head of the FPDU around it. */
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

/*
 * Takes bytes to the stage, and begins an FPDU there if none is under way. None are taken without
 * memory.
 */
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

/* Takes bytes of an FPDU as they come. None are taken if its segment waits. */
static enum weft_rx_verdict marked_part(struct weft_framer *f, const u8 *from, u32 *len,
					weft_framer_taker part, void *ctx)
{
	enum weft_rx_verdict verdict = part(ctx, from, len);

	if (*len)
		weft_marks_pass(&f->marks, *len);
	f->marks.amid = weft_framer_amid(f);
	return verdict;
}

/**
 * weft_framer_take_marked() - take as many bytes of a packet as can be taken, with markers
 * @f: the framer
 * @p: the packet
 * @offset: where they begin
 * @len: how many there are
 * @part: takes bytes of an FPDU
 * @ctx: for @part
 *
 * Context: any; does not sleep.
 * Return: how many were taken. All, if nothing more is taken of this stream; fewer, if the
 * segment that comes next has to wait, or if @f is starved.
 */
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
