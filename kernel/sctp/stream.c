// SPDX-License-Identifier: GPL-2.0
/*
 * SCTP as a class of lower layers: beginning and end of associations. See llp.h for the functions.
 *
 * SCTP calls a socket's own callbacks for some events only, but wakes its wait queue for all.
 * So each socket has an entry there, whose work item looks for the event.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include <net/sctp/sctp.h>

#include "base/compat.h"
#include "base/baton.h"
#include "sctp/sctp.h"
#include "wire/session.h"

/* Retransmissions without an answer after which SCTP gives an association up. */
#define WEFT_SCTP_RETRIES	8
/* Limits of the retransmission timeout, in ms. */
#define WEFT_SCTP_MIN_RTO	1000U
#define WEFT_SCTP_MAX_RTO	60000U
/*
 * Limit of the retransmission timeout of a closed association, in ms. SCTP's T5-shutdown-guard
 * timer is five times the limit that a socket had when its association was made.
 */
#define WEFT_SCTP_CLOSE_RTO	2000U
/*
 * Least receive buffer. SCTP stalls if a message does not fit. The longest has 64 KiB, and its
 * packet buffers take up to three times as much.
 */
#define WEFT_SCTP_MIN_ROOM	(256 * 1024)

struct weft_sctp_settings weft_sctp_settings = { .out_of_order = true };

/* Streams, of which some may belong to no device. The module stays as long as there are any. */
static atomic_t streams = ATOMIC_INIT(0);

/* An entry's callback in the socket's wait queue. Any context. */
static int sctp_wake(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key)
{
	struct weft_sctp *s = container_of(wait, struct weft_sctp, wait);
	__poll_t events = key_to_poll(key);

	/* Pairs with the barrier in weft_sctp_want_space(). */
	smp_mb();
	/* Each SACK reports room; ignore room alone unless a send waits for it. */
	if (events && !(events & ~(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)) &&
	    !READ_ONCE(s->want_space))
		return 0;
	weft_sctp_start(s);
	return 0;
}

static void sctp_work(struct work_struct *work)
{
	struct weft_sctp *s = container_of(to_delayed_work(work), struct weft_sctp, work);

	if (!weft_baton_try(&s->lock, 0))
		return;
	if (s->listening)
		s->llp.ops->changed(&s->llp);
	else
		weft_sctp_progress(s);
	weft_sctp_unlock(&s->llp);
}

static int sctp_option(struct socket *sock, int name, void *value, unsigned int len)
{
	return sock->ops->setsockopt(sock, SOL_SCTP, name, KERNEL_SOCKPTR(value), len);
}

/* Sets the options that accepted sockets inherit. */
static int sctp_configure(struct socket *sock)
{
	struct sctp_setadaptation adaptation = { .ssb_adaptation_ind = WEFT_SCTP_ADAPTATION };
	struct sctp_sndinfo info = {
		.snd_flags = SCTP_UNORDERED,
		.snd_ppid = (__force __u32)htonl(WEFT_SCTP_PPID_SEGMENT),
	};
	/* Limits the streams that a peer can make SCTP allocate. */
	struct sctp_initmsg init = { .sinit_num_ostreams = 1, .sinit_max_instreams = 1 };
	/* The T5-shutdown-guard timer of accepted associations is five times this. */
	struct sctp_rtoinfo rto = { .srto_max = WEFT_SCTP_CLOSE_RTO };
	/* Refuses RFC 3758: a peer that abandons a message could end it between its parts. */
	struct sctp_assoc_value abandons = {};
	int on = 1, ret;

	ret = sctp_option(sock, SCTP_NODELAY, &on, sizeof(on));
	if (!ret)
		ret = sctp_option(sock, SCTP_PR_SUPPORTED, &abandons, sizeof(abandons));
	if (!ret)
		ret = sctp_option(sock, SCTP_RECVRCVINFO, &on, sizeof(on));
	if (!ret)
		ret = sctp_option(sock, SCTP_ADAPTATION_LAYER, &adaptation, sizeof(adaptation));
	if (!ret)
		ret = sctp_option(sock, SCTP_DEFAULT_SNDINFO, &info, sizeof(info));
	if (!ret)
		ret = sctp_option(sock, SCTP_INITMSG, &init, sizeof(init));
	return ret ?: sctp_option(sock, SCTP_RTOINFO, &rto, sizeof(rto));
}

