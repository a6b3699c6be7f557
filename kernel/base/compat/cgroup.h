/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels: the cgroups that a socket belongs to. */
#ifndef WEFT_COMPAT_CGROUP_H
#define WEFT_COMPAT_CGROUP_H

#include <linux/cgroup.h>
#include <linux/memcontrol.h>
#include <net/sock.h>

/* Returns true if a socket's memory is in its protocol's count. In older kernels that of all is. */
#ifdef HAVE_SK_BYPASS_PROT_MEM
static inline bool weft_sock_is_counted(const struct sock *sk)
{
	return !sk->sk_bypass_prot_mem;
}
#else
static inline bool weft_sock_is_counted(const struct sock *sk)
{
	return true;
}
#endif

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
	if (weft_sock_is_counted(sk))
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

/*
 * Moves a socket to the cgroup of another, whose rules of the firewall hold for it then. The
 * kernel puts a socket into the cgroup of who makes it, and one that a worker makes into the
 * first, for which no rules are made. The caller keeps both sockets and holds the lock of @sk.
 * Who looks at its cgroup without that lock does so in an RCU read side section, which the old
 * cgroup outlives.
 */
#ifdef CONFIG_SOCK_CGROUP_DATA
static inline void weft_sock_cgroup_like(struct sock *sk, const struct sock *other)
{
	struct cgroup *old = sk->sk_cgrp_data.cgroup;
	struct cgroup *new = other->sk_cgrp_data.cgroup;

	/* Also within one: net_cls and net_prio, of the first version, have numbers there. */
	cgroup_get(new);
	cgroup_bpf_get(new);
	sk->sk_cgrp_data = other->sk_cgrp_data;
	cgroup_bpf_put(old);
	cgroup_put(old);
}
#else
static inline void weft_sock_cgroup_like(struct sock *sk, const struct sock *other)
{
}
#endif

#endif /* WEFT_COMPAT_CGROUP_H */
