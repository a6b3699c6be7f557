// SPDX-License-Identifier: GPL-2.0
/*
 * SCTP as a class of lower layers, the part for the flow of data: from FPDUs to user messages
 * and back. llp.h describes the functions of struct weft_llp_flow.
 *
 * Messages are sent and received in order. Nothing runs in softirq: SCTP gives messages to
 * processes only, so a work item takes them.
 */
#include <linux/sched/mm.h>
#include <net/sctp/sctp.h>

#include "base/workqueue.h"
#include "llp/sctp.h"
#include "llp/sock.h"
#include "wire/fpdu.h"
#include "wire/plan.h"
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

/* Returns the socket's association, or NULL. With the socket lock held. */
static struct sctp_association *sctp_association_of(const struct weft_sctp *s)
{
	struct sock *sk = weft_sctp_sk(s);

	sock_owned_by_me(sk);
	return list_first_entry_or_null(&sctp_sk(sk)->ep->asocs, struct sctp_association,
					asocs);
}

/* --- receiving --- */

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
	asoc = sctp_association_of(s);
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
	else if (s->state != WEFT_LLP_CONNECTING && !sctp_association_of(s))
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
	return ntohl(((const struct sctp_rcvinfo *)CMSG_DATA(cmsg))->rcv_ppid) & INT_MAX;
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

	if (skb->len < WEFT_SSN_LEN || weft_get_be16(skb->data) != s->rx_ssn)
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

/* --- sending --- */

/*
 * The largest message that SCTP sends in one piece has the DDP-SSN where an FPDU has its
 * length, and no trailer.
 */
u32 weft_sctp_emss(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	struct sock *sk = weft_sctp_sk(s);
	struct sctp_association *asoc;
	u32 most = 0;

	lock_sock(sk);
	asoc = sctp_association_of(s);
	if (asoc)
		most = asoc->frag_point + WEFT_CRC_LEN;
	release_sock(sk);
	return clamp_t(u32, most & ~3U, WEFT_MIN_EMSS, WEFT_MAX_ULPDU & ~3U);
}

u32 weft_sctp_train(struct weft_llp *llp, u32 emss)
{
	return emss;
}

u32 weft_sctp_room(struct weft_llp *llp, u32 emss)
{
	return emss;
}

u32 weft_sctp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len)
{
	return len;
}

void weft_sctp_end_segment(struct weft_llp *llp)
{
}

bool weft_sctp_want_space(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	WRITE_ONCE(s->want_space, true);
	/* Pairs with the one of whoever wakes the wait queue after there is room. */
	smp_mb();
	if (!sk_stream_is_writeable(weft_sctp_sk(s)))
		return true;
	WRITE_ONCE(s->want_space, false);
	return false;
}

/* Sends the ULPDU of an FPDU as a message. Returns 0 or a negative errno value. */
static int sctp_send_fpdu(struct weft_sctp *s, const u8 *fpdu, bool more)
{
	u32 len = weft_get_be16(fpdu);
	u8 ssn[WEFT_SSN_LEN];
	struct kvec iov[] = {
		{ .iov_base = ssn, .iov_len = sizeof(ssn) },
		{ .iov_base = (void *)(fpdu + WEFT_MPA_LEN), .iov_len = len },
	};
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0),
	};
	int ret;

	weft_put_be16(ssn, s->tx_ssn);
	ret = kernel_sendmsg(s->sock, &msg, iov, ARRAY_SIZE(iov), sizeof(ssn) + len);
	if (ret < 0)
		return ret;
	s->tx_ssn++;
	return 0;
}

/**
 * weft_sctp_control() - send a session control message
 * @s: the stream
 * @message: the message, with the DDP-SSN @s->tx_ssn
 * @len: its length
 *
 * Context: process, @s->lock held.
 * Return: 0 or a negative errno value.
 */