static struct weft_sctp *sctp_new(struct socket *sock, const struct weft_llp_ops *ops, void *owner)
{
	struct weft_sctp *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return NULL;
	s->llp.class = &weft_sctp_class;
	s->llp.ops = ops;
	s->llp.owner = owner;
	s->llp.sock = sock;
	s->llp.arrivals = &s->arrivals;
	s->state = WEFT_LLP_CONNECTING;
	s->max_rto = WEFT_SCTP_MAX_RTO;
	weft_baton_init(&s->lock);
	weft_arrivals_init(&s->arrivals, 0, WEFT_SCTP_MAX_AHEAD,
			   READ_ONCE(weft_sctp_settings.out_of_order));
	INIT_DELAYED_WORK(&s->work, sctp_work);
	init_waitqueue_func_entry(&s->wait, sctp_wake);
	add_wait_queue(sk_sleep(sock->sk), &s->wait);
	atomic_inc(&streams);
	return s;
}

static struct weft_llp *llp_sctp_open(struct net *net, int family,
				      const struct weft_llp_ops *ops, void *owner)
{
	struct weft_sctp *s;
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_SCTP, &sock);
	if (ret == -EPROTONOSUPPORT || ret == -ESOCKTNOSUPPORT)
		pr_warn_ratelimited("weft: this kernel has no SCTP (error %d): install its module sctp, or set weft's transport to tcp\n",
				    ret);
	if (ret)
		return ERR_PTR(ret);
	weft_sock_hold_net(sock->sk);
	/* sock_set_rcvbuf() doubles the value. */
	if (sock->sk->sk_rcvbuf < WEFT_SCTP_MIN_ROOM)
		sock_set_rcvbuf(sock->sk, WEFT_SCTP_MIN_ROOM / 2);
	ret = sctp_configure(sock);
	if (ret) {
		sock_release(sock);
		return ERR_PTR(ret);
	}
	s = sctp_new(sock, ops, owner);
	if (s)
		return &s->llp;
	sock_release(sock);
	return ERR_PTR(-ENOMEM);
}

/*
 * Sets RTO.Max to @max, and RTO.Initial to 1 s as RFC 9260 section 16 and TCP do. The kernel's
 * default is the 3 s of RFC 4960, with which two lost packets use up the time of a handshake.
 */
static void sctp_set_rto(struct socket *sock, u32 max)
{
	struct sctp_rtoinfo rto = {
		.srto_initial = WEFT_SCTP_MIN_RTO,
		.srto_min = WEFT_SCTP_MIN_RTO,
		.srto_max = max,
	};

	sctp_option(sock, SCTP_RTOINFO, &rto, sizeof(rto));
}

/*
 * SCTP limits the number of retransmissions, not their time, and doubles the timeout up to
 * RTO.Max. So RTO.Max is chosen for about @user_timeout in all. A silent peer may leave as many
 * heartbeats unanswered, so their interval is chosen for @keepalive plus the 60 s of TCP's
 * probes in all.
 */
