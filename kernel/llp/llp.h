/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lower-layer protocol: one ordered byte stream below MPA. TCP today
 * (tcp.c); nothing above this header may know which.
 */
#ifndef WEFT_LLP_H
#define WEFT_LLP_H

#include <linux/bvec.h>
#include <linux/mm_types.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>
#include <net/sock.h>

struct weft_llp;

/**
 * struct weft_llp_ops - what the stream tells its owner
 * @readable: bytes, or the end of the stream, can be read
 * @writable: a send that found no room may be tried again
 * @changed: the connection was made, ended or failed; ask weft_llp_state().
 *	On a listener: a connection can be accepted
 *
 * All run with the socket lock held, in softirq or in a process that lets the
 * socket go; they may neither sleep nor close the stream.
 */
struct weft_llp_ops {
	void (*readable)(struct weft_llp *llp);
	void (*writable)(struct weft_llp *llp);
	void (*changed)(struct weft_llp *llp);
};

/**
 * struct weft_llp - one stream
 * @sock: the kernel socket
 * @ops: where events go, fixed at creation
 * @owner: for the owner's use
 * @saved_data_ready: the socket's own callbacks, put back before it is closed
 * @saved_write_space: see @saved_data_ready
 * @saved_state_change: see @saved_data_ready
 * @mss_clamp: the peer's limit of a segment, before it was lowered to a multiple of
 *	four; 0 until it is first looked at
 * @pmtu: the path MTU that it was lowered for
 * @max_window: the peer's largest window then
 *
 * Owned by whoever called weft_llp_open() or weft_llp_accept(), and freed by
 * weft_llp_close(), after which no callback runs or will run. The socket holds
 * its network namespace until TCP is through with it, after the close.
 */
struct weft_llp {
	struct socket *sock;
	const struct weft_llp_ops *ops;
	void *owner;
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);
	u16 mss_clamp;
	u32 pmtu;
	u32 max_window;
};

enum weft_llp_state {
	WEFT_LLP_CONNECTING,
	WEFT_LLP_OPEN,		/* both directions */
	WEFT_LLP_PEER_CLOSED,	/* the peer's FIN is here (data may precede it) */
	WEFT_LLP_DEAD,		/* reset, timed out or fully closed */
};

/* --- setting up and tearing down: process context, may sleep --- */

struct weft_llp *weft_llp_open(struct net *net, int family,
			       const struct weft_llp_ops *ops, void *owner);
int weft_llp_bind(struct weft_llp *llp, const struct sockaddr_storage *addr,
		  bool v6only);
int weft_llp_set_tos(struct weft_llp *llp, u8 tos);
void weft_llp_set_timeouts(struct weft_llp *llp, u32 keepalive,
			   u32 user_timeout);
int weft_llp_listen(struct weft_llp *llp, int backlog);
bool weft_llp_incoming(struct weft_llp *listener);
struct weft_llp *weft_llp_accept(struct weft_llp *listener,
				 const struct weft_llp_ops *ops, void *owner);
int weft_llp_charge(struct weft_llp *llp);
int weft_llp_charge_like(struct weft_llp *llp, const struct weft_llp *other);
int weft_llp_connect(struct weft_llp *llp, const struct sockaddr_storage *to);
int weft_llp_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
		       struct sockaddr_storage *remote);
enum weft_llp_state weft_llp_state(struct weft_llp *llp);
int weft_llp_error(struct weft_llp *llp);
int weft_llp_recv(struct weft_llp *llp, void *buf, u32 len);
int weft_llp_send(struct weft_llp *llp, const void *buf, u32 len);
void weft_llp_shutdown(struct weft_llp *llp);
void weft_llp_close(struct weft_llp *llp, bool abort);

/* --- the data path: with weft_llp_lock() held, or inside a callback --- */

void weft_llp_lock(struct weft_llp *llp);
void weft_llp_unlock(struct weft_llp *llp);

/* Warns, in kernels that check locks, if the caller does not hold the socket lock. */
static inline void weft_llp_assert_locked(const struct weft_llp *llp)
{
	sock_owned_by_me(llp->sock->sk);
}

u32 weft_llp_emss(struct weft_llp *llp);
u32 weft_llp_train(struct weft_llp *llp, u32 emss);
u32 weft_llp_room(struct weft_llp *llp, u32 emss);
u32 weft_llp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len);
bool weft_llp_want_space(struct weft_llp *llp);
void weft_llp_end_segment(struct weft_llp *llp);
int weft_llp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
		       u32 len, bool more);
bool weft_llp_may_lend(struct weft_llp *llp);
int weft_llp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		  const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more);

/*
 * Hands the actor one packet buffer after the other. The actor returns how
 * many of the @len bytes from @offset it took; less than @len ends the walk.
 */
typedef u32 (*weft_llp_actor)(void *ctx, struct sk_buff *skb, u32 offset,
			      u32 len);
bool weft_llp_unsent(struct weft_llp *llp);
bool weft_llp_ended(struct weft_llp *llp);
bool weft_llp_at_end(struct weft_llp *llp);
void weft_llp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx);
void weft_llp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx);
void weft_llp_await(struct weft_llp *llp, u32 bytes);
bool weft_llp_full(struct weft_llp *llp);

#endif /* WEFT_LLP_H */
