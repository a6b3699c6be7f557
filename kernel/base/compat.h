/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between kernels, but for those of the RDMA core (compat_verbs.h). Kbuild defines
 * HAVE_X if section PROBE_X of kernel/probe.c compiles; nothing tests version numbers. Older
 * kernels get the newest kernel's names.
 */
#ifndef WEFT_COMPAT_H
#define WEFT_COMPAT_H

#include <linux/bvec.h>
#include <linux/cgroup.h>
#include <linux/hrtimer.h>
#include <linux/kconfig.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/rcupdate.h>
#include <linux/sched/coredump.h>
#ifdef HAVE_EXEC_STATE
#include <linux/sched/exec_state.h>
#endif
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#ifdef HAVE_RPS_HEADER
#include <net/rps.h>
#endif
#include <net/sock.h>
#include <net/tcp.h>

/* Addresses of kernel memory travel as 64-bit numbers, and page_address() is always there. */
static_assert(IS_ENABLED(CONFIG_64BIT), "Weft is for 64-bit kernels");

/*
 * Weft needs multicopy atomicity, which POWER lacks: weft_tx_take_request() loads the ring and then
 * the reads with acquire alone, against the full barrier in rx_read_done(). On POWER a request
 * could wait for an answer that has come.
 */
static_assert(!IS_ENABLED(CONFIG_PPC), "Weft does not know POWER's order of stores");

/* Only modules that import this namespace can use DMA buffers. */
#ifdef HAVE_IMPORT_NS_BARE
#define WEFT_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#define WEFT_IMPORT_WEFT	MODULE_IMPORT_NS(WEFT)
#define WEFT_EXPORT(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, WEFT)
#else
#define WEFT_IMPORT_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#define WEFT_IMPORT_WEFT	MODULE_IMPORT_NS("WEFT")
#define WEFT_EXPORT(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, "WEFT")
#endif

#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* In older kernels all workqueues are per-CPU that are not unbound. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/* --- pages lent to TCP --- */

/* complete() is called when TCP no longer holds lent pages, @uncopied or not. @skb may be NULL. */
#ifdef HAVE_UBUF_CALLBACK
struct weft_ubuf_ops {
	void (*complete)(struct sk_buff *skb, struct ubuf_info *ubuf, bool uncopied);
};
#else
#define weft_ubuf_ops	ubuf_info_ops
#endif

/* Prepares a loan. The caller has the one reference. */
static inline void weft_ubuf_init(struct ubuf_info *ubuf, const struct weft_ubuf_ops *ops)
{
#ifdef HAVE_UBUF_CALLBACK
	ubuf->callback = ops->complete;
#else
	ubuf->ops = ops;
#endif
	ubuf->flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&ubuf->refcnt, 1);
}

/* Adds lent memory by runs, and charges it. Kernels without this callback add it by pages. */
#ifdef HAVE_SG_FROM_ITER_SOCK
static inline int weft_sg_from_iter(struct sock *sk, struct sk_buff *skb,
				    struct iov_iter *from, size_t length)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);
	const struct bio_vec *bv = from->bvec;
	size_t skip = from->iov_offset, left = min(length, iov_iter_count(from));
	u32 copied, n;

	for (copied = 0; left && shinfo->nr_frags < MAX_SKB_FRAGS; copied += n) {
		n = min_t(size_t, bv->bv_len - skip, left);
		get_page(bv->bv_page);
		__skb_fill_page_desc_noacc(shinfo, shinfo->nr_frags++, bv->bv_page,
					   bv->bv_offset + skip, n);
		left -= n;
		skip += n;
		if (skip == bv->bv_len) {
			bv++;
			skip = 0;
		}
	}
	iov_iter_advance(from, copied);
	skb->data_len += copied;
	skb->len += copied;
	skb->truesize += copied;
	sk_wmem_queued_add(sk, copied);
	if (!skb_zcopy_pure(skb))
		sk_mem_charge(sk, copied);
	return left ? -EMSGSIZE : 0;
}
#endif

static inline void weft_msg_lend(struct msghdr *msg, struct ubuf_info *ubuf)
{
	msg->msg_ubuf = ubuf;
#ifdef HAVE_SG_FROM_ITER_SOCK
	msg->sg_from_iter = weft_sg_from_iter;
#endif
}

/* --- sockets and TCP --- */

/* Hands bytes of a page to TCP without a copy. Nobody may change the bytes afterwards. */
static inline int weft_sock_send_page(struct sock *sk, struct page *page, u32 offset, u32 len,
				      bool more)
{
#ifdef HAVE_TCP_SENDPAGE_LOCKED
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_NO_SHARED_FRAGS;

	if (more)
		flags |= MSG_MORE | MSG_SENDPAGE_NOTLAST;
	return tcp_sendpage_locked(sk, page, offset, len, flags);
#else
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES | (more ? MSG_MORE : 0),
	};
	struct bio_vec bv;

	bvec_set_page(&bv, page, len, offset);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bv, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
