// SPDX-License-Identifier: GPL-2.0
/* Up to 6.9, the callback for lent pages is a function pointer; later a table. */
#include <linux/skbuff.h>

void weft_probe(struct sk_buff *skb, struct ubuf_info *ubuf);
void weft_probe(struct sk_buff *skb, struct ubuf_info *ubuf)
{
	ubuf->callback(skb, ubuf, true);
}
