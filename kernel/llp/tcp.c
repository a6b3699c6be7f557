// SPDX-License-Identifier: GPL-2.0
/* TCP as a class of lower layers: how streams begin and end; tcp_data.c has the data path. */
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "base/compat.h"
#include "llp/tcp.h"

/* Keepalive: seconds between probes, and unanswered probes before the end. */
#define WEFT_KEEP_INTERVAL	10
#define WEFT_KEEP_PROBES	6
/* Time for TCP to finish a graceful close after we have freed the stream. */
#define WEFT_CLOSE_TIMEOUT_MS	10000
#define WEFT_FIN_WAIT2_S	10

/* --- callbacks --- */

/* Raises the writable event, or the changed event. */
static void llp_tcp_tell(struct sock *sk, bool writable)
{
	struct weft_llp *llp;

	/* The lock keeps the stream alive; RCU only satisfies the core's accessor. */
	read_lock_bh(&sk->sk_callback_lock);
	rcu_read_lock();
	llp = weft_tcp_stream(sk);
	if (llp && writable)
		llp->ops->writable(llp);
	else if (llp)
		llp->ops->changed(llp);
	rcu_read_unlock();
	read_unlock_bh(&sk->sk_callback_lock);
}

/* A listener has a new connection; called without the socket lock. */
static void llp_tcp_connection_ready(struct sock *sk)
{
	llp_tcp_tell(sk, false);
}

static void llp_tcp_write_space(struct sock *sk)
{
	struct socket *sock = sk->sk_socket;

	/* A connection that is not accepted yet has the listener's callbacks, and no socket. */
	if (!sock || !sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sock->flags);
	llp_tcp_tell(sk, true);
}

/*
 * Reads the packets that arrived before the connection's end, and reports the end after them. In a
 * softirq WEFT_TCP_AT_ONCE bytes are read; those behind are lost with a connection that was reset.
 */
static void llp_tcp_state_change(struct sock *sk)
{
	struct weft_llp *llp;

	rcu_read_lock();
	llp = weft_tcp_stream(sk);
	if (llp && sk->sk_state != TCP_LISTEN)
		weft_tcp_read_put_off(container_of(llp, struct weft_tcp, llp));
	rcu_read_unlock();
	llp_tcp_tell(sk, false);
}

static void llp_tcp_restore(struct sock *sk, const struct weft_tcp *tcp)
{
	lockdep_assert_held_write(&sk->sk_callback_lock);
	sk->sk_data_ready = tcp->saved_data_ready;
	sk->sk_write_space = tcp->saved_write_space;
	sk->sk_state_change = tcp->saved_state_change;
}

/* --- setting up --- */

/*
 * Makes the stream of a socket that nobody else uses, or returns an error pointer: -EBUSY if the
 * socket's user data is in use. Replaces the socket's callbacks; @from or the socket has those to
 * restore.
 */
static struct weft_llp *llp_tcp_new(struct socket *sock,
				    const struct weft_llp_ops *ops, void *owner,
				    const struct weft_tcp *from)
{
	struct weft_tcp *tcp = kzalloc(sizeof(*tcp), GFP_KERNEL_ACCOUNT);
	struct sock *sk = sock->sk;
	bool free;

	if (!tcp)
		return ERR_PTR(-ENOMEM);
	tcp->llp.class = &weft_tcp_class;
	tcp->llp.ops = ops;
	tcp->llp.owner = owner;
	tcp->llp.sock = sock;
	tasklet_setup(&tcp->late, weft_tcp_late);
	timer_setup(&tcp->later, weft_tcp_later, 0);
	tcp_sock_set_nodelay(sk);
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	free = !sk->sk_user_data;
	tcp->saved_data_ready = from ? from->saved_data_ready : sk->sk_data_ready;
	tcp->saved_write_space = from ? from->saved_write_space : sk->sk_write_space;
	tcp->saved_state_change = from ? from->saved_state_change : sk->sk_state_change;
	if (free) {
		/* Otherwise TCP drops an urgent byte at the read position. */
		sock_set_flag(sk, SOCK_URGINLINE);
		sk->sk_data_ready = weft_tcp_data_ready;
		sk->sk_write_space = llp_tcp_write_space;
		sk->sk_state_change = llp_tcp_state_change;
		__rcu_assign_sk_user_data_with_flags(sk, &tcp->llp, SK_USER_DATA_NOCOPY);
	}
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	if (free)
		return &tcp->llp;
	kfree(tcp);
	return ERR_PTR(-EBUSY);
}

