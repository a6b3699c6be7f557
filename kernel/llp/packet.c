// SPDX-License-Identifier: GPL-2.0
/* Reads a packet buffer piece by piece, in place. */
#include <linux/string.h>

#include "llp/packet.h"

static void packet_enter(struct weft_packet *p, struct sk_buff *skb, u32 start)
{
	p->skb = skb;
	p->skb_start = start;
	p->frag = 0;
	p->frag_start = skb_headlen(skb);
}

/* Sets the run to the bytes around @offset, which is within the packet. */
void weft_packet_find(struct weft_packet *p, u32 offset)
{
	const struct sk_buff *child;
	struct sk_buff *next;
	const skb_frag_t *frag;
	u32 len, size;

	if (offset < p->skb_start)
		packet_enter(p, p->root, 0);
	while (unlikely(skb_has_frag_list(p->root))) {
		len = p->skb->len;
		if (p->skb == p->root)
			skb_walk_frags(p->root, child)
				len -= child->len;
		if (offset - p->skb_start < len)
			break;
		next = p->skb == p->root ? skb_shinfo(p->root)->frag_list : p->skb->next;
		packet_enter(p, next, p->skb_start + len);
	}
	offset -= p->skb_start;
	if (offset < skb_headlen(p->skb)) {
		p->run = p->skb->data;
		p->run_start = p->skb_start;
		p->run_len = skb_headlen(p->skb);
		return;
	}
	if (offset < p->frag_start) {
		p->frag = 0;
		p->frag_start = skb_headlen(p->skb);
	}
	for (;;) {
		frag = &skb_shinfo(p->skb)->frags[p->frag];
		size = skb_frag_size(frag);
		if (offset - p->frag_start < size)
			break;
		p->frag_start += size;
		p->frag++;
	}
	p->run = skb_frag_address(frag);
	p->run_start = p->skb_start + p->frag_start;
	p->run_len = size;
}

/* As weft_packet_copy(), from several runs. */
void weft_packet_copy_pieces(struct weft_packet *p, u32 offset, void *to, u32 len)
{
	const u8 *from;
	u32 n;

	while (len) {
		n = len;
		from = weft_packet_piece(p, offset, &n);
		memcpy(to, from, n);
		offset += n;
		to += n;
		len -= n;
	}
}
