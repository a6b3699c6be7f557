// SPDX-License-Identifier: GPL-2.0
/*
 * SCTP as a class of lower layers, how messages come: user messages become FPDUs. llp.h
 * describes the functions of struct weft_llp_flow.
 *
 * Nothing runs in softirq: SCTP gives messages to processes only, so a work item takes them.
 */
#include <linux/sched/mm.h>
#include <net/sctp/sctp.h>

#include "base/workqueue.h"
#include "llp/sctp.h"
#include "llp/sock.h"
#include "wire/fpdu.h"
#include "wire/session.h"

/* The most memory for what has come and is kept here; what comes then stays in SCTP's queue. */
#define WEFT_SCTP_MAX_QUEUED	(256 * 1024)
/* Messages received before other work gets a turn. */
#define WEFT_SCTP_BUDGET	256
/* How soon to try again when memory was short, since no event follows. */
#define WEFT_SCTP_RETRY		(HZ / 10 + 1)

/* Who takes the lock by this has the stream for a queue pair, or will drop what comes. */
void weft_sctp_lock(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	mutex_lock(&s->lock);
	if (s->flowing)
		return;
	s->flowing = true;
	mod_delayed_work(weft_workqueue, &s->work, 0);
}

/**
 * weft_sctp_leave() - let the stream's lock go
 * @s: the stream
 *
 * Context: process, @s->lock held.
 */
void weft_sctp_leave(struct weft_sctp *s)
{
	mutex_unlock(&s->lock);
	/* Pairs with the one in sctp_work(). */
	smp_mb();
	if (READ_ONCE(s->awaited) && xchg(&s->awaited, false))
		mod_delayed_work(weft_workqueue, &s->work, 0);
}

void weft_sctp_unlock(struct weft_llp *llp)
{
	weft_sctp_leave(to_weft_sctp(llp));
}

void weft_sctp_assert_locked(const struct weft_llp *llp)
{
	lockdep_assert_held(&to_weft_sctp(llp)->lock);
}

static void sctp_name_one(const struct sock *sk, struct sockaddr_storage *name,
			  const union sctp_addr *addr, __be16 port)
{
	if (addr->sa.sa_family == AF_INET6)
		weft_sock_name_v6(sk, name, &addr->v6.sin6_addr, port);
	else
		weft_sock_name_v4(name, addr->v4.sin_addr.s_addr, port);
}

/* Notes the addresses of an association that has just been made. */
static void sctp_name(struct weft_sctp *s, const struct sctp_association *asoc)
{
	const struct sock *sk = weft_sctp_sk(s);

	sctp_name_one(sk, &s->local, &asoc->peer.primary_path->saddr,
		      htons(asoc->base.bind_addr.port));
	sctp_name_one(sk, &s->remote, &asoc->peer.primary_addr, htons(asoc->peer.port));
	/* Pairs with the acquire in llp_sctp_addresses(). */
	smp_store_release(&s->named, true);
}

/* Notes how the association is; with an error, why it failed. */
static void sctp_become(struct weft_sctp *s, enum weft_llp_state state, int error)
{
	lockdep_assert_held(&s->lock);
	if (error)
		WRITE_ONCE(s->error, error);
	/* Pairs with the acquire in llp_sctp_state(). */
	smp_store_release(&s->state, state);
}

/* Ends receiving; the association has failed with @error, or is over with 0. */
static void sctp_end(struct weft_sctp *s, int error)
{
	s->ended = true;
	if (s->state != WEFT_LLP_DEAD)
		sctp_become(s, error ? WEFT_LLP_DEAD : WEFT_LLP_PEER_CLOSED, error);
}

/* Looks whether the association has been made. With the socket lock held. */
static void sctp_look_for(struct weft_sctp *s, const struct sctp_association *asoc)
{
	sock_owned_by_me(weft_sctp_sk(s));
	if (!asoc || asoc->state < SCTP_STATE_ESTABLISHED)
		return;
	sctp_name(s, asoc);
	s->peer_tag = asoc->c.peer_vtag;
	if (asoc->peer.adaptation_ind == WEFT_SCTP_ADAPTATION) {
		sctp_become(s, WEFT_LLP_OPEN, 0);
		return;
	}
	pr_warn_ratelimited("weft: %pISpc speaks SCTP without an indication of DDP (RFC 5043, 5.1), and is refused\n",
			    &s->remote);
	sctp_end(s, -EPROTO);
}

