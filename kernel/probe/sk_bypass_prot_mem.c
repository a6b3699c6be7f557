// SPDX-License-Identifier: GPL-2.0
/* From 6.19, a socket's memory can be exempt from its protocol's count. */
#include <net/sock.h>

bool weft_probe(const struct sock *sk);
bool weft_probe(const struct sock *sk)
{
	return sk->sk_bypass_prot_mem;
}
