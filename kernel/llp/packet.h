/* SPDX-License-Identifier: GPL-2.0 */
/* Reads a packet buffer piece by piece, in place. */
#ifndef WEFT_PACKET_H
#define WEFT_PACKET_H

#include <linux/skbuff.h>

#include "base/compat.h"

/*
 * A reading position in a packet buffer. Lives on the stack of one receive call. Moving forwards is
 * cheap, moving back possible.
 */
struct weft_packet {
	struct sk_buff *root;	/* the packet */
	struct sk_buff *skb;	/* the buffer at the position: @root or one of its frag list */
	u32 skb_start;	/* where @skb begins in the packet */
	int frag;	/* the fragment of @skb last used */
	u32 frag_start;	/* where that fragment begins in @skb */
	const u8 *run;	/* bytes last found that lie together */
	u32 run_start;	/* where they begin in the packet */
	u32 run_len;	/* their number; 0: none found yet */
};

void weft_packet_find(struct weft_packet *p, u32 offset);
void weft_packet_copy_pieces(struct weft_packet *p, u32 offset, void *to, u32 len);

/* The packet buffer must stay unchanged while it is read. */
static inline struct weft_packet weft_packet_begin(struct sk_buff *skb)
{
	return (struct weft_packet){
		.root = skb,
		.skb = skb,
		.frag_start = skb_headlen(skb),
	};
}

/*
 * Returns false if fragments are in a device's memory (an operator may bind a receive queue to it),
 * or for a list of buffers within a list: nested tunnels make these, but no Ethernet driver.
 */
static inline bool weft_packet_readable(const struct sk_buff *skb)
{
	const struct sk_buff *child;

	if (unlikely(!skb_frags_readable(skb)))
		return false;
	skb_walk_frags(skb, child)
		if (skb_has_frag_list(child) || !skb_frags_readable(child))
			return false;
	return true;
}

/*
 * Returns the bytes at @offset, which others may be able to write. @len: in: bytes wanted, within
 * the packet; out: bytes that lie together.
 */
static inline const u8 *weft_packet_piece(struct weft_packet *p, u32 offset, u32 *len)
{
	if (offset - p->run_start >= p->run_len)
		weft_packet_find(p, offset);
	offset -= p->run_start;
	*len = min(*len, p->run_len - offset);
	return p->run + offset;
}

/* Copies @len bytes at @offset, all of them within the packet. */
static __always_inline void weft_packet_copy(struct weft_packet *p, u32 offset, void *to, u32 len)
{
	const u8 *from;
	u32 n = len;

	from = weft_packet_piece(p, offset, &n);
	if (likely(n == len))
		memcpy(to, from, len);
	else
		weft_packet_copy_pieces(p, offset, to, len);
}

#endif /* WEFT_PACKET_H */