static struct weft_llp *llp_tcp_open(struct net *net, int family,
				     const struct weft_llp_ops *ops, void *owner)
{
	struct socket *sock;
	struct weft_llp *llp;
	int ret;

	ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ERR_PTR(ret);
	/* Sockets that a listener accepts inherit this. */
	weft_sock_hold_net(sock->sk);
	llp = llp_tcp_new(sock, ops, owner, NULL);
	if (IS_ERR(llp))
		sock_release(sock);
	return llp;
}

static void llp_tcp_set_timeouts(struct weft_llp *llp, u32 keepalive, u32 user_timeout)
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

static int llp_tcp_listen(struct weft_llp *llp, int backlog)
{
	struct sock *sk = llp->sock->sk;

	/* Accepted sockets inherit this callback, and have no owner at first. */
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = llp_tcp_connection_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	return weft_sock_listen(llp, backlog);
}

static bool llp_tcp_incoming(struct weft_llp *listener)
{
	struct sock *sk = listener->sock->sk;

	return !reqsk_queue_empty(&inet_csk(sk)->icsk_accept_queue);
}

static struct weft_llp *llp_tcp_accept(struct weft_llp *listener,
				       const struct weft_llp_ops *ops, void *owner)
{
	struct weft_tcp *from = container_of(listener, struct weft_tcp, llp);
	struct socket *sock;
	struct weft_llp *llp;
	int ret;

	ret = kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (ret)
		return ERR_PTR(ret);
	llp = llp_tcp_new(sock, ops, owner, from);
	if (!IS_ERR(llp))
		return llp;
	/* Restore them before the socket is freed, even if there was no memory for a stream. */
	write_lock_bh(&sock->sk->sk_callback_lock);
	llp_tcp_restore(sock->sk, from);
	write_unlock_bh(&sock->sk->sk_callback_lock);
	sock_release(sock);
	if (llp != ERR_PTR(-EBUSY))
		return llp;
	pr_warn_ratelimited("weft: a connection is refused, because a BPF program has put it into a sockmap: exempt Weft's ports from that\n");
	return ERR_PTR(-ECONNABORTED);
}

/* Needs no lock, because only the stream's owner connects, accepts or closes the socket. */
static int llp_tcp_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
			     struct sockaddr_storage *remote)
{
	const struct sock *sk = llp->sock->sk;
	const struct inet_sock *inet = inet_sk(sk);

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	if (!inet->inet_dport || (1 << READ_ONCE(sk->sk_state)) & (TCPF_CLOSE | TCPF_SYN_SENT))
		return -ENOTCONN;
	if (sk->sk_family == AF_INET6) {
		weft_sock_name_v6(local, inet6_rcv_saddr(sk), inet->inet_sport,
				  sk->sk_bound_dev_if);
		weft_sock_name_v6(remote, weft_sock_v6_daddr(sk), inet->inet_dport,
				  sk->sk_bound_dev_if);
	} else {
		weft_sock_name_v4(local, inet->inet_rcv_saddr, inet->inet_sport);
		weft_sock_name_v4(remote, inet->inet_daddr, inet->inet_dport);
	}
	return 0;
}

static enum weft_llp_state llp_tcp_state(struct weft_llp *llp)
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

static int llp_tcp_error(struct weft_llp *llp)
{
	return sock_error(llp->sock->sk);
}

static int llp_tcp_recv(struct weft_llp *llp, void *buf, u32 len)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	return kernel_recvmsg(llp->sock, &msg, &iov, 1, len, msg.msg_flags);
}

static int llp_tcp_send(struct weft_llp *llp, const void *buf, u32 len)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR };

	return kernel_sendmsg(llp->sock, &msg, &iov, 1, len);
}

static void llp_tcp_shutdown(struct weft_llp *llp)
{
	kernel_sock_shutdown(llp->sock, SHUT_WR);
}

