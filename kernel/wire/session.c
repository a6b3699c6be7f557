// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Encodes and decodes session control messages of DDP over SCTP. */

#include <linux/string.h>
#include <linux/types.h>

#include "bytes.h"
#include "session.h"

#define CODE_AT		WEFT_SSN_LEN

static u16 session_code(const struct weft_mpa_frame *frame)
{
	u16 code;

	if (!frame->reply)
		code = frame->enhanced ? WEFT_SESSION_ENHANCED_INITIATE : WEFT_SESSION_INITIATE;
	else if (frame->reject)
		code = frame->enhanced ? WEFT_SESSION_ENHANCED_REJECT : WEFT_SESSION_REJECT;
	else
		code = frame->enhanced ? WEFT_SESSION_ENHANCED_ACCEPT : WEFT_SESSION_ACCEPT;
	if (frame->enhanced && (frame->reply ? frame->extended : frame->extend))
		code |= WEFT_SESSION_EXTEND;
	return code;
}

static u32 session_head(u8 *buf, u16 ssn, u16 code)
{
	put_unaligned_be16(ssn, buf);
	put_unaligned_be16(code, buf + CODE_AT);
	return WEFT_SESSION_HDR_LEN;
}

u32 weft_session_encode(u8 *buf, u16 ssn, const struct weft_mpa_frame *frame,
			const u8 *private_data)
{
	u32 extra = frame->enhanced ? WEFT_MPA_V2_LEN : 0;
	u32 at = session_head(buf, ssn, session_code(frame));

	if (frame->private_len > WEFT_MPA_MAX_PRIVATE - extra)
		return 0;
	if (frame->enhanced && !weft_mpa_encode_depths(buf + at, frame))
		return 0;
	at += extra;
	if (frame->private_len)
		memcpy(buf + at, private_data, frame->private_len);
	return at + frame->private_len;
}

u32 weft_session_encode_terminate(u8 *buf, u16 ssn)
{
	return session_head(buf, ssn, WEFT_SESSION_TERMINATE);
}

bool weft_session_is_terminate(const u8 *buf, u32 len)
{
	return len >= WEFT_SESSION_HDR_LEN &&
	       get_unaligned_be16(buf + CODE_AT) == WEFT_SESSION_TERMINATE;
}

u32 weft_session_decode(const u8 *buf, u32 len, struct weft_mpa_frame *frame)
{
	struct weft_mpa_frame f = { .revision = 1 };
	u32 at = WEFT_SESSION_HDR_LEN;
	bool extend;
	u16 code;

	if (len < WEFT_SESSION_HDR_LEN || len > WEFT_SESSION_MAX_LEN)
		return 0;
	code = get_unaligned_be16(buf + CODE_AT);
	extend = code & WEFT_SESSION_EXTEND;
	switch (code & ~WEFT_SESSION_EXTEND) {
	case WEFT_SESSION_ENHANCED_INITIATE:
		f.enhanced = true;
		break;
	case WEFT_SESSION_INITIATE:
		break;
	case WEFT_SESSION_ENHANCED_ACCEPT:
		f.enhanced = true;
		f.reply = true;
		break;
	case WEFT_SESSION_ACCEPT:
		f.reply = true;
		break;
	case WEFT_SESSION_ENHANCED_REJECT:
		f.enhanced = true;
		f.reply = true;
		f.reject = true;
		break;
	case WEFT_SESSION_REJECT:
		f.reply = true;
		f.reject = true;
		break;
	default:
		return 0;
	}
	if (extend && !f.enhanced)
		return 0;
	if (f.reply)
		f.extended = extend;
	else
		f.extend = extend;
	if (f.enhanced) {
		f.revision = 2;
		if (len - at < WEFT_MPA_V2_LEN)
			return 0;
		weft_mpa_decode_depths(buf + at, &f);
		at += WEFT_MPA_V2_LEN;
	}
	f.private_len = (u16)(len - at);
	*frame = f;
	return at;
}
