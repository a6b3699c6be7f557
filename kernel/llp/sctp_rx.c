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

/* The most bytes that have come and are kept here; what comes then stays in SCTP's queue. */
#define WEFT_SCTP_MAX_QUEUED	(256 * 1024)
/* Messages received before other work gets a turn. */
#define WEFT_SCTP_BUDGET	256
/* How soon to try again when memory was short, since no event follows. */
#define WEFT_SCTP_RETRY		(HZ / 10 + 1)

void weft_sctp_lock(struct weft_llp *llp)
{
	mutex_lock(&to_weft_sctp(llp)->lock);
}

void weft_sctp_unlock(struct weft_llp *llp)
{
	mutex_unlock(&to_weft_sctp(llp)->lock);
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

/* Ends receiving; the association has failed with @error, or is over with 0. */
static void sctp_end(struct weft_sctp *s, int error)
{
	lockdep_assert_held(&s->lock);
	s->ended = true;
	if (error)
		WRITE_ONCE(s->error, error);
	WRITE_ONCE(s->state, error ? WEFT_LLP_DEAD : WEFT_LLP_PEER_CLOSED);
}

/**
 * weft_sctp_look_around() - see whether the association has been made
 * @s: the stream
 *
 * Context: process, @s->lock held; takes the socket lock.
 */
void weft_sctp_look_around(struct weft_sctp *s)
{
	struct sock *sk = weft_sctp_sk(s);
	struct sctp_association *asoc;
	bool stranger = false;

	lockdep_assert_held(&s->lock);
	if (s->state != WEFT_LLP_CONNECTING)
		return;
	lock_sock(sk);
	asoc = weft_sctp_association(s);
	if (asoc && asoc->state >= SCTP_STATE_ESTABLISHED) {
		sctp_name(s, asoc);
		stranger = asoc->peer.adaptation_ind != WEFT_SCTP_ADAPTATION;
		WRITE_ONCE(s->state, WEFT_LLP_OPEN);
	}
	release_sock(sk);
	if (!stranger)
		return;
	pr_warn_ratelimited("weft: %pISpc speaks SCTP without an indication of DDP (RFC 5043, 5.1), and is refused\n",
			    &s->remote);
	sctp_end(s, -EPROTO);
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
	else if (s->state != WEFT_LLP_CONNECTING && !weft_sctp_association(s))
		ret = s->shut ? 0 : -ECONNRESET;
	else
		ret = -EAGAIN;
	release_sock(sk);
	return ret;
}

/*
 * Receives a message of @len bytes into @to. Returns its payload protocol identifier, or a
 * negative errno value; -EPROTO if SCTP gave a part of a message only, since it had no room
 * for all of it.
 */
static int sctp_receive(struct weft_sctp *s, void *to, u32 len)
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
	    (msg.msg_flags & MSG_NOTIFICATION) || cmsg->cmsg_type != SCTP_RCVINFO)
		return -EPROTO;
	return ntohl((__force __be32)info->rcv_ppid) & INT_MAX;
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

	if (len <= 0)
		return len;
	if (len > WEFT_SSN_LEN + WEFT_MAX_ULPDU)
		return -EPROTO;
	/* Room for what an FPDU has beyond a message, or MPA's header beyond a session's. */
	skb = alloc_skb(len + WEFT_MPA_HDR_LEN, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	ret = sctp_receive(s, skb_put(skb, len), len);
	if (ret >= 0)
		ret = sctp_accept_message(s, skb, ret);
	if (ret <= 0) {
		kfree_skb(skb);
		return ret;
	}
	__skb_queue_tail(&s->queue, skb);
	s->queued += skb->len;
	return 1;
}

/* Receives what has come, as much as is kept here. Returns true if there may be more. */
static bool sctp_fetch_some(struct weft_sctp *s)
{
	unsigned int flags = memalloc_noio_save();
	int budget = WEFT_SCTP_BUDGET, ret = -EAGAIN;

	lockdep_assert_held(&s->lock);
	while (!s->ended && budget-- && s->queued < WEFT_SCTP_MAX_QUEUED) {
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
	struct sk_buff *skb;

	/* What SCTP has kept meanwhile can come. */
	if (s->queued >= WEFT_SCTP_MAX_QUEUED && s->queued - len < WEFT_SCTP_MAX_QUEUED)
		mod_delayed_work(weft_workqueue, &s->work, 0);
	s->queued -= len;
	s->taken += len;
	while ((skb = skb_peek(&s->queue)) && s->taken >= skb->len) {
		s->taken -= skb->len;
		__skb_unlink(skb, &s->queue);
		kfree_skb(skb);
	}
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

bool weft_sctp_ended(struct weft_llp *llp)
{
	return to_weft_sctp(llp)->ended;
}

bool weft_sctp_at_end(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	return s->ended && skb_queue_empty(&s->queue);
}
