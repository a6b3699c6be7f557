// SPDX-License-Identifier: GPL-2.0
/* The lower-layer protocol over TCP. */
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../compat.h"
#include "../wire/plan.h"
#include "llp.h"

/* A connection that lost its peer is noticed: probes, and seconds between them. */
#define WEFT_KEEP_INTERVAL	10
#define WEFT_KEEP_PROBES	6
/* How long TCP may take to finish a graceful close by itself. */
#define WEFT_CLOSE_TIMEOUT_MS	10000
#define WEFT_FIN_WAIT2_S	10

/* --- callbacks --- */

static void weft_llp_call(struct sock *sk,
			  void (*pick)(const struct weft_llp_ops *ops,
				       struct weft_llp *llp))
{
	struct weft_llp *llp;

	/* The lock keeps the stream; the core's accessor wants to see RCU. */
	read_lock_bh(&sk->sk_callback_lock);
	rcu_read_lock();
	llp = rcu_dereference_sk_user_data(sk);
	/* A connection not yet accepted has its listener's callbacks and no owner. */
	if (llp)
		pick(llp->ops, llp);
	rcu_read_unlock();
	read_unlock_bh(&sk->sk_callback_lock);
}

static void weft_llp_pick_writable(const struct weft_llp_ops *ops,
				   struct weft_llp *llp)
{
	ops->writable(llp);
}

static void weft_llp_pick_changed(const struct weft_llp_ops *ops,
				  struct weft_llp *llp)
{
	ops->changed(llp);
}

/* A listener has a new connection; called without the socket lock. */
static void weft_llp_incoming(struct sock *sk)
{
	weft_llp_call(sk, weft_llp_pick_changed);
}

/* A connection has data; called with the socket lock, which weft_llp_detach() takes. */
static void weft_llp_data_ready(struct sock *sk)
{
	struct weft_llp *llp;

	rcu_read_lock();
	llp = rcu_dereference_sk_user_data(sk);
	if (llp)
		llp->ops->readable(llp);
	rcu_read_unlock();
}

