// SPDX-License-Identifier: GPL-2.0
/* Reads a packet buffer piece by piece, in place. */
#include <linux/string.h>

#include "base/compat.h"
#include "llp/packet.h"

static void packet_enter(struct weft_packet *p, struct sk_buff *skb, u32 start)
{
	p->skb = skb;
	p->skb_start = start;
	p->frag = 0;
	p->frag_start = skb_headlen(skb);
}

/* Returns the length of the current buffer without its frag list. */
static u32 packet_own_len(const struct weft_packet *p)
{
	u32 len = p->skb->len;
	const struct sk_buff *child;

	if (p->skb == p->root)
		skb_walk_frags(p->root, child)
			len -= child->len;
	return len;
}

static void packet_seek(struct weft_packet *p, u32 offset)
{
	struct sk_buff *next;
	u32 len;

	if (offset < p->skb_start)
		packet_enter(p, p->root, 0);
	if (likely(!skb_has_frag_list(p->root)))
		return;
	for (;;) {
		len = packet_own_len(p);
		if (offset - p->skb_start < len)
			return;
		next = p->skb == p->root ? skb_shinfo(p->root)->frag_list :
					   p->skb->next;
		packet_enter(p, next, p->skb_start + len);
	}
}

/* Sets the run to the bytes around @offset, which is within the packet. */
void weft_packet_find(struct weft_packet *p, u32 offset)
{
	const skb_frag_t *frag;
	u32 size;

	packet_seek(p, offset);
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
void weft_packet_gather(struct weft_packet *p, u32 offset, void *to, u32 len)
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
