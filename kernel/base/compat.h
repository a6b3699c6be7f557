/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between kernels. HAVE_X is defined if kernel/probe/x.c compiles (see
 * Kbuild); version numbers are never looked at.
 */
#ifndef WEFT_COMPAT_H
#define WEFT_COMPAT_H

#include <linux/bvec.h>
#include <linux/dma-buf.h>
#include <linux/hrtimer.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

/* Addresses of kernel memory travel as 64-bit numbers, and page_address() is always there. */
static_assert(IS_ENABLED(CONFIG_64BIT), "Weft is for 64-bit kernels");

/*
 * Hands a run of a page to TCP without copying it. The caller holds the socket lock and
 * never changes the bytes again. Returns the same as tcp_sendmsg_locked().
 */
#ifdef HAVE_TCP_SENDPAGE_LOCKED
static inline int weft_sock_send_page(struct sock *sk, struct page *page,
				      u32 offset, u32 len, bool more)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_NO_SHARED_FRAGS;

	if (more)
		flags |= MSG_MORE | MSG_SENDPAGE_NOTLAST;
	return tcp_sendpage_locked(sk, page, offset, len, flags);
}
#else
static inline int weft_sock_send_page(struct sock *sk, struct page *page,
				      u32 offset, u32 len, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     (more ? MSG_MORE : 0),
	};
	struct bio_vec bv;

	bvec_set_page(&bv, page, len, offset);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bv, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
}
#endif

/*
 * The callback for the time when TCP no longer holds lent pages. It takes the packet
 * buffer or NULL, the loan, and true if TCP did not copy the pages.
 */
#ifdef HAVE_UBUF_CALLBACK
struct weft_ubuf_ops {
	void (*complete)(struct sk_buff *skb, struct ubuf_info *ubuf, bool uncopied);
};
#else
#define weft_ubuf_ops	ubuf_info_ops
#endif

/* Prepares a loan, with one reference, which is the caller's. */
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

/*
 * Adds lent memory to a packet buffer, with one fragment for each run, charged with its
 * bytes. Kernels without this callback add it page by page.
 */
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

static inline void weft_msg_lend(struct msghdr *msg, struct ubuf_info *ubuf)
{
	msg->msg_ubuf = ubuf;
	msg->sg_from_iter = weft_sg_from_iter;
}
#else
static inline void weft_msg_lend(struct msghdr *msg, struct ubuf_info *ubuf)
{
	msg->msg_ubuf = ubuf;
}
#endif

/* Returns the peer's address of an IPv6 socket. Kernels without IPv6 have no such sockets. */
#if IS_ENABLED(CONFIG_IPV6)
static inline const struct in6_addr *weft_sock_v6_daddr(const struct sock *sk)
{
	return &sk->sk_v6_daddr;
}
#else
static inline const struct in6_addr *weft_sock_v6_daddr(const struct sock *sk)
{
	return NULL;
}
#endif

/*
 * Makes a kernel socket hold its network namespace until the socket is gone, as a user's
 * socket does. TCP's timers run on after the close, to send a lost FIN again. Without the
 * reference they could run in a namespace that was freed. The socket is new, nobody else
 * has seen it, and the caller holds a reference on the namespace.
 */
#ifdef HAVE_SK_NET_REFCNT_UPGRADE
static inline void weft_sock_hold_net(struct sock *sk)
{
	sk_net_refcnt_upgrade(sk);
}
#else
static inline void weft_sock_hold_net(struct sock *sk)
{
	struct net *net = sock_net(sk);

	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
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

/* Functions of DMA buffers are exported to modules that import their namespace. */
#ifdef HAVE_IMPORT_NS_BARE
#define WEFT_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#else
#define WEFT_IMPORT_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
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

#endif /* WEFT_COMPAT_H */