static void weft_llp_write_space(struct sock *sk)
{
	if (!sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	weft_llp_call(sk, weft_llp_pick_writable);
}

static void weft_llp_state_change(struct sock *sk)
{
	weft_llp_call(sk, weft_llp_pick_changed);
}

/* Takes a socket's callbacks over; @from has those to go back to. */
static void weft_llp_attach(struct weft_llp *llp, const struct weft_llp *from)
{
	struct sock *sk = llp->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	llp->saved_data_ready = from ? from->saved_data_ready : sk->sk_data_ready;
	llp->saved_write_space = from ? from->saved_write_space : sk->sk_write_space;
	llp->saved_state_change = from ? from->saved_state_change : sk->sk_state_change;
	sk->sk_data_ready = weft_llp_data_ready;
	sk->sk_write_space = weft_llp_write_space;
	sk->sk_state_change = weft_llp_state_change;
	__rcu_assign_sk_user_data_with_flags(sk, llp, SK_USER_DATA_NOCOPY);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

static void weft_llp_detach(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = llp->saved_data_ready;
	sk->sk_write_space = llp->saved_write_space;
	sk->sk_state_change = llp->saved_state_change;
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/* --- setting up --- */

static struct weft_llp *weft_llp_new(struct socket *sock,
				     const struct weft_llp_ops *ops, void *owner,
				     const struct weft_llp *from)
{
	struct weft_llp *llp = kzalloc(sizeof(*llp), GFP_KERNEL);

	if (!llp)
		return NULL;
	llp->sock = sock;
	llp->ops = ops;
	llp->owner = owner;
	tcp_sock_set_nodelay(sock->sk);
	weft_llp_attach(llp, from);
	return llp;
}

/**
 * weft_llp_open() - make an unconnected stream
 * @net: namespace it lives in
 * @family: AF_INET or AF_INET6
 * @ops: where events go
 * @owner: the owner's
 *
 * Return: the stream or an error pointer.
 */
struct weft_llp *weft_llp_open(struct net *net, int family,
			       const struct weft_llp_ops *ops, void *owner)
{
	struct socket *sock;
	struct weft_llp *llp;
	int rv;

	rv = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (rv)
		return ERR_PTR(rv);
	llp = weft_llp_new(sock, ops, owner, NULL);
	if (llp)
		return llp;
	sock_release(sock);
	return ERR_PTR(-ENOMEM);
}

static int weft_llp_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

/**
 * weft_llp_bind() - give a stream its local address
 * @llp: the stream, unconnected
 * @addr: address and port; port 0 lets TCP choose
 * @v6only: an IPv6 wildcard takes no IPv4 connections
 *
 * Return: 0 or a negative errno value.
 */
int weft_llp_bind(struct weft_llp *llp, const struct sockaddr_storage *addr,
		  bool v6only)
{
	struct sockaddr_storage copy = *addr;

	sock_set_reuseaddr(llp->sock->sk);
	if (v6only && addr->ss_family == AF_INET6)
		ip6_sock_set_v6only(llp->sock->sk);
	return kernel_bind(llp->sock, (struct sockaddr *)&copy,
			   weft_llp_addr_len(addr));
}

/* Sets the type of service of what is sent. 0 or a negative errno value. */
int weft_llp_set_tos(struct weft_llp *llp, u8 tos)
{
	struct sock *sk = llp->sock->sk;

	if (sk->sk_family == AF_INET) {
		ip_sock_set_tos(sk, tos);
		return 0;
	}
	lock_sock(sk);
	inet6_sk(sk)->tclass = tos;
	release_sock(sk);
	return 0;
}

/**
 * weft_llp_set_timeouts() - how soon a peer that is gone is noticed
 * @llp: the stream
 * @keepalive: seconds of silence before the peer is asked; 0: never
 * @user_timeout: seconds that sent data may go unacknowledged; 0: TCP's own
 *
 * Process context.
 */
void weft_llp_set_timeouts(struct weft_llp *llp, u32 keepalive,
			   u32 user_timeout)
{
	struct sock *sk = llp->sock->sk;

	tcp_sock_set_user_timeout(sk, user_timeout * MSEC_PER_SEC);
	if (!keepalive)
		return;
	tcp_sock_set_keepidle(sk, keepalive);
	tcp_sock_set_keepintvl(sk, min_t(u32, keepalive, WEFT_KEEP_INTERVAL));
	tcp_sock_set_keepcnt(sk, WEFT_KEEP_PROBES);
	sock_set_keepalive(sk);
}

/* Starts to listen. 0 or a negative errno value. */
int weft_llp_listen(struct weft_llp *llp, int backlog)
{
	struct sock *sk = llp->sock->sk;

	/* What it accepts begins with its callbacks, and without an owner. */
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = weft_llp_incoming;
	write_unlock_bh(&sk->sk_callback_lock);
	return kernel_listen(llp->sock, backlog);
}

/**
 * weft_llp_accept() - take a new connection from a listener
 * @listener: the listener
 * @ops: where its events go
 * @owner: the new stream's owner
 *
 * Events from before the acceptance are lost: the owner looks once by itself.
 *
 * Return: the stream, or an error pointer: -EAGAIN if there is none.
 */
struct weft_llp *weft_llp_accept(struct weft_llp *listener,
				 const struct weft_llp_ops *ops, void *owner)
{
	struct socket *sock;
	struct weft_llp *llp;
	int rv;

	rv = kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (rv)
		return ERR_PTR(rv);
	llp = weft_llp_new(sock, ops, owner, listener);
	if (llp)
		return llp;
	/* Not ours to answer: put the callbacks back before it goes. */
	lock_sock(sock->sk);
	write_lock_bh(&sock->sk->sk_callback_lock);
	sock->sk->sk_data_ready = listener->saved_data_ready;
	sock->sk->sk_write_space = listener->saved_write_space;
	sock->sk->sk_state_change = listener->saved_state_change;
	write_unlock_bh(&sock->sk->sk_callback_lock);
	release_sock(sock->sk);
	sock_release(sock);
	return ERR_PTR(-ENOMEM);
}

/* Starts to connect; the changed event tells the outcome. 0 or a negative errno value. */
int weft_llp_connect(struct weft_llp *llp, const struct sockaddr_storage *to)
{
	struct sockaddr_storage copy = *to;
	int rv;

	rv = kernel_connect(llp->sock, (struct sockaddr *)&copy,
			    weft_llp_addr_len(to), O_NONBLOCK);
	return rv == -EINPROGRESS ? 0 : rv;
}

/* Tells both ends' addresses; either pointer may be NULL. 0 or a negative errno value. */
int weft_llp_names(struct weft_llp *llp, struct sockaddr_storage *local,
		   struct sockaddr_storage *remote)
{
	int rv = 0;

	if (local)
		rv = kernel_getsockname(llp->sock, (struct sockaddr *)local);
	if (rv >= 0 && remote)
		rv = kernel_getpeername(llp->sock, (struct sockaddr *)remote);
	return rv < 0 ? rv : 0;
}

/* What the connection is at. Any context. */
enum weft_llp_state weft_llp_state(struct weft_llp *llp)
{
	switch (READ_ONCE(llp->sock->sk->sk_state)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return WEFT_LLP_CONNECTING;
	case TCP_CLOSE_WAIT:
	case TCP_LAST_ACK:
	case TCP_CLOSING:
	case TCP_TIME_WAIT:
		return WEFT_LLP_PEER_CLOSED;
	case TCP_CLOSE:
		return WEFT_LLP_DEAD;
	default:
		return WEFT_LLP_OPEN;
	}
}

/* Why the connection failed, a negative errno value; 0 if it did not. Once. */
int weft_llp_error(struct weft_llp *llp)
{
	return sock_error(llp->sock->sk);
}

/**
 * weft_llp_recv() - take bytes off the stream, for the handshake
 * @llp: the stream
 * @buf: where they go
 * @len: at most so many
 *
 * Does not wait.
 *
 * Return: bytes taken; 0 at the end of the stream; -EAGAIN if there are none
 * now; another negative errno value if it failed.
 */
int weft_llp_recv(struct weft_llp *llp, void *buf, u32 len)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	return kernel_recvmsg(llp->sock, &msg, &iov, 1, len, msg.msg_flags);
}

/**
 * weft_llp_send() - send bytes by copy, for the handshake
 * @llp: the stream
 * @buf: the bytes
 * @len: how many
 *
 * Does not wait. What is sent next starts a packet buffer of its own.
 *
 * Return: bytes taken or a negative errno value.
 */
int weft_llp_send(struct weft_llp *llp, const void *buf, u32 len)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR };

	return kernel_sendmsg(llp->sock, &msg, &iov, 1, len);
}

