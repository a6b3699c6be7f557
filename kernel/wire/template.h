/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A template for the next segments, whose headers often differ in their place only. */
#ifndef WEFT_WIRE_TEMPLATE_H
#define WEFT_WIRE_TEMPLATE_H

#include <linux/string.h>
#include <linux/types.h>

#include "ddp.h"
#include "term.h"

/**
 * struct weft_template - the current segment, or the last one
 * @hdr: private copy of its header
 * @known: @ddp is decoded from @hdr, so the next header can be compared with @hdr
 * @len: length of header and payload
 * @hdr_len: valid bytes of @hdr; 0: no header to report
 * @payload_len: length of the payload
 * @ddp: the decoded header; protected, like all fields, by the owner of the template
 */
struct weft_template {
	u8 hdr[WEFT_DDP_MAX_LEN];
	bool known;
	u32 len;
	u32 hdr_len;
	u32 payload_len;
	struct weft_ddp_hdr ddp;
};

/*
 * Decodes @t->hdr, of which @have bytes are present; @t->len is set. On failure @hdr_len is the
 * length of the header that the Terminate shows, or 0 if the header is truncated.
 */
static inline bool weft_template_decode(struct weft_template *t, u32 have, bool extended,
					struct weft_term *err)
{
	u32 len = weft_ddp_decode(t->hdr, have, extended, &t->ddp, err);

	if (!len) {
		len = have ? weft_ddp_hdr_len(weft_ddp_is_tagged(t->hdr[0])) : 0;
		t->hdr_len = have >= len ? len : 0;
		t->known = false;
		return false;
	}
	t->hdr_len = len;
	t->payload_len = t->len - len;
	t->known = true;
	return true;
}

/* Returns true if @next, of which @have bytes are present, has a header of the same kind. */
static inline bool weft_template_fits(const struct weft_template *t, const u8 *next, u32 have)
{
	return t->known && have >= t->hdr_len && weft_ddp_alike(t->hdr, next);
}

/* Switches to @next, WEFT_DDP_MAX_LEN bytes for which weft_template_fits(); @t->len is set. */
static inline void weft_template_follow(struct weft_template *t, const u8 *next)
{
	memcpy(t->hdr, next, sizeof(t->hdr));
	weft_ddp_decode_place(t->hdr, &t->ddp);
	t->payload_len = t->len - t->hdr_len;
}

static inline u64 weft_template_place(const struct weft_template *t)
{
	return t->ddp.tagged ? t->ddp.to : t->ddp.mo;
}

/* Advances by @bytes of payload, over segments that repeat this one. */
static inline void weft_template_advance(struct weft_template *t, u32 bytes)
{
	if (t->ddp.tagged)
		t->ddp.to += bytes;
	else
		t->ddp.mo += bytes;
	weft_ddp_encode_place(t->hdr, &t->ddp);
}

#endif /* WEFT_WIRE_TEMPLATE_H */