static void llp_sctp_set_timeouts(struct weft_llp *llp, u32 keepalive, u32 user_timeout)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	struct socket *sock = llp->sock;
	struct sctp_paddrparams path = {
		.spp_hbinterval = (keepalive + 60) * (MSEC_PER_SEC / (WEFT_SCTP_RETRIES + 1)),
		.spp_flags = keepalive ? SPP_HB_ENABLE : SPP_HB_DISABLE,
	};
	struct sctp_assocparams retries = { .sasoc_asocmaxrxt = WEFT_SCTP_RETRIES };

	sctp_option(sock, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path));
	sctp_option(sock, SCTP_ASSOCINFO, &retries, sizeof(retries));
	s->max_rto = user_timeout ? clamp(user_timeout * (MSEC_PER_SEC / WEFT_SCTP_RETRIES),
					  WEFT_SCTP_MIN_RTO, WEFT_SCTP_MAX_RTO) :
				    WEFT_SCTP_MAX_RTO;
	sctp_set_rto(sock, s->max_rto);
}

static int llp_sctp_listen(struct weft_llp *llp, int backlog)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	weft_baton_lock(&s->lock);
	s->listening = true;
	weft_sctp_unlock(&s->llp);
	return weft_sock_listen(llp, backlog);
}

static bool llp_sctp_incoming(struct weft_llp *listener)
{
	const struct sock *sk = weft_sctp_sk(to_weft_sctp(listener));

	return !list_empty_careful(&sctp_sk(sk)->ep->asocs);
}

static struct weft_llp *llp_sctp_accept(struct weft_llp *listener,
					const struct weft_llp_ops *ops, void *owner)
{
	const struct sock *from = listener->sock->sk;
	struct weft_sctp *s;
	struct socket *sock;
	int ret;

	ret = kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (ret)
		return ERR_PTR(ret);
	weft_sock_hold_net(sock->sk);
	s = sctp_new(sock, ops, owner);
	if (!s) {
		sock_release(sock);
		return ERR_PTR(-ENOMEM);
	}
	/* SCTP, unlike TCP, does not copy a listener's type of service. */
	weft_sock_set_tos(&s->llp, from->sk_family == AF_INET ? READ_ONCE(inet_sk(from)->tos) :
								READ_ONCE(inet6_sk(from)->tclass));
	weft_baton_lock(&s->lock);
	weft_sctp_look_around(s);
	weft_sctp_unlock(&s->llp);
	/* Reports messages from before the acceptance. */
	weft_sctp_start(s);
	return &s->llp;
}

static int llp_sctp_connect(struct weft_llp *llp, const struct sockaddr_storage *to)
{
	int ret;

	/* SCTP sets the T5-shutdown-guard timer when it makes the association. */
	sctp_set_rto(llp->sock, WEFT_SCTP_CLOSE_RTO);
	ret = weft_sock_connect(llp, to);
	sctp_set_rto(llp->sock, to_weft_sctp(llp)->max_rto);
	return ret;
}

static int llp_sctp_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
			      struct sockaddr_storage *remote)
{
	const struct weft_sctp *s = to_weft_sctp(llp);

	/* Pairs with the release in sctp_look_for(). */
	if (!smp_load_acquire(&s->named) || READ_ONCE(s->state) == WEFT_LLP_DEAD) {
		memset(local, 0, sizeof(*local));
		memset(remote, 0, sizeof(*remote));
		return -ENOTCONN;
	}
	*local = s->local;
	*remote = s->remote;
	return 0;
}

static enum weft_llp_state llp_sctp_state(struct weft_llp *llp)
{
	/* Pairs with the release in sctp_become(): @error is set before the state. */
	return smp_load_acquire(&to_weft_sctp(llp)->state);
}

static int llp_sctp_error(struct weft_llp *llp)
{
	return xchg(&to_weft_sctp(llp)->error, 0);
}

static int llp_sctp_recv(struct weft_llp *llp, void *buf, u32 len)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	int ret;

	weft_baton_lock(&s->lock);
	ret = weft_sctp_take(s, buf, len);
	weft_sctp_unlock(&s->llp);
	return ret;
}