/* Ends our direction: the peer reads what was sent and then the end. */
void weft_llp_shutdown(struct weft_llp *llp)
{
	kernel_sock_shutdown(llp->sock, SHUT_WR);
}

/**
 * weft_llp_close() - end a stream and free it
 * @llp: the stream
 * @abort: by a reset at once; otherwise TCP delivers, by itself and for a
 *	bounded time, what was sent
 *
 * May sleep. No event comes any more when this returns.
 */
void weft_llp_close(struct weft_llp *llp, bool abort)
{
	struct socket *sock = llp->sock;
	int linger2 = WEFT_FIN_WAIT2_S;

	weft_llp_detach(llp);
	/* Without its namespace TCP could not finish: a dying one ends by reset too. */
	if (sock->sk->sk_state != TCP_LISTEN &&
	    (abort || !weft_sock_hold_net(sock->sk))) {
		sock_no_linger(sock->sk);
	} else if (sock->sk->sk_state != TCP_LISTEN) {
		tcp_sock_set_user_timeout(sock->sk, WEFT_CLOSE_TIMEOUT_MS);
		sock->ops->setsockopt(sock, SOL_TCP, TCP_LINGER2,
				      KERNEL_SOCKPTR(&linger2),
				      sizeof(linger2));
	}
	sock_release(sock);
	kfree(llp);
}

/* --- the data path --- */

/* Takes the socket lock. Process context. */
void weft_llp_lock(struct weft_llp *llp)
{
	lock_sock(llp->sock->sk);
}

/* Lets it go; what arrived meanwhile is received now. */
void weft_llp_unlock(struct weft_llp *llp)
{
	release_sock(llp->sock->sk);
}

/*
 * Lowers the segment size to a multiple of four, so that a train of FPDUs of
 * that size is cut by segmentation exactly between them.
 */
static void weft_llp_round_mss(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 options = tp->tcp_header_len - sizeof(struct tcphdr) +
		      inet_csk(sk)->icsk_ext_hdr_len;

	tp->rx_opt.mss_clamp = min_t(u32, tp->rx_opt.mss_clamp,
				     (tp->mss_cache & ~3U) + options);
	tcp_sync_mss(sk, inet_csk(sk)->icsk_pmtu_cookie);
}

/**
 * weft_llp_emss() - the effective segment size
 * @llp: the stream, connected
 *
 * Return: bytes, a multiple of four, at least WEFT_MIN_EMSS.
 */
u32 weft_llp_emss(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;

	if (unlikely(tcp_sk(sk)->mss_cache & 3))
		weft_llp_round_mss(sk);
	return clamp_t(u32, tcp_sk(sk)->mss_cache & ~3U, WEFT_MIN_EMSS,
		       WEFT_MAX_ULPDU & ~3U);
}

/**
 * weft_llp_train() - what the largest packet buffer holds in whole segments
 * @llp: the stream
 * @emss: its segment size
 *
 * Return: bytes, a multiple of @emss, and not 0.
 */
u32 weft_llp_train(struct weft_llp *llp, u32 emss)
{
	struct sock *sk = llp->sock->sk;
	u32 most = sk_can_gso(sk) ? READ_ONCE(sk->sk_gso_max_size) : 0;

	return max(most / emss, 1U) * emss;
}

/**
 * weft_llp_room() - what the segment has left that the next byte goes to
 * @llp: the stream
 * @emss: its segment size
 *
 * The last packet buffer that is not sent yet, if more can be added to it,
 * starts on an FPDU's boundary, and so does each segment in it.
 *
 * Return: bytes, 1 to @emss, a multiple of four.
 */
