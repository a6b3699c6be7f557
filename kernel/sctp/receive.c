// SPDX-License-Identifier: GPL-2.0
/*
 * SCTP as a class of lower layers: reception. llp.h describes the functions of struct
 * weft_llp_flow. A work item receives, because SCTP gives messages to processes only.
 */
#include <linux/sched/mm.h>
#include <net/sctp/sctp.h>

#include "base/compat.h"
#include "base/baton.h"
#include "sctp/sctp.h"
#include "wire/fpdu.h"
#include "wire/session.h"

/*
 * Limit on bytes of received messages that the engine has not taken; beyond it messages stay in
 * SCTP's queue. Ignored while a message is missing, because that one comes behind the others.
 */
#define WEFT_SCTP_MAX_QUEUED	(256 * 1024)
/* Messages received before other work gets a turn. */
#define WEFT_SCTP_BUDGET	256
/* Retry delay after a failed allocation, which no event follows. */
#define WEFT_SCTP_RETRY		(HZ / 10 + 1)

/*
 * Only the data path, and a connection that drops unread messages, lock by this function. Both
 * come after the handshake, so start to receive segments.
 */
void weft_sctp_lock(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	weft_baton_lock(&s->lock);
	if (s->flowing)
		return;
	s->flowing = true;
	weft_sctp_start(s);
}

/* Releases the stream's lock, and starts the work that found it taken. */
void weft_sctp_unlock(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	lockdep_assert_held(&s->lock.mutex);
	if (weft_baton_unlock(&s->lock))
		weft_sctp_start(s);
}

void weft_sctp_resume(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);

	WRITE_ONCE(s->resumed, true);
	weft_sctp_start(s);
}

void weft_sctp_assert_locked(const struct weft_llp *llp)
{
	lockdep_assert_held(&to_weft_sctp(llp)->lock.mutex);
}

static void sctp_name_one(const struct sock *sk, struct sockaddr_storage *name,
			  const union sctp_addr *addr, __be16 port)
{
	if (addr->sa.sa_family == AF_INET6)
		weft_sock_name_v6(name, &addr->v6.sin6_addr, port, sk->sk_bound_dev_if);
	else
		weft_sock_name_v4(name, addr->v4.sin_addr.s_addr, port);
}

/* Sets the state; @error is 0 or why the association failed. */
static void sctp_become(struct weft_sctp *s, enum weft_llp_state state, int error)
{
	lockdep_assert_held(&s->lock.mutex);
	if (error)
		WRITE_ONCE(s->error, error);
	/* Pairs with the acquire in llp_sctp_state(). */
	smp_store_release(&s->state, state);
}

/* Ends receiving: the association is over, or has failed with @error. */
static void sctp_end(struct weft_sctp *s, int error)
{
	s->ended = true;
	if (s->state != WEFT_LLP_DEAD)
		sctp_become(s, error ? WEFT_LLP_DEAD : WEFT_LLP_PEER_CLOSED, error);
}

/* Opens the stream if the association has been made. */
static void sctp_look_for(struct weft_sctp *s, const struct sctp_association *asoc)
{
	const struct sock *sk = weft_sctp_sk(s);

	sock_owned_by_me(sk);
	if (!asoc || asoc->state < SCTP_STATE_ESTABLISHED)
		return;
	sctp_name_one(sk, &s->local, &asoc->peer.primary_path->saddr,
		      htons(asoc->base.bind_addr.port));
	sctp_name_one(sk, &s->remote, &asoc->peer.primary_addr, htons(asoc->peer.port));
	/* Pairs with the acquire in llp_sctp_addresses(). */
	smp_store_release(&s->named, true);
	s->peer_tag = asoc->c.peer_vtag;
	if (asoc->peer.adaptation_ind == WEFT_SCTP_ADAPTATION) {
		sctp_become(s, WEFT_LLP_OPEN, 0);
		return;
	}
	pr_warn_ratelimited("weft: %pISpc speaks SCTP without an indication of DDP (RFC 5043, 5.1), and is refused\n",
			    &s->remote);
	sctp_end(s, -EPROTO);
}