static int llp_sctp_send(struct weft_llp *llp, const void *buf, u32 len)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	u8 message[WEFT_SESSION_MAX_LEN];
	struct weft_mpa_frame frame;
	u32 at, message_len;
	int ret = -EINVAL;

	at = weft_mpa_decode(buf, len, false, &frame);
	if (!at)
		at = weft_mpa_decode(buf, len, true, &frame);
	weft_baton_lock(&s->lock);
	if (at) {
		/* MPA's Request or Reply becomes a session control message. */
		message_len = weft_session_encode(message, s->tx_ssn, &frame, buf + at);
		if (message_len)
			ret = weft_sctp_control(s, message, message_len) ?: (int)len;
	} else {
		ret = weft_sctp_give(s, buf, len, false);
	}
	weft_sctp_unlock(&s->llp);
	return ret;
}

static void llp_sctp_shutdown(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	u8 message[WEFT_SESSION_HDR_LEN];

	weft_baton_lock(&s->lock);
	/* Without room for this message the end of the association has to do. */
	weft_sctp_control(s, message, weft_session_encode_terminate(message, s->tx_ssn));
	s->shut = true;
	weft_sctp_unlock(&s->llp);
	kernel_sock_shutdown(llp->sock, SHUT_WR);
}

static void llp_sctp_close(struct weft_llp *llp, bool abort)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	remove_wait_queue(sk_sleep(weft_sctp_sk(s)), &s->wait);
	if (abort) {
		sock_no_linger(weft_sctp_sk(s));
	} else {
		/* SCTP would abort an association with unread messages. */
		weft_baton_lock(&s->lock);
		weft_sctp_drop(s);
		weft_sctp_unlock(&s->llp);
		sctp_set_rto(llp->sock, WEFT_SCTP_CLOSE_RTO);
	}
	cancel_delayed_work_sync(&s->work);
	sock_release(llp->sock);
	weft_arrivals_drop(&s->arrivals);
	kfree(s->frame);
	kvfree(s->parts);
	kfree(s);
	if (atomic_dec_and_test(&streams))
		wake_up_var(&streams);
}

/* Waits for the end of all streams, when nobody makes any more. Sleeps. */
void weft_sctp_wait(void)
{
	wait_var_event(&streams, !atomic_read(&streams));
	/* A thread may be at the last instructions of the close; it will have slept by then. */
	synchronize_rcu_tasks();
}

static void llp_sctp_adopt(struct weft_llp *llp, const struct weft_llp_ops *ops, void *owner,
			   bool later)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	weft_baton_lock(&s->lock);
	llp->ops = ops;
	llp->owner = owner;
	weft_sctp_unlock(&s->llp);
}

const struct weft_llp_class weft_sctp_class = {
	.name = "sctp",
	.own_crc = true,
	.many_homes = &weft_sctp_settings.multihoming,
	.open = llp_sctp_open,
	.bind = weft_sock_bind,
	.set_tos = weft_sock_set_tos,
	.set_timeouts = llp_sctp_set_timeouts,
	.listen = llp_sctp_listen,
	.incoming = llp_sctp_incoming,
	.accept = llp_sctp_accept,
	.charge = weft_sock_charge,
	.charge_like = weft_sock_charge_as,
	.adopt = llp_sctp_adopt,
	.connect = llp_sctp_connect,
	.addresses = llp_sctp_addresses,
	.state = llp_sctp_state,
	.error = llp_sctp_error,
	.recv = llp_sctp_recv,
	.send = llp_sctp_send,
	.shutdown = llp_sctp_shutdown,
	.close = llp_sctp_close,
	.flow = {
		.lock = weft_sctp_lock,
		.unlock = weft_sctp_unlock,
		.assert_locked = weft_sctp_assert_locked,
		.resume = weft_sctp_resume,
		.emss = weft_sctp_emss,
		.want_space = weft_sctp_want_space,
		.send_page = weft_sctp_send_page,
		.unsent = weft_sctp_unsent,
		.end = weft_sctp_end,
		.read = weft_sctp_read,
		.await = weft_sctp_await,
	},
};
