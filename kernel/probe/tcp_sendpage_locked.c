// SPDX-License-Identifier: GPL-2.0
/* Up to 6.4, TCP sends pages with a function of its own. */
#include <net/tcp.h>

int weft_probe(struct sock *sk, struct page *page);
int weft_probe(struct sock *sk, struct page *page)
{
	return tcp_sendpage_locked(sk, page, 0, 1, MSG_DONTWAIT);
}