/*
 * Brings the state up to date. A failure counts at once, even before unread messages. After the
 * peer's shutdown the association may be gone, but the stream ends when all messages are read;
 * if no queue pair reads yet, it ends at once. Another verification tag is a failure, too: the
 * peer restarted, and SCTP would go on with its new association.
 */
void weft_sctp_look_around(struct weft_sctp *s)
{
	struct sock *sk = weft_sctp_sk(s);
	struct sctp_association *asoc;

	lockdep_assert_held(&s->lock.mutex);
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

/* Writes a session control message as it came. Returns its length; 0: it is too long. */
static u32 sctp_whole(u8 *to, const u8 *ssn, const struct weft_arrival *body)
{
	if (body->len > WEFT_SESSION_MAX_LEN - WEFT_SSN_LEN)
		return 0;
	memcpy(to, ssn, WEFT_SSN_LEN);
	memcpy(to + WEFT_SSN_LEN, body->data, body->len);
	return WEFT_SSN_LEN + body->len;
}

/*
 * Takes the handshake, which is the first message, and turns it into MPA's Request or Reply, for
 * the owner to read. Returns 0 or a negative errno value.
 */
static int sctp_open_session(struct weft_sctp *s, const u8 *ssn, const struct weft_arrival *first)
{
	u8 message[WEFT_SESSION_MAX_LEN];
	u32 len = sctp_whole(message, ssn, first), at;
	struct weft_mpa_frame frame;
	struct weft_arrival *made;

	if (!first->control || first->number != s->arrivals.turn)
		return -EPROTO;
	/* RFC 5043, 6.1: no session, as if the peer had ended the association. */
	if (weft_session_is_terminate(message, len)) {
		sctp_end(s, 0);
		return 0;
	}
	at = weft_session_decode(message, len, &frame);
	if (!at)
		return -EPROTO;
	/* MPA's header is longer than that of a session control message. */
	made = weft_arrival_new(WEFT_MPA_HDR_LEN + (frame.enhanced ? WEFT_MPA_V2_LEN : 0) +
				frame.private_len);
	if (!made)
		return -ENOMEM;
	weft_mpa_encode(made->data, &frame, message + at); /* cannot fail for a decoded frame */
	s->frame = made;
	s->opened = true;
	weft_arrivals_init(&s->arrivals, first->number + 1, WEFT_SCTP_MAX_AHEAD, s->arrivals.early);
	return 0;
}

/* A segment or the session's Terminate may follow the handshake. */
static bool sctp_expects(const u8 *ssn, const struct weft_arrival *message)
{
	u8 copy[WEFT_SESSION_MAX_LEN];

	return message->control ?
	       weft_session_is_terminate(copy, sctp_whole(copy, ssn, message)) : message->len;
}

/* Keeps or frees a message. Returns 0 or a negative errno value. */
static int sctp_keep(struct weft_sctp *s, const u8 *ssn, struct weft_arrival *message)
{
	int ret = -EPROTO;

	message->number = weft_session_number(ssn, s->arrivals.gap);
	if (!s->opened) {
		ret = sctp_open_session(s, ssn, message);
		kfree(message);
	} else {
		if (sctp_expects(ssn, message))
			ret = weft_arrivals_add(&s->arrivals, message, GFP_KERNEL | __GFP_NOWARN);
		if (ret)
			kfree(message);
	}
	/* No retry: the message has left SCTP's queue and is lost. */
	return ret == -ENOMEM ? -ENOBUFS : ret;
}

/* Returns true if more may be received; before the data flows that is the handshake only. */
static bool sctp_has_room(const struct weft_sctp *s)
{
	if (s->ended || (!s->flowing && s->opened))
		return false;
	return s->arrivals.held < WEFT_SCTP_MAX_QUEUED ||
	       s->arrivals.turn == s->arrivals.gap;
}

/* Receives while there is room; the socket's memory cgroup pays. Returns how many messages. */
static u32 sctp_fetch_some(struct weft_sctp *s)
{
	struct mem_cgroup *before = set_active_memcg(weft_sock_memcg(weft_sctp_sk(s)));
	unsigned int flags = memalloc_noio_save();
	const struct weft_arrival *end;
	struct weft_arrival *message;
	u8 ssn[WEFT_SSN_LEN];
	u32 fetched = 0;
	int ret = 1;

	lockdep_assert_held(&s->lock.mutex);
	while (ret == 1 && fetched < WEFT_SCTP_BUDGET && sctp_has_room(s)) {
		ret = weft_sctp_message(s, ssn, &message);
		if (ret == 1 && s->dropping)
			kfree(message);
		else if (ret == 1 && message)
			ret = sctp_keep(s, ssn, message) ?: 1;
		fetched += ret == 1;
		if (s->ended || !weft_arrivals_turn(&s->arrivals))
			continue;
		/* The peer's Terminate and all messages before it are here. */
		end = xa_load(&s->arrivals.by_number, s->arrivals.gap - 1);
		if (end && end->control)
			sctp_end(s, 0);
	}
	s->more = ret == 1;
	memalloc_noio_restore(flags);
	set_active_memcg(before);
	if (ret == -ENOMEM)
		queue_delayed_work(weft_workqueue, &s->work, WEFT_SCTP_RETRY);
	else if (ret != 1 && ret != -EAGAIN)
		sctp_end(s, ret);
	return fetched;
}

/* Continues to receive if the last round left messages, and there is room now. */
static void sctp_go_on(struct weft_sctp *s)
{
	if (!s->more || !sctp_has_room(s))
		return;
	s->more = false;
	weft_sctp_start(s);
}

/* Receives, and calls the owner for each event. */
void weft_sctp_progress(struct weft_sctp *s)
{
	enum weft_llp_state before = s->state;
	bool ended = s->ended;
	bool resumed = xchg(&s->resumed, false);
	u32 fetched;

	lockdep_assert_held(&s->lock.mutex);
	weft_sctp_look_around(s);
	fetched = sctp_fetch_some(s);
	if (fetched || resumed || s->ended != ended)
		s->llp.ops->readable(&s->llp);
	if (s->want_space && sk_stream_is_writeable(weft_sctp_sk(s))) {
		WRITE_ONCE(s->want_space, false);
		s->llp.ops->writable(&s->llp);
	}
	if (s->state != before)
		s->llp.ops->changed(&s->llp);
	sctp_go_on(s);
}

/* Drops received messages, and all that come later. */
static void sctp_drop(struct weft_sctp *s)
{
	s->flowing = true;
	s->dropping = true;
	weft_arrivals_drop(&s->arrivals);
	kfree(s->frame);
	s->frame = NULL;
}

/* Drops received messages before the association is shut down. */
void weft_sctp_drop(struct weft_sctp *s)
{
	lockdep_assert_held(&s->lock.mutex);
	sctp_drop(s);
	sctp_fetch_some(s);
}

/* Reads @len bytes or fewer of the handshake. Returns as @recv of a class. */
int weft_sctp_take(struct weft_sctp *s, u8 *buf, u32 len)
{
	lockdep_assert_held(&s->lock.mutex);
	sctp_fetch_some(s);
	if (!s->frame)
		return s->ended ? s->error : -EAGAIN;
	len = min(len, s->frame->len - s->taken);
	memcpy(buf, s->frame->data + s->taken, len);
	s->taken += len;
	if (s->taken == s->frame->len) {
		kfree(s->frame);
		s->frame = NULL;
	}
	return len;
}

/* The engine takes messages from @arrivals, and reads bytes only to drop them. */
void weft_sctp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	sctp_drop(to_weft_sctp(llp));
}

/* Each message makes an event, so there is no threshold; continue if there is room again. */
void weft_sctp_await(struct weft_llp *llp, u32 bytes)
{
	sctp_go_on(to_weft_sctp(llp));
}

/*
 * A failed association goes on: its owner gets the changed event, and an end that can be read
 * would pass for an orderly one.
 */
enum weft_llp_end weft_sctp_end(struct weft_llp *llp)
{
	struct weft_sctp *s = to_weft_sctp(llp);
	const struct weft_arrival *next;

	if (!s->ended || s->state == WEFT_LLP_DEAD)
		return WEFT_LLP_GOES_ON;
	next = weft_arrivals_turn(&s->arrivals);
	return !next || next->control ? WEFT_LLP_ALL_READ : WEFT_LLP_LAST_BYTES;
}
