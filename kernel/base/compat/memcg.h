/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels: which memory cgroup pays for a socket. */
#ifndef WEFT_COMPAT_MEMCG_H
#define WEFT_COMPAT_MEMCG_H

#include <linux/memcontrol.h>
#include <net/sock.h>

/*
 * Charges a socket that no memory cgroup pays for to the group of another socket. The
 * kernel does so only when it makes or accepts a socket. Memory that the socket has
 * already is charged as well. TCP's global count has that memory already, so the second
 * count is taken back. The caller holds the socket lock. Returns 0, or -ENOMEM if the
 * group is at its limit.
 */
#ifdef CONFIG_MEMCG
/* Returns the memory cgroup that pays for a socket; NULL: none does. */
static inline struct mem_cgroup *weft_sock_memcg(const struct sock *sk)
{
	return sk->sk_memcg;
}

static inline int weft_sock_charge_like(struct sock *sk, const struct sock *other)
{
	int size, pages;

	if (sk->sk_memcg || !other->sk_memcg)
		return 0;
	css_get(&other->sk_memcg->css);
	sk->sk_memcg = other->sk_memcg;
	pages = sk_mem_pages(sk->sk_forward_alloc + sk->sk_wmem_queued +
			     atomic_read(&sk->sk_rmem_alloc));
	if (!pages)
		return 0;
	size = pages << PAGE_SHIFT;
	if (!__sk_mem_schedule(sk, size, SK_MEM_RECV)) {
		css_put(&sk->sk_memcg->css);
		sk->sk_memcg = NULL;
		return -ENOMEM;
	}
	sk->sk_forward_alloc -= size;
	/* sk_memory_allocated_sub() is for the kernel proper; TCP evens it out later. */
	this_cpu_sub(*sk->sk_prot->per_cpu_fw_alloc, pages);
	return 0;
}
#else
static inline struct mem_cgroup *weft_sock_memcg(const struct sock *sk)
{
	return NULL;
}

static inline int weft_sock_charge_like(struct sock *sk, const struct sock *other)
{
	return 0;
}
#endif

/*
 * The memory cgroup that pays for a socket, with a reference for the caller, or NULL. Memory that
 * is allocated with __GFP_ACCOUNT between set_active_memcg() of it and of what that returned
 * is charged to it. The caller keeps the socket.
 */
#ifdef CONFIG_MEMCG
static inline struct mem_cgroup *weft_sock_memcg_get(const struct sock *sk)
{
	struct mem_cgroup *memcg = sk->sk_memcg;

	if (memcg)
		css_get(&memcg->css);
	return memcg;
}
#else
static inline struct mem_cgroup *weft_sock_memcg_get(const struct sock *sk)
{
	return NULL;
}
#endif

#endif /* WEFT_COMPAT_MEMCG_H */
