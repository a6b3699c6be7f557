/* SPDX-License-Identifier: GPL-2.0 */
/* Reading a packet buffer piece by piece, where it lies. */
#ifndef WEFT_PACKET_H
#define WEFT_PACKET_H

#include <linux/skbuff.h>

#include "base/compat/sock.h"

/**
 * struct weft_packet - a reading position in a packet buffer
 * @root: the packet
 * @skb: the buffer in it that holds the position: @root or one of its frag list
 * @skb_start: where @skb's bytes begin in the packet
 * @frag: the fragment of @skb last used
 * @frag_start: where that fragment's bytes begin in @skb
 * @run: the bytes last found that lie together
 * @run_start: where they begin in the packet
 * @run_len: how many; 0: none were found yet
 *
 * Lives on the stack of one receive call. A position may move forwards and back;
 * forwards is cheap.
 */
struct weft_packet {
	struct sk_buff *root;
	struct sk_buff *skb;
	u32 skb_start;
	int frag;
	u32 frag_start;
	const u8 *run;
	u32 run_start;
	u32 run_len;
};

void weft_packet_find(struct weft_packet *p, u32 offset);
void weft_packet_gather(struct weft_packet *p, u32 offset, void *to, u32 len);

/* Starts reading a packet buffer, which must stay unchanged meanwhile. Any context. */
static inline struct weft_packet weft_packet_begin(struct sk_buff *skb)
{
	return (struct weft_packet){
		.root = skb,
		.skb = skb,
		.frag_start = skb_headlen(skb),
	};
}

/**
 * weft_packet_readable() - can a packet buffer be read?
 * @skb: the packet
 *
 * Context: any.
 * Return: true, or false for fragments that are in a device's memory (of a receive queue that an
 * operator has bound to such memory), and for a list of buffers within a list, which no Ethernet
 * card's driver makes (nested tunnels can).
 */
static inline bool weft_packet_readable(const struct sk_buff *skb)
{
	const struct sk_buff *child;

	if (unlikely(!weft_skb_frags_readable(skb)))
		return false;
	skb_walk_frags(skb, child)
		if (skb_has_frag_list(child) || !weft_skb_frags_readable(child))
			return false;
	return true;
}

/**
 * weft_packet_piece() - where are the bytes at an offset?
 * @p: the reading position
 * @offset: within the packet
 * @len: in: how many bytes are wanted, within the packet; out: how many of
 *	 them lie together
 *
 * Context: any.
 * Return: the bytes. They may be memory that somebody else can write.
 */
static inline const u8 *weft_packet_piece(struct weft_packet *p, u32 offset,
					  u32 *len)
{
	if (offset - p->run_start >= p->run_len)
		weft_packet_find(p, offset);
	offset -= p->run_start;
	*len = min(*len, p->run_len - offset);
	return p->run + offset;
}

/* Copies @len bytes at @offset, all of them within the packet. */
static __always_inline void weft_packet_copy(struct weft_packet *p, u32 offset,
					     void *to, u32 len)
{
	const u8 *from;
	u32 n = len;

	from = weft_packet_piece(p, offset, &n);
	if (likely(n == len))
		memcpy(to, from, len);
	else
		weft_packet_gather(p, offset, to, len);
}

#endif /* WEFT_PACKET_H */