int weft_sctp_control(struct weft_sctp *s, const u8 *message, u32 len)
{
	u8 control[CMSG_SPACE(sizeof(struct sctp_sndinfo))] __aligned(sizeof(long)) = {};
	struct cmsghdr *cmsg = (struct cmsghdr *)control;
	struct sctp_sndinfo *info = (struct sctp_sndinfo *)CMSG_DATA(cmsg);
	struct kvec iov = { .iov_base = (void *)message, .iov_len = len };
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int ret;

	lockdep_assert_held(&s->lock);
	cmsg->cmsg_level = IPPROTO_SCTP;
	cmsg->cmsg_type = SCTP_SNDINFO;
	cmsg->cmsg_len = CMSG_LEN(sizeof(*info));
	info->snd_ppid = htonl(WEFT_SCTP_PPID_CONTROL);
	ret = kernel_sendmsg(s->sock, &msg, &iov, 1, len);
	if (ret < 0)
		return ret;
	s->tx_ssn++;
	return 0;
}

/* Makes room for an FPDU of @len bytes at the stage. Returns true if there is. */
static bool sctp_stage_room(struct weft_sctp *s, u32 len)
{
	u8 *stage;

	if (len <= s->stage_size)
		return true;
	stage = krealloc(s->stage, len, GFP_NOIO);
	if (!stage)
		return false;
	s->stage = stage;
	s->stage_size = len;
	return true;
}

/*
 * Takes bytes of an FPDU that comes in parts, up to its end, and sends it when it is whole. If
 * SCTP has no room, these bytes are not taken, so that none waits here for room. Returns how
 * many were taken, or a negative errno value.
 */
static int sctp_give_part(struct weft_sctp *s, const u8 *from, u32 len, bool more)
{
	u32 before = s->staged, all = WEFT_MPA_LEN, n = 0, part;
	int ret;

	do {
		if (s->staged >= WEFT_MPA_LEN)
			all = weft_fpdu_len(weft_get_be16(s->stage));
		if (!sctp_stage_room(s, all)) {
			s->staged = before;
			return -EAGAIN;
		}
		part = min(len - n, all - s->staged);
		memcpy(s->stage + s->staged, from + n, part);
		s->staged += part;
		n += part;
		if (s->staged < all)
			return n;
	} while (all == WEFT_MPA_LEN);
	ret = sctp_send_fpdu(s, s->stage, more);
	s->staged = ret ? before : 0;
	return ret ?: (int)n;
}

/**
 * weft_sctp_give() - send bytes of FPDUs
 * @s: the stream
 * @from: the bytes
 * @len: how many
 * @more: more bytes follow at once
 *
 * Context: process, @s->lock held.
 * Return: as weft_llp_send_page().
 */
int weft_sctp_give(struct weft_sctp *s, const u8 *from, u32 len, bool more)
{
	u32 at = 0, all;
	int ret;

	lockdep_assert_held(&s->lock);
	while (at < len) {
		all = len - at < WEFT_MPA_LEN ? U32_MAX :
						weft_fpdu_len(weft_get_be16(from + at));
		if (!s->staged && all <= len - at) {
			ret = sctp_send_fpdu(s, from + at, more || at + all < len);
			ret = ret ?: (int)all;
		} else {
			ret = sctp_give_part(s, from + at, len - at, more);
		}
		if (ret < 0)
			return at ? (int)at : ret;
		at += ret;
	}
	return at;
}

int weft_sctp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
			u32 len, bool more)
{
	return weft_sctp_give(to_weft_sctp(llp), page_address(page) + offset, len, more);
}

/* Every message is copied by SCTP. */
bool weft_sctp_may_lend(struct weft_llp *llp)
{
	return false;
}

int weft_sctp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
		   const struct bio_vec *bv, u32 num, u32 from, u32 len, bool more)
{
	return -EOPNOTSUPP;
}

/* A message that SCTP has taken is its own; the rest of one here will never be whole. */
bool weft_sctp_unsent(struct weft_llp *llp)
{
	return READ_ONCE(to_weft_sctp(llp)->staged);
}