/**
 * weft_sctp_look_around() - see how the association is
 * @s: the stream
 *
 * An association that failed is told of at once, whatever is still to be read. One that the
 * peer has shut down may be gone by now, but is over when all has been read; before a queue
 * pair has the stream nobody reads. A peer whose host was started anew may make a new association of the same
 * addresses; SCTP would go on with that one.
 *
 * Context: process, @s->lock held; takes the socket lock.
 */
void weft_sctp_look_around(struct weft_sctp *s)
{
	struct sock *sk = weft_sctp_sk(s);
	struct sctp_association *asoc;

	lockdep_assert_held(&s->lock);
	lock_sock(sk);
	asoc = weft_sctp_association(s);
	if (s->state == WEFT_LLP_CONNECTING)
		sctp_look_for(s, asoc);
	if (s->state == WEFT_LLP_OPEN || s->state == WEFT_LLP_CONNECTING) {
		if (sk->sk_err)
			sctp_become(s, WEFT_LLP_DEAD, sock_error(sk));
		else if (s->state == WEFT_LLP_OPEN && !asoc && !s->shut &&
			 !(sk->sk_shutdown & RCV_SHUTDOWN))
			sctp_become(s, WEFT_LLP_DEAD, -ECONNRESET);
		else if (s->state == WEFT_LLP_OPEN && asoc && asoc->c.peer_vtag != s->peer_tag)
			sctp_become(s, WEFT_LLP_DEAD, -ECONNRESET);
		else if (!s->flowing && (sk->sk_shutdown & RCV_SHUTDOWN))
			sctp_become(s, WEFT_LLP_PEER_CLOSED, 0);
	}
	release_sock(sk);
}

/*
 * Returns the length of the next message; 0 if the peer has ended the association, -EAGAIN
 * if nothing has come, or why it failed.
 */
static int sctp_next(struct weft_sctp *s)
{
	struct sock *sk = weft_sctp_sk(s);
	struct sk_buff *skb;
	int ret;

	lock_sock(sk);
	skb = skb_peek(&sk->sk_receive_queue);
	if (skb)
		ret = skb->len;
	else if (sk->sk_err)
		ret = sock_error(sk);
	else if (sk->sk_shutdown & RCV_SHUTDOWN)
		ret = 0;
	else if (s->state == WEFT_LLP_DEAD)
		ret = -ECONNRESET;
	else if (s->state != WEFT_LLP_CONNECTING && !weft_sctp_association(s))
		ret = s->shut ? 0 : -ECONNRESET;
	else
		ret = -EAGAIN;
	release_sock(sk);
	return ret;
}

/*
 * Receives a message of @len bytes into @to, and its payload protocol identifier. Returns 0 or
 * a negative errno value; -EPROTO if SCTP gave a part of a message only, since it had no room
 * for all of it.
 */