#endif
}

/* Returns the peer's IPv6 address. Kernels without IPv6 have no such sockets. */
static inline const struct in6_addr *weft_sock_v6_daddr(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	return &sk->sk_v6_daddr;
#else
	return NULL;
#endif
}

/* Older kernels have no fragments in a device's memory. */
#ifndef HAVE_SKB_FRAGS_READABLE
#define skb_frags_readable(skb)	true
#endif

/* Is receive flow steering (RFS) in use? */
static inline bool weft_sock_steered(void)
{
#ifdef CONFIG_RPS
	return static_branch_unlikely(&rfs_needed);
#else
	return false;
#endif
}

/* The type of socket addresses without a size. */
#ifndef HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized	sockaddr
#endif

/*
 * Makes a new kernel socket, on whose namespace the caller has a reference, hold that namespace
 * until the socket is gone: TCP's timers retransmit a lost FIN after the close, and must not run in
 * a freed namespace. Sockets that a listener accepts inherit the hold.
 */
static inline void weft_sock_hold_net(struct sock *sk)
{
	if (sk->sk_net_refcnt)
		return;
#ifdef HAVE_SK_NET_REFCNT_UPGRADE
	sk_net_refcnt_upgrade(sk);
#else
	sk->sk_net_refcnt = 1;
	get_net_track(sock_net(sk), &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(sock_net(sk), 1);
#endif
}

/* --- the cgroups of a socket --- */

/* Returns the memory cgroup that pays for a socket, or NULL. */
static inline struct mem_cgroup *weft_sock_memcg(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	return sk->sk_memcg;
#else
	return NULL;
#endif
}

/* The same with a reference. */
static inline struct mem_cgroup *weft_sock_memcg_get(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	if (sk->sk_memcg)
		css_get(&sk->sk_memcg->css);
#endif
	return weft_sock_memcg(sk);
}

/*
 * Charges @sk, which no memory cgroup pays for, and its memory to the group of @other: the kernel
 * does so only when it makes or accepts a socket. TCP's global count has that memory already, so
 * the second count is taken back. Under the lock of @sk. Returns 0, or -ENOMEM at the limit.
 */
static inline int weft_sock_charge_like(struct sock *sk, const struct sock *other)
{
#ifdef CONFIG_MEMCG
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
#ifdef HAVE_SK_BYPASS_PROT_MEM
	/* This socket's memory is not in the count. */
	if (sk->sk_bypass_prot_mem)
		return 0;
#endif
	/* sk_memory_allocated_sub() is not for modules; TCP drains this count later. */
	this_cpu_sub(*sk->sk_prot->per_cpu_fw_alloc, pages);
#endif
	return 0;
}

/*
 * Moves @sk to the cgroup of @other, whose firewall rules then hold for it: the kernel puts a
 * worker's sockets into the root cgroup, which has no rules. Under the lock of @sk. Readers without
 * that lock are in an RCU read side section, which the old cgroup outlives.
 */
static inline void weft_sock_cgroup_like(struct sock *sk, const struct sock *other)
{
#ifdef CONFIG_SOCK_CGROUP_DATA
	struct cgroup *old = sk->sk_cgrp_data.cgroup;
	struct cgroup *new = other->sk_cgrp_data.cgroup;

	/* Needed within one cgroup as well: cgroup v1's net_cls and net_prio have numbers there. */
	cgroup_get(new);
	cgroup_bpf_get(new);
	sk->sk_cgrp_data = other->sk_cgrp_data;
	cgroup_bpf_put(old);
	cgroup_put(old);
#endif
}

/* --- tasks --- */

/*
 * Returns true if a user's other processes may look into a task's program: it gave up no rights
 * since its start and does not forbid it. ptrace_may_access() is not exported. Older kernels have
 * the flag in the memory map, so a program that has ended returns false. Does not sleep.
 */
static inline bool weft_task_is_dumpable(struct task_struct *task)
{
	bool dumpable = false;
#ifdef HAVE_EXEC_STATE
	rcu_read_lock();
	dumpable = READ_ONCE(rcu_dereference(task->exec_state)->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
#else
	struct task_struct *thread;
	struct mm_struct *mm;

	/* @task may have exited before other threads of its process. */
	rcu_read_lock();
	for_each_thread(task, thread) {
		task_lock(thread); /* rather than get_task_mm(), since mmput() may sleep */
		mm = thread->mm;
		if (mm)
			dumpable = get_dumpable(mm) == SUID_DUMP_USER;
		task_unlock(thread);
		if (mm)
			break;
	}
	rcu_read_unlock();
#endif
	return dumpable;
}

#endif /* WEFT_COMPAT_H */
