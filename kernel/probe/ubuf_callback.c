// SPDX-License-Identifier: GPL-2.0
/* Up to 6.9, lent pages have a callback pointer; later kernels have a table of functions. */
#include <linux/skbuff.h>

void weft_probe(struct sk_buff *skb, struct ubuf_info *ubuf);
void weft_probe(struct sk_buff *skb, struct ubuf_info *ubuf)
{
	ubuf->callback(skb, ubuf, true);
}
