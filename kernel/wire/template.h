/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The segment under way, as a pattern of those behind it: segments of a message, and of
 * messages of a kind, are alike but for their place, so that a header is decoded once for all.
 */
#ifndef WEFT_WIRE_TEMPLATE_H
#define WEFT_WIRE_TEMPLATE_H

#include <linux/string.h>
#include <linux/types.h>

#include "ddp.h"
#include "term.h"

/**
 * struct weft_template - the segment under way, or the one that came last
 * @hdr: its header; a private copy
 * @known: @ddp is what weft_ddp_decode() makes of @hdr, so that the next is compared with it
 * @len: bytes of it, header and payload
 * @hdr_len: bytes of @hdr that count; 0: there is no header to speak of
 * @payload_len: bytes of payload
 * @ddp: the decoded header
 *
 * Protected by its owner.
 */
struct weft_template {
	u8 hdr[WEFT_DDP_MAX_LEN];
	bool known;
	u32 len;
	u32 hdr_len;
	u32 payload_len;
	struct weft_ddp_hdr ddp;
};

/**
 * weft_template_decode() - decode the header that lies in a template
 * @t: its @hdr and @len are set
 * @have: bytes of the header that are there
 * @extended: as for weft_ddp_decode()
 * @err: why not, for the Terminate message; written only on failure
 *
 * On failure @hdr_len is that of the whole header, which the Terminate shows, or 0 if
 * that is not there.
 *
 * Return: whether it is a header.
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

/* Returns true if @next, the first @have bytes of another segment, is of the same kind. */
static inline bool weft_template_fits(const struct weft_template *t, const u8 *next, u32 have)
{
	return t->known && have >= t->hdr_len && weft_ddp_alike(t->hdr, next);
}

/* Becomes the segment of @next, for which weft_template_fits() is true; @len is set. */
static inline void weft_template_follow(struct weft_template *t, const u8 *next)
{
	memcpy(t->hdr, next, sizeof(t->hdr));
	weft_ddp_decode_place(t->hdr, &t->ddp);
	t->payload_len = t->len - t->hdr_len;
}

/* Where the segment lies, in the tagged buffer or in the message. */
static inline u64 weft_template_place(const struct weft_template *t)
{
	return t->ddp.tagged ? t->ddp.to : t->ddp.mo;
}

/* Becomes the segment @bytes of payload behind this one, of those that are like it. */
static inline void weft_template_advance(struct weft_template *t, u32 bytes)
{
	if (t->ddp.tagged)
		t->ddp.to += bytes;
	else
		t->ddp.mo += bytes;
	weft_ddp_encode_place(t->hdr, &t->ddp);
}

#endif /* WEFT_WIRE_TEMPLATE_H */
