// SPDX-License-Identifier: GPL-2.0
/* From 6.12, the fragments of a packet may be in a device's memory. */
#include <linux/skbuff.h>

bool weft_probe(const struct sk_buff *skb);
bool weft_probe(const struct sk_buff *skb)
{
	return skb_frags_readable(skb);
}
