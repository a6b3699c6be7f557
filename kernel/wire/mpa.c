// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Encodes and decodes MPA Request and Reply frames (RFC 5044, 7.1; RFC 6581, 9). */

#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"
#include "mpa.h"

#define KEY_LEN		16
#define FLAGS_AT	16
#define REVISION_AT	17
#define PRIVATE_LEN_AT	18

#define FLAG_MARKERS	0x80	/* M */
#define FLAG_CRC	0x40	/* C */
#define FLAG_REJECT	0x20	/* R */
#define FLAG_ENHANCED	0x10	/* S */
/*
 * Reserved bits between Weft ends (siw uses 0x08). Offer and answer are different bits, because
 * some peers echo reserved bits.
 */
#define FLAG_EXTEND	0x04
#define FLAG_EXTENDED	0x02
#define FLAG_PATHS	0x01	/* several paths; with either of the two */

/* The two words of enhanced setup: two control flags and 14 bits each. */
#define IRD_P2P		0x8000	/* A */
#define IRD_RTR_SEND	0x4000	/* B */
#define ORD_RTR_WRITE	0x8000	/* C */
#define ORD_RTR_READ	0x4000	/* D */

static const u8 request_key[KEY_LEN + 1] = "MPA ID Req Frame";
static const u8 reply_key[KEY_LEN + 1] = "MPA ID Rep Frame";

u32 weft_mpa_total_len(const u8 *buf)
{
	u32 len = weft_get_be16(buf + PRIVATE_LEN_AT);

	return len <= WEFT_MPA_MAX_PRIVATE ? WEFT_MPA_HDR_LEN + len : 0;
}

bool weft_mpa_key_prefix_ok(const u8 *buf, u32 len, bool reply)
{
	return !memcmp(buf, reply ? reply_key : request_key,
		       len < KEY_LEN ? len : KEY_LEN);
}

void weft_mpa_decode_depths(const u8 *buf, struct weft_mpa_frame *frame)
{
	u16 ird = weft_get_be16(buf), ord = weft_get_be16(buf + 2);

	frame->p2p = ird & IRD_P2P;
	frame->rtr = (ird & IRD_RTR_SEND ? WEFT_RTR_SEND : 0) |
		     (ord & ORD_RTR_WRITE ? WEFT_RTR_WRITE : 0) |
		     (ord & ORD_RTR_READ ? WEFT_RTR_READ : 0);
	frame->ird = ird & WEFT_MPA_MAX_RD;
	frame->ord = ord & WEFT_MPA_MAX_RD;
}

bool weft_mpa_encode_depths(u8 *buf, const struct weft_mpa_frame *frame)
{
	u16 ird = frame->ird, ord = frame->ord;

	if (frame->revision != 2 || ird > WEFT_MPA_MAX_RD || ord > WEFT_MPA_MAX_RD)
		return false;
	if (frame->p2p)
		ird |= IRD_P2P;
	if (frame->rtr & WEFT_RTR_SEND)
		ird |= IRD_RTR_SEND;
	if (frame->rtr & WEFT_RTR_WRITE)
		ord |= ORD_RTR_WRITE;
	if (frame->rtr & WEFT_RTR_READ)
		ord |= ORD_RTR_READ;
	weft_put_be16(buf, ird);
	weft_put_be16(buf + 2, ord);
	return true;
}

u32 weft_mpa_decode(const u8 *buf, u32 len, bool reply,
		    struct weft_mpa_frame *frame)
{
	struct weft_mpa_frame f = { .reply = reply };
	u32 at = WEFT_MPA_HDR_LEN;
	u8 flags;

	if (len < WEFT_MPA_HDR_LEN || !weft_mpa_key_prefix_ok(buf, len, reply) ||
	    weft_mpa_total_len(buf) != len)
		return 0;

	f.revision = buf[REVISION_AT];
	if (f.revision != 1 && f.revision != 2)
		return 0;

	flags = buf[FLAGS_AT];
	f.markers = flags & FLAG_MARKERS;
	f.crc = flags & FLAG_CRC;
	/* Ignored in a Request (RFC 5044, 7.1.1). */
	f.reject = reply && (flags & FLAG_REJECT);
	f.enhanced = f.revision == 2 && (flags & FLAG_ENHANCED);
	f.extend = flags & FLAG_EXTEND;
	f.extended = flags & FLAG_EXTENDED;
	f.paths = flags & FLAG_PATHS;

	if (f.enhanced) {
		if (len - at < WEFT_MPA_V2_LEN)
			return 0;
		weft_mpa_decode_depths(buf + at, &f);
		at += WEFT_MPA_V2_LEN;
	}

	f.private_len = (u16)(len - at);
	*frame = f;
	return at;
}

u32 weft_mpa_encode(u8 *buf, const struct weft_mpa_frame *frame,
		    const u8 *private_data)
{
	u32 extra = frame->enhanced ? WEFT_MPA_V2_LEN : 0;
	u32 at = WEFT_MPA_HDR_LEN;
	u8 flags = 0;

	if (frame->private_len > WEFT_MPA_MAX_PRIVATE - extra)
		return 0;
	if (frame->enhanced) {
		if (!weft_mpa_encode_depths(buf + at, frame))
			return 0;
		at += WEFT_MPA_V2_LEN;
	}

	memcpy(buf, frame->reply ? reply_key : request_key, KEY_LEN);
	if (frame->markers)
		flags |= FLAG_MARKERS;
	if (frame->crc)
		flags |= FLAG_CRC;
	if (frame->reject)
		flags |= FLAG_REJECT;
	if (frame->enhanced)
		flags |= FLAG_ENHANCED;
	if (frame->extend)
		flags |= FLAG_EXTEND;
	if (frame->extended)
		flags |= FLAG_EXTENDED;
	if (frame->paths)
		flags |= FLAG_PATHS;
	buf[FLAGS_AT] = flags;
	buf[REVISION_AT] = frame->revision;
	weft_put_be16(buf + PRIVATE_LEN_AT, (u16)(frame->private_len + extra));

	if (frame->private_len)
		memcpy(buf + at, private_data, frame->private_len);
	return at + frame->private_len;
}