u32 weft_llp_room(struct weft_llp *llp, u32 emss)
{
	struct sock *sk = llp->sock->sk;
	struct sk_buff *skb = tcp_write_queue_tail(sk);
	u32 rest;

	if (!skb || !tcp_send_head(sk) || TCP_SKB_CB(skb)->eor)
		return emss;
	rest = skb->len % emss;
	if (!rest)
		return emss;
	if ((rest & 3) || skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS) {
		TCP_SKB_CB(skb)->eor = 1;
		return emss;
	}
	return emss - rest;
}

/* Nothing more is added to the last packet buffer: the next byte starts a new one. */
void weft_llp_end_segment(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;
	struct sk_buff *skb = tcp_write_queue_tail(sk);

	if (skb && tcp_send_head(sk))
		TCP_SKB_CB(skb)->eor = 1;
}

/**
 * weft_llp_want_space() - ask for the writable event once there is room
 * @llp: the stream; a send found no room
 *
 * Return: false if there is room already, so that it was memory that lacked
 * and no event will tell when it is back.
 */
bool weft_llp_want_space(struct weft_llp *llp)
{
	if (sk_stream_is_writeable(llp->sock->sk))
		return false;
	set_bit(SOCK_NOSPACE, &llp->sock->flags);
	return true;
}

/**
 * weft_llp_send_page() - hand bytes over without copying them
 * @llp: the stream
 * @page: where they are; TCP takes a reference of its own
 * @offset: within @page
 * @len: how many; they are not changed any more
 * @more: more follows at once: no need to send yet
 *
 * Return: bytes taken, maybe fewer; -EAGAIN if there is no room; another
 * negative errno value if the stream has failed.
 */
int weft_llp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
		       u32 len, bool more)
{
	return weft_tcp_send_page(llp->sock->sk, page, offset, len, more);
}

/**
 * weft_llp_may_lend() - can pages be sent from where they lie?
 * @llp: the stream, connected
 *
 * Return: false if TCP would copy them, or they would not leave the machine.
 */
bool weft_llp_may_lend(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;
	struct dst_entry *dst = __sk_dst_get(sk);

	return (sk->sk_route_caps & NETIF_F_SG) && dst &&
	       !(READ_ONCE(dst->dev->flags) & IFF_LOOPBACK);
}

/**
 * weft_llp_lend() - have bytes sent from where they lie
 * @llp: the stream
 * @ubuf: told when each packet buffer with some of them is gone or was copied; of
 *	which it has a reference
 * @bv: where they are; TCP takes references of its own
 * @num: how many of @bv
 * @from: how many bytes of them TCP has already
 * @len: bytes in all
 * @more: as for weft_llp_send_page()
 *
 * Return: as weft_llp_send_page().
 */
int weft_llp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		  const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY |
			     (more ? MSG_MORE : 0),
	};

	weft_msg_lend(&msg, ubuf);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, num, len);
	iov_iter_advance(&msg.msg_iter, from);
	return tcp_sendmsg_locked(llp->sock->sk, &msg, len - from);
}

/* Whether the peer ended the stream and all of it has been read. */
bool weft_llp_at_end(struct weft_llp *llp)
{
	struct sock *sk = llp->sock->sk;

	return ((sk->sk_shutdown & RCV_SHUTDOWN) || sk->sk_state == TCP_CLOSE) &&
	       skb_queue_empty(&sk->sk_receive_queue);
}

struct weft_llp_reader {
	const struct sk_buff_head *queue;
	weft_llp_actor actor;
	void *ctx;
};

static int weft_llp_read_one(read_descriptor_t *desc, struct sk_buff *skb,
			     unsigned int offset, size_t len)
{
	struct weft_llp_reader *reader = desc->arg.data;

	/* Behind the last packet TCP need not look for another: the lock is held. */
	desc->count = !skb_queue_is_last(reader->queue, skb);
	return reader->actor(reader->ctx, skb, offset, len);
}

/**
 * weft_llp_read() - read packet buffers where they lie
 * @llp: the stream
 * @actor: takes bytes of one packet
 * @ctx: for @actor
 */
void weft_llp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct sock *sk = llp->sock->sk;
	struct weft_llp_reader reader = {
		.queue = &sk->sk_receive_queue,
		.actor = actor,
		.ctx = ctx,
	};
	read_descriptor_t desc = { .arg.data = &reader, .count = 1 };

	/* Urgent bytes are bytes like any other here. */
	if (unlikely(tcp_sk(sk)->urg_data))
		tcp_sk(sk)->urg_data = 0;
	tcp_read_sock(sk, &desc, weft_llp_read_one);
}
