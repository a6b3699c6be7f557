// SPDX-License-Identifier: GPL-2.0
/* Until 6.10, msg->sg_from_iter() takes the socket, and can charge it for added memory. */
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <net/sock.h>

int weft_probe(struct msghdr *msg, struct sock *sk, struct sk_buff *skb);
int weft_probe(struct msghdr *msg, struct sock *sk, struct sk_buff *skb)
{
	__skb_fill_page_desc_noacc(skb_shinfo(skb), 0, NULL, 0, 0);
	return msg->sg_from_iter(sk, skb, &msg->msg_iter, 0);
}