static int sctp_receive(struct weft_sctp *s, void *to, u32 len, u32 *ppid)
{
	u8 control[CMSG_SPACE(sizeof(struct sctp_rcvinfo))] __aligned(sizeof(long)) = {};
	const struct cmsghdr *cmsg = (const struct cmsghdr *)control;
	const struct sctp_rcvinfo *info = (const struct sctp_rcvinfo *)CMSG_DATA(cmsg);
	struct kvec iov = { .iov_base = to, .iov_len = len };
	struct msghdr msg = {
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int ret;

	ret = kernel_recvmsg(s->sock, &msg, &iov, 1, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (ret < 0)
		return ret;
	if ((u32)ret != len || !(msg.msg_flags & MSG_EOR) ||
	    (msg.msg_flags & MSG_NOTIFICATION) || cmsg->cmsg_level != IPPROTO_SCTP ||
	    cmsg->cmsg_type != SCTP_RCVINFO)
		return -EPROTO;
	*ppid = ntohl((__force __be32)info->rcv_ppid);
	return 0;
}

/* Makes an FPDU of a message in @skb whose DDP-SSN was checked. */
static int sctp_to_fpdu(struct sk_buff *skb)
{
	u32 ulpdu_len = skb->len - WEFT_SSN_LEN;

	BUILD_BUG_ON(WEFT_SSN_LEN != WEFT_MPA_LEN);
	if (!ulpdu_len || ulpdu_len > WEFT_MAX_ULPDU)
		return -EPROTO;
	weft_fpdu_begin(skb->data, ulpdu_len);
	skb_put(skb, weft_fpdu_len(ulpdu_len) - skb->len);
	weft_fpdu_end(skb->data, ulpdu_len, false);
	return 0;
}

/* Makes MPA's Request or Reply of a session control message. */
static int sctp_to_frame(struct sk_buff *skb)
{
	u8 message[WEFT_SESSION_MAX_LEN];
	struct weft_mpa_frame frame;
	u32 at, len = skb->len;

	if (len > sizeof(message))
		return -EPROTO;
	memcpy(message, skb->data, len);
	at = weft_session_decode(message, len, &frame);
	if (!at)
		return -EPROTO;
	/* Longer than the message, by what MPA's header is longer. */
	len = WEFT_MPA_HDR_LEN + (frame.enhanced ? WEFT_MPA_V2_LEN : 0) + frame.private_len;
	skb_put(skb, len - skb->len);
	return weft_mpa_encode(skb->data, &frame, message + at) == len ? 0 : -EPROTO;
}

/* Takes a message that has come whole. Returns 1, 0 if it ended the session, or -EPROTO. */
static int sctp_accept_message(struct weft_sctp *s, struct sk_buff *skb, u32 ppid)
{
	int ret = -EPROTO;

	if (skb->len < WEFT_SSN_LEN || weft_session_ssn(skb->data) != s->rx_ssn)
		return -EPROTO;
	s->rx_ssn++;
	if (ppid == WEFT_SCTP_PPID_SEGMENT && s->opened) {
		ret = sctp_to_fpdu(skb);
	} else if (ppid == WEFT_SCTP_PPID_CONTROL) {
		if (s->opened && weft_session_is_terminate(skb->data, skb->len))
			return 0;
		ret = s->opened ? -EPROTO : sctp_to_frame(skb);
		s->opened = true;
	}
	return ret ?: 1;
}

/*
 * Receives the next message into the queue. Returns 1; 0 if the peer has ended the session;
 * -EAGAIN if none has come; -ENOMEM; or why the association failed.
 */
static int sctp_fetch(struct weft_sctp *s)
{
	int len = sctp_next(s), ret;
	struct sk_buff *skb;
	u32 ppid;

	if (len <= 0)
		return len;
	if (len > WEFT_SSN_LEN + WEFT_MAX_ULPDU)
		return -EPROTO;
	/* Room for what an FPDU has beyond a message, or MPA's header beyond a session's. */
	skb = alloc_skb(len + WEFT_MPA_HDR_LEN, GFP_KERNEL | __GFP_NOWARN);
	if (!skb)
		return -ENOMEM;
	ret = sctp_receive(s, skb_put(skb, len), len, &ppid);
	if (!ret)
		ret = sctp_accept_message(s, skb, ppid);
	if (ret <= 0) {
		kfree_skb(skb);
		return ret;
	}
	__skb_queue_tail(&s->queue, skb);
	s->queued += skb->truesize;
	return 1;
}

/*
 * Receives what has come, as much as is kept here: before a queue pair has the stream only the
 * handshake. Returns true if there may be more.
 */
static bool sctp_fetch_some(struct weft_sctp *s)
{
	unsigned int flags = memalloc_noio_save();
	int budget = WEFT_SCTP_BUDGET, ret = -EAGAIN;

	lockdep_assert_held(&s->lock);
	while (!s->ended && budget-- && s->queued < WEFT_SCTP_MAX_QUEUED &&
	       (s->flowing || !s->opened)) {
		ret = sctp_fetch(s);
		if (ret == 1)
			continue;
		if (ret == -ENOMEM)
			mod_delayed_work(weft_workqueue, &s->work, WEFT_SCTP_RETRY);
		else if (ret != -EAGAIN)
			sctp_end(s, ret);
		break;
	}
	memalloc_noio_restore(flags);
	return ret == 1;
}

/**
 * weft_sctp_progress() - see what has happened to a stream, and tell its owner
 * @s: the stream
 *
 * Context: process, @s->lock held.
 */
void weft_sctp_progress(struct weft_sctp *s)
{
	enum weft_llp_state before = s->state;
	bool ended = s->ended, more;
	u32 had = s->queued;

	weft_sctp_look_around(s);
	more = sctp_fetch_some(s);
	if (s->queued != had || s->ended != ended)
		s->llp.ops->readable(&s->llp);
	if (s->want_space && sk_stream_is_writeable(weft_sctp_sk(s))) {
		WRITE_ONCE(s->want_space, false);
		s->llp.ops->writable(&s->llp);
	}
	if (s->state != before)
		s->llp.ops->changed(&s->llp);
	if (more && s->queued < WEFT_SCTP_MAX_QUEUED)
		mod_delayed_work(weft_workqueue, &s->work, 0);
}

/* Notes that @len bytes of the queue were taken. */
static void sctp_took(struct weft_sctp *s, u32 len)
{
	bool full = s->queued >= WEFT_SCTP_MAX_QUEUED;
	struct sk_buff *skb;

	s->taken += len;
	while ((skb = skb_peek(&s->queue)) && s->taken >= skb->len) {
		s->taken -= skb->len;
		s->queued -= skb->truesize;
		__skb_unlink(skb, &s->queue);
		kfree_skb(skb);
	}
	/* What SCTP has kept meanwhile can come. */
	if (full && s->queued < WEFT_SCTP_MAX_QUEUED)
		mod_delayed_work(weft_workqueue, &s->work, 0);
}

/**
 * weft_sctp_drop() - drop what has come, before the association is shut down
 * @s: the stream
 *
 * Context: process, @s->lock held.
 */
void weft_sctp_drop(struct weft_sctp *s)
{
	s->flowing = true;
	__skb_queue_purge(&s->queue);
	s->queued = 0;
	s->taken = 0;
	sctp_fetch_some(s);
}

/**
 * weft_sctp_take() - take bytes off the stream, for the handshake
 * @s: the stream
 * @buf: where they go
 * @len: the most to take
 *
 * Context: process, @s->lock held.
 * Return: as weft_llp_recv().
 */
int weft_sctp_take(struct weft_sctp *s, u8 *buf, u32 len)
{
	struct sk_buff *skb;

	sctp_fetch_some(s);
	skb = skb_peek(&s->queue);
	if (!skb && s->ended)
		return s->error;
	if (!skb)
		return -EAGAIN;
	len = min(len, skb->len - s->taken);
	memcpy(buf, skb->data + s->taken, len);
	sctp_took(s, len);
	return len;
}

void weft_sctp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	struct sk_buff *skb;
	u32 len, n;

	while ((skb = skb_peek(&s->queue)) != NULL) {
		len = skb->len - s->taken;
		n = actor(ctx, skb, s->taken, len);
		sctp_took(s, n);
		if (n < len)
			break;
	}
}

void weft_sctp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	struct sk_buff *skb;
	u32 len;

	from += s->taken;
	skb_queue_walk(&s->queue, skb) {
		if (from >= skb->len) {
			from -= skb->len;
			continue;
		}
		len = skb->len - from;
		if (actor(ctx, skb, from, len) < len)
			return;
		from = 0;
	}
}

/* All that has come is told at once. */
void weft_sctp_await(struct weft_llp *llp, u32 bytes)
{
}

bool weft_sctp_full(struct weft_llp *llp)
{
	return to_weft_sctp(llp)->queued >= WEFT_SCTP_MAX_QUEUED;
}

/*
 * False for an association that failed, whose owner is told that it has changed. If its end
 * could be read as well, that would pass for the peer's orderly one.
 */
bool weft_sctp_ended(struct weft_llp *llp)
{
	const struct weft_sctp *s = to_weft_sctp(llp);

	return s->ended && s->state != WEFT_LLP_DEAD;
}

bool weft_sctp_at_end(struct weft_llp *llp)
{
	return weft_sctp_ended(llp) && skb_queue_empty(&to_weft_sctp(llp)->queue);
}
