// SPDX-License-Identifier: GPL-2.0
/* The lower-layer protocol over TCP: how streams begin and end; tcp_data.c has the rest. */
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "base/compat.h"
#include "llp/llp.h"

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
static void weft_llp_connection_ready(struct sock *sk)
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
 * @net: namespace it lives in, on which the caller has a reference; the socket
 *	takes one of its own, so that its timers never outlive the namespace
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
	/* What a listener accepts inherits this. */
	weft_sock_hold_net(sock->sk);
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

/*
 * Starts to listen, with a queue as long as the namespace allows at most. 0 or a
 * negative errno value.
 */
int weft_llp_listen(struct weft_llp *llp, int backlog)
{
	struct sock *sk = llp->sock->sk;

	/* What it accepts begins with its callbacks, and without an owner. */
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = weft_llp_connection_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	return kernel_listen(llp->sock,
			     min(backlog, READ_ONCE(sock_net(sk)->core.sysctl_somaxconn)));
}

/* Whether a listener has a connection to accept. Any context. */
bool weft_llp_incoming(struct weft_llp *listener)
{
	struct sock *sk = listener->sock->sk;

	return !reqsk_queue_empty(&inet_csk(sk)->icsk_accept_queue);
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

/**
 * weft_llp_charge_like() - charge a stream's memory as another's
 * @llp: the stream, which is charged to no memory cgroup
 * @other: the other, opened by the process that has to pay
 *
 * Process context; takes the socket lock.
 *
 * Return: 0, or -ENOMEM: there is a limit, and it is reached.
 */
int weft_llp_charge_like(struct weft_llp *llp, const struct weft_llp *other)
{
	struct sock *sk = llp->sock->sk;
	int rv;

	lock_sock(sk);
	rv = weft_sock_charge_like(sk, other->sock->sk);
	release_sock(sk);
	return rv;
}

/**
 * weft_llp_charge() - charge a stream's memory to the calling process
 * @llp: the stream, accepted
 *
 * An accepted socket is charged to the memory cgroup of whoever accepts it. That
 * is a worker of ours, whom nothing is charged to, so that a container could have
 * any amount of TCP's memory. Which group the caller's is, if it has one, is seen
 * from a socket that is made for that.
 *
 * The caller's context; takes the socket lock.
 *
 * Return: 0, or -ENOMEM and the like.
 */
int weft_llp_charge(struct weft_llp *llp)
{
	struct weft_llp sample = {};
	struct sock *sk = llp->sock->sk;
	int rv;

	if (!mem_cgroup_sockets_enabled)
		return 0;
	rv = sock_create_kern(sock_net(sk), sk->sk_family, SOCK_STREAM,
			      IPPROTO_TCP, &sample.sock);
	if (rv)
		return rv;
	rv = weft_llp_charge_like(llp, &sample);
	sock_release(sample.sock);
	return rv;
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

static void weft_llp_name_v4(struct sockaddr_storage *name, __be32 addr, __be16 port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)name;

	v4->sin_family = AF_INET;
	v4->sin_port = port;
	v4->sin_addr.s_addr = addr;
}

/*
 * A socket of both families has IPv4 addresses in IPv6's dress. The scope says on which
 * device a link-local address is.
 */
static void weft_llp_name_v6(const struct sock *sk, struct sockaddr_storage *name,
			     const struct in6_addr *addr, __be16 port)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)name;

	if (ipv6_addr_v4mapped(addr)) {
		weft_llp_name_v4(name, addr->s6_addr32[3], port);
		return;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = port;
	v6->sin6_addr = *addr;
	v6->sin6_scope_id = ipv6_iface_scope_id(addr, sk->sk_bound_dev_if);
}

/**
 * weft_llp_addresses() - tell both ends' addresses
 * @llp: the stream
 * @local: this end's; of family 0 on failure, as @remote
 * @remote: the peer's
 *
 * Without the socket lock, since a thread of a process may hold that and not be
 * allowed to run: an operator who looks at connections would wait for it. A socket
 * has its addresses from its connecting, or acceptance, until it is closed, and the
 * stream's owner does all three.
 *
 * Context: any; the owner keeps the stream.
 *
 * Return: 0, or -ENOTCONN: there is no peer, yet or any more.
 */
int weft_llp_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
		       struct sockaddr_storage *remote)
{
	const struct sock *sk = llp->sock->sk;
	const struct inet_sock *inet = inet_sk(sk);

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	if (!inet->inet_dport ||
	    (1 << READ_ONCE(sk->sk_state)) & (TCPF_CLOSE | TCPF_SYN_SENT))
		return -ENOTCONN;
	if (sk->sk_family == AF_INET6) {
		weft_llp_name_v6(sk, local, inet6_rcv_saddr(sk), inet->inet_sport);
		weft_llp_name_v6(sk, remote, weft_sock_v6_daddr(sk), inet->inet_dport);
	} else {
		weft_llp_name_v4(local, inet->inet_rcv_saddr, inet->inet_sport);
		weft_llp_name_v4(remote, inet->inet_daddr, inet->inet_dport);
	}
	return 0;
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
	if (abort) {
		sock_no_linger(sock->sk);
	} else {
		tcp_sock_set_user_timeout(sock->sk, WEFT_CLOSE_TIMEOUT_MS);
		sock->ops->setsockopt(sock, SOL_TCP, TCP_LINGER2,
				      KERNEL_SOCKPTR(&linger2),
				      sizeof(linger2));
	}
	sock_release(sock);
	kfree(llp);
}
