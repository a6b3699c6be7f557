/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels: sockets and TCP. */
#ifndef WEFT_COMPAT_SOCK_H
#define WEFT_COMPAT_SOCK_H

#include <linux/bvec.h>
#include <linux/net.h>
#include <net/net_namespace.h>
#ifdef HAVE_RPS_HEADER
#include <net/rps.h>
#endif
#include <net/sock.h>
#include <net/tcp.h>

/* Hands bytes of a page to TCP without a copy. Nobody may change the bytes afterwards. */
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

/* Returns the peer's IPv6 address. Kernels without IPv6 have no such sockets. */
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

/* Returns false if fragments are in a device's memory, which older kernels do not know. */
#ifdef HAVE_SKB_FRAGS_READABLE
static inline bool weft_skb_frags_readable(const struct sk_buff *skb)
{
	return skb_frags_readable(skb);
}
#else
static inline bool weft_skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

/* Is receive flow steering (RFS) in use? */
#ifdef CONFIG_RPS
static inline bool weft_sock_steered(void)
{
	return static_branch_unlikely(&rfs_needed);
}
#else
static inline bool weft_sock_steered(void)
{
	return false;
}
#endif

/* The type of socket addresses without a size. */
#ifndef HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized	sockaddr
#endif

/*
 * Makes a new kernel socket, on whose namespace the caller has a reference, hold that namespace
 * until the socket is gone: TCP's timers retransmit a lost FIN after the close, and must not run in
 * a freed namespace. Sockets that a listener accepts inherit the hold.
 */
#ifdef HAVE_SK_NET_REFCNT_UPGRADE
static inline void weft_sock_hold_net(struct sock *sk)
{
	if (!sk->sk_net_refcnt)
		sk_net_refcnt_upgrade(sk);
}
#else
static inline void weft_sock_hold_net(struct sock *sk)
{
	struct net *net = sock_net(sk);

	if (sk->sk_net_refcnt)
		return;
	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

#endif /* WEFT_COMPAT_SOCK_H */
