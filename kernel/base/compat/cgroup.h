/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels: the cgroups that a socket belongs to. */
#ifndef WEFT_COMPAT_CGROUP_H
#define WEFT_COMPAT_CGROUP_H

#include <linux/cgroup.h>
#include <linux/memcontrol.h>
#include <net/sock.h>

/* Is a socket's memory in its protocol's count? In older kernels it always is. */
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
 * Charges @sk, which no memory cgroup pays for, and its memory to the group of @other: the kernel
 * does so only when it makes or accepts a socket. TCP's global count has that memory already, so
 * the second count is taken back. Under the lock of @sk. Returns 0, or -ENOMEM at the limit.
 */
#ifdef CONFIG_MEMCG
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
	/* sk_memory_allocated_sub() is not for modules; TCP drains this count later. */
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

/* Returns the memory cgroup that pays for a socket, with a reference, or NULL. */
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
 * Moves @sk to the cgroup of @other, whose firewall rules then hold for it: the kernel puts a
 * worker's sockets into the root cgroup, which has no rules. Under the lock of @sk. Readers without
 * that lock are in an RCU read side section, which the old cgroup outlives.
 */
#ifdef CONFIG_SOCK_CGROUP_DATA
static inline void weft_sock_cgroup_like(struct sock *sk, const struct sock *other)
{
	struct cgroup *old = sk->sk_cgrp_data.cgroup;
	struct cgroup *new = other->sk_cgrp_data.cgroup;

	/* Needed within one cgroup as well: cgroup v1's net_cls and net_prio have numbers there. */
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
