// SPDX-License-Identifier: GPL-2.0
/* Up to 6.10, who lends may fill packet buffers, and charge the socket. */
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <net/sock.h>

int weft_probe(struct msghdr *msg, struct sock *sk, struct sk_buff *skb);
int weft_probe(struct msghdr *msg, struct sock *sk, struct sk_buff *skb)
{
	__skb_fill_page_desc_noacc(skb_shinfo(skb), 0, NULL, 0, 0);
	return msg->sg_from_iter(sk, skb, &msg->msg_iter, 0);
}
