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

/* Returns false if a packet has fragments in a device's memory, which older kernels do not know. */
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

/* Returns true if packets go where programs run: receive flow steering (RFS) is in use. */
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

/* Addresses handed to the kernel's sockets have a type of their own, since they have no size. */
#ifndef HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized	sockaddr
#endif

/*
 * Makes a kernel socket hold its network namespace until the socket is gone, as a user's
 * socket does. TCP's timers run on after the close, to send a lost FIN again. Without the
 * reference they could run in a namespace that was freed. The socket is new, nobody else
 * has seen it, and the caller holds a reference on the namespace. A socket that was cloned
 * from a listener that holds its namespace holds it already.
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
