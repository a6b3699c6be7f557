// SPDX-License-Identifier: GPL-2.0
/* Socket addresses, as rdma_cm understands them. */
#include <linux/jhash.h>
#include <net/ipv6.h>
#include <net/netns/hash.h>

#include "base/address.h"

bool weft_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
	       a6->sin6_scope_id == b6->sin6_scope_id &&
	       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/*
 * Hashes the fields that weft_addr_equal() compares, but not the scope. net_hash_mix() is random
 * for each namespace, so that a program cannot construct hash collisions.
 */
u32 weft_addr_hash(struct net *net, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)addr;
	u32 seed = net_hash_mix(net) + weft_addr_port(addr);

	if (addr->ss_family == AF_INET)
		return jhash_1word((__force u32)v4->sin_addr.s_addr, seed);
	return jhash2((__force const u32 *)v6->sin6_addr.s6_addr32,
		      ARRAY_SIZE(v6->sin6_addr.s6_addr32), seed);
}

u16 weft_addr_port(const struct sockaddr_storage *addr)
{
	return ntohs(addr->ss_family == AF_INET6 ?
		     ((const struct sockaddr_in6 *)addr)->sin6_port :
		     ((const struct sockaddr_in *)addr)->sin_port);
}
