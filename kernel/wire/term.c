// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Encodes and decodes the Terminate message (RFC 5040, 4.8). */

#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"
#include "ddp.h"
#include "term.h"

/* Third byte of the control field: the parts that follow. */
#define HDRCT_LEN	0x80	/* M: the DDP segment's length */
#define HDRCT_DDP	0x40	/* D: its DDP header */
#define HDRCT_RDMAP	0x20	/* R: its RDMAP header, that of a Read Request */

#define CONTROL_LEN	4
#define SEGMENT_LEN	2
#define RDMAP_OPCODE_MASK	0x0f

/* Returns true if a Terminate with this reason may include the offending header. */
static bool names_segment(const struct weft_term *term)
{
	switch (term->layer) {
	case WEFT_TERM_RDMAP:
		return term->etype != WEFT_RDMAP_LOCAL;
	case WEFT_TERM_DDP:
		/* The header of another version may have another length. */
		if (term->etype == WEFT_DDP_TAGGED_BUFFER)
			return term->code != WEFT_DT_VERSION;
		if (term->etype == WEFT_DDP_UNTAGGED_BUFFER)
			return term->code != WEFT_DU_VERSION;
		return false;
	default:
		/* An LLP error precedes any DDP segment. */
		return false;
	}
}

/* Only RDMAP errors include an RDMAP header, and only Read Requests have one. */
static bool names_read_request(const struct weft_term *term, const u8 *segment,
			       u32 segment_len)
{
	return term->layer == WEFT_TERM_RDMAP &&
	       segment_len >= WEFT_DDP_UNTAGGED_LEN + WEFT_READ_REQ_LEN &&
	       !weft_ddp_is_tagged(segment[0]) &&
	       (segment[1] & RDMAP_OPCODE_MASK) == WEFT_RDMAP_READ_REQ;
}

u32 weft_term_encode(u8 *buf, const struct weft_term *term, const u8 *segment,
		     u32 segment_len, u16 ulpdu_len)
{
	u32 copy;

	buf[0] = (u8)((term->layer & 0x0f) << 4 | (term->etype & 0x0f));
	buf[1] = term->code;
	buf[2] = 0;
	buf[3] = 0;

	if (!segment_len || !names_segment(term))
		return CONTROL_LEN;

	copy = weft_ddp_hdr_len(weft_ddp_is_tagged(segment[0]));
	if (segment_len < copy)
		return CONTROL_LEN;

	buf[2] = HDRCT_LEN | HDRCT_DDP;
	if (names_read_request(term, segment, segment_len)) {
		buf[2] |= HDRCT_RDMAP;
		copy += WEFT_READ_REQ_LEN;
	}
	weft_put_be16(buf + CONTROL_LEN, ulpdu_len);
	memcpy(buf + CONTROL_LEN + SEGMENT_LEN, segment, copy);
	return CONTROL_LEN + SEGMENT_LEN + copy;
}

bool weft_term_decode(const u8 *buf, u32 len, struct weft_term *term, u8 *op, u32 *msn)
{
	/* The length precedes the header even if the M bit is clear. */
	u32 at = CONTROL_LEN + SEGMENT_LEN, hdr_len;

	*op = 0xff;
	*msn = 0;
	if (len < CONTROL_LEN)
		return false;

	term->layer = buf[0] >> 4;
	term->etype = buf[0] & 0x0f;
	term->code = buf[1];

	/* The rest is optional, so a truncated part counts as absent. */
	if (!(buf[2] & HDRCT_DDP) || at >= len)
		return true;
	hdr_len = weft_ddp_hdr_len(weft_ddp_is_tagged(buf[at]));
	if (len - at < hdr_len)
		return true;
	*op = buf[at + 1] & RDMAP_OPCODE_MASK;
	if (!weft_ddp_is_tagged(buf[at]))
		*msn = weft_get_be32(buf + at + WEFT_DDP_MSN);
	return true;
}