static void llp_tcp_close(struct weft_llp *llp, bool abort)
{
	struct weft_tcp *tcp = container_of(llp, struct weft_tcp, llp);
	struct socket *sock = llp->sock;
	int linger2 = WEFT_FIN_WAIT2_S;
	struct sock *sk = sock->sk;

	lock_sock(sk);
	WRITE_ONCE(tcp->put_off, 0);
	WRITE_ONCE(tcp->resumed, false);
	write_lock_bh(&sk->sk_callback_lock);
	llp_tcp_restore(sk, tcp);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	tasklet_kill(&tcp->late);
	timer_delete_sync(&tcp->later); /* with nothing to read, nothing restarts it */
	if (abort) {
		sock_no_linger(sk);
	} else {
		tcp_sock_set_user_timeout(sk, WEFT_CLOSE_TIMEOUT_MS);
		sock->ops->setsockopt(sock, SOL_TCP, TCP_LINGER2, KERNEL_SOCKPTR(&linger2),
				      sizeof(linger2));
	}
	sock_release(sock);
	kfree(tcp);
}

static void llp_tcp_adopt(struct weft_llp *llp, const struct weft_llp_ops *ops, void *owner,
			  bool later)
{
	struct sock *sk = llp->sock->sk;

	lock_sock(sk);
	/* An owner that reads later gathers packets itself. */
	container_of(llp, struct weft_tcp, llp)->at_once = later;
	write_lock_bh(&sk->sk_callback_lock);
	llp->ops = ops;
	llp->owner = owner;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/* --- as one of several paths --- */

static struct net *path_tcp_net(const struct weft_llp *llp)
{
	return sock_net(llp->sock->sk);
}

static struct mem_cgroup *path_tcp_payer(const struct weft_llp *llp)
{
	return weft_sock_memcg_get(llp->sock->sk);
}

static u16 path_tcp_port(const struct weft_llp *listener)
{
	return ntohs(inet_sk(listener->sock->sk)->inet_sport);
}

static void path_tcp_set_lowat(struct weft_llp *llp, u32 bytes)
{
	struct socket *sock = llp->sock;

	sock->ops->setsockopt(sock, SOL_TCP, TCP_NOTSENT_LOWAT, KERNEL_SOCKPTR(&bytes),
			      sizeof(bytes));
}

static void path_tcp_flight(const struct weft_llp *llp, struct weft_llp_flight *flight)
{
	const struct tcp_sock *tp = tcp_sk(llp->sock->sk);
	u32 rto_us;

	flight->una = READ_ONCE(tp->snd_una);
	flight->end = READ_ONCE(tp->write_seq);
	/* TCP may write these meanwhile; any of their values will do. */
	flight->window = data_race((u64)tp->snd_cwnd * tp->mss_cache);
	/* The same. */
	flight->rtt_us = data_race(tp->srtt_us) >> 3;
	/* The same. */
	rto_us = flight->rtt_us + data_race(tp->rttvar_us);
	flight->rto = max_t(unsigned long, usecs_to_jiffies(rto_us), TCP_RTO_MIN);
}

static const struct weft_llp_path path_tcp = {
	.net = path_tcp_net,
	.payer = path_tcp_payer,
	.port = path_tcp_port,
	.set_lowat = path_tcp_set_lowat,
	.flight = path_tcp_flight,
};

const struct weft_llp_class weft_tcp_class = {
	.name = "tcp",
	.open = llp_tcp_open,
	.bind = weft_sock_bind,
	.set_tos = weft_sock_set_tos,
	.set_timeouts = llp_tcp_set_timeouts,
	.listen = llp_tcp_listen,
	.incoming = llp_tcp_incoming,
	.accept = llp_tcp_accept,
	.charge = weft_sock_charge,
	.charge_like = weft_sock_charge_as,
	.adopt = llp_tcp_adopt,
	.connect = weft_sock_connect,
	.addresses = llp_tcp_addresses,
	.state = llp_tcp_state,
	.error = llp_tcp_error,
	.recv = llp_tcp_recv,
	.send = llp_tcp_send,
	.shutdown = llp_tcp_shutdown,
	.close = llp_tcp_close,
	.path = &path_tcp,
};
