/* SPDX-License-Identifier: GPL-2.0 */
/* Reading a packet buffer piece by piece, where it lies. */
#ifndef WEFT_PACKET_H
#define WEFT_PACKET_H

#include <linux/skbuff.h>

/**
 * struct weft_packet - a reading position in a packet buffer
 * @root: the packet
 * @skb: the buffer in it that holds the position: @root or one of its frag list
 * @skb_start: where @skb's bytes begin in the packet
 * @frag: the fragment of @skb last used
 * @frag_start: where that fragment's bytes begin in @skb
 *
 * Lives on the stack of one receive call. Positions may go forwards and back;
 * forwards is cheap.
 */
struct weft_packet {
	struct sk_buff *root;
	struct sk_buff *skb;
	u32 skb_start;
	int frag;
	u32 frag_start;
};

bool weft_packet_init(struct weft_packet *p, struct sk_buff *skb);
const u8 *weft_packet_piece(struct weft_packet *p, u32 offset, u32 *len);
void weft_packet_copy(struct weft_packet *p, u32 offset, void *to, u32 len);

#endif /* WEFT_PACKET_H */
