// SPDX-License-Identifier: GPL-2.0
/* From 6.14, a kernel socket can take a reference on its namespace after its creation. */
#include <net/sock.h>

void weft_probe(struct sock *sk);
void weft_probe(struct sock *sk)
{
	sk_net_refcnt_upgrade(sk);
}
