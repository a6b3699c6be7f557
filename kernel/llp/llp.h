/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lower-layer protocol: one ordered byte stream below MPA, of whatever class
 * (class.h). Nothing above this header may know which.
 */
#ifndef WEFT_LLP_H
#define WEFT_LLP_H

#include <linux/compiler.h>

#include "llp/class.h"
#include "llp/tcp.h"

/* --- setting up and tearing down: process context, may sleep --- */

/**
 * weft_llp_open() - make an unconnected stream
 * @class: of which class
 * @net: namespace it lives in, on which the caller has a reference; the stream
 *	takes one of its own, so that its timers never outlive the namespace
 * @family: AF_INET or AF_INET6
 * @ops: where events go
 * @owner: the owner's
 *
 * Return: the stream or an error pointer.
 */
static inline struct weft_llp *
weft_llp_open(const struct weft_llp_class *class, struct net *net, int family,
	      const struct weft_llp_ops *ops, void *owner)
{
	return class->open(net, family, ops, owner);
}

/**
 * weft_llp_bind() - give a stream its local address
 * @llp: the stream, unconnected
 * @addr: address and port; port 0 lets the class choose
 * @v6only: an IPv6 wildcard takes no IPv4 connections
 *
 * Return: 0 or a negative errno value.
 */
static inline int weft_llp_bind(struct weft_llp *llp,
				const struct sockaddr_storage *addr, bool v6only)
{
	return llp->class->bind(llp, addr, v6only);
}

/* Sets the type of service of what is sent. 0 or a negative errno value. */
static inline int weft_llp_set_tos(struct weft_llp *llp, u8 tos)
{
	return llp->class->set_tos(llp, tos);
}

/**
 * weft_llp_set_timeouts() - how soon a peer that is gone is noticed
 * @llp: the stream
 * @keepalive: seconds of silence before the peer is asked; 0: never
 * @user_timeout: seconds that sent data may go unacknowledged; 0: the class's own
 *
 * Context: process.
 */
static inline void weft_llp_set_timeouts(struct weft_llp *llp, u32 keepalive,
					 u32 user_timeout)
{
	llp->class->set_timeouts(llp, keepalive, user_timeout);
}

/*
 * Starts to listen, with a queue as long as the namespace allows at most. 0 or a
 * negative errno value.
 */
static inline int weft_llp_listen(struct weft_llp *llp, int backlog)
{
	return llp->class->listen(llp, backlog);
}

/* Whether a listener has a connection to accept. Any context. */
static inline bool weft_llp_incoming(struct weft_llp *listener)
{
	return listener->class->incoming(listener);
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
static inline struct weft_llp *
weft_llp_accept(struct weft_llp *listener, const struct weft_llp_ops *ops, void *owner)
{
	return listener->class->accept(listener, ops, owner);
}

/**
 * weft_llp_charge() - charge a stream's memory to the calling process
 * @llp: the stream, accepted, and as yet charged to nobody
 *
 * Context: the caller's process; takes the stream's lock.
 * Return: 0, or -ENOMEM and the like.
 */
static inline int weft_llp_charge(struct weft_llp *llp)
{
	return llp->class->charge(llp);
}

/**
 * weft_llp_charge_like() - charge a stream's memory as another's
 * @llp: the stream, which is charged to no memory cgroup
 * @other: the other, of the same class, opened by the process that has to pay
 *
 * Context: process; takes the stream's lock.
 * Return: 0, or -ENOMEM: there is a limit, and it is reached.
 */
static inline int weft_llp_charge_like(struct weft_llp *llp, const struct weft_llp *other)
{
	return llp->class->charge_like(llp, other);
}

/* Starts to connect; the changed event tells the outcome. 0 or a negative errno value. */
static inline int weft_llp_connect(struct weft_llp *llp, const struct sockaddr_storage *to)
{
	return llp->class->connect(llp, to);
}

/**
 * weft_llp_addresses() - tell both ends' addresses
 * @llp: the stream
 * @local: this end's; of family 0 on failure, as @remote
 * @remote: the peer's
 *
 * Without the stream's lock, since a thread of a process may hold that and not be
 * allowed to run: an operator who looks at connections would wait for it.
 *
 * Context: any; the owner keeps the stream.
 * Return: 0, or -ENOTCONN: there is no peer, yet or any more.
 */
static inline int weft_llp_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
				     struct sockaddr_storage *remote)
{
	return llp->class->addresses(llp, local, remote);
}

/* What the connection is at. Any context. */
static inline enum weft_llp_state weft_llp_state(struct weft_llp *llp)
{
	return llp->class->state(llp);
}

/* Why the connection failed, a negative errno value; 0 if it did not. Once. */
static inline int weft_llp_error(struct weft_llp *llp)
{
	return llp->class->error(llp);
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
static inline int weft_llp_recv(struct weft_llp *llp, void *buf, u32 len)
{
	return llp->class->recv(llp, buf, len);
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
static inline int weft_llp_send(struct weft_llp *llp, const void *buf, u32 len)
{
	return llp->class->send(llp, buf, len);
}

/* Ends our direction: the peer reads what was sent and then the end. */
static inline void weft_llp_shutdown(struct weft_llp *llp)
{
	llp->class->shutdown(llp);
}

/**
 * weft_llp_close() - end a stream and free it
 * @llp: the stream
 * @abort: by a reset at once; otherwise what was sent is delivered, with nobody's help
 *	and for a bounded time
 *
 * May sleep. No event comes any more when this returns.
 */
static inline void weft_llp_close(struct weft_llp *llp, bool abort)
{
	llp->class->close(llp, abort);
}

/*
 * --- the data path: with weft_llp_lock() held, or inside a callback ---
 *
 * Each costs TCP a comparison and a direct call, not a call through a table, which
 * mitigations of processors' faults make dear.
 */

/* Calls what the stream `llp` of the function that this stands in does for @name. */
#define WEFT_LLP_CALL(name, ...) \
	(likely(llp->class == &weft_tcp_class) ? \
	 weft_tcp_##name(llp, ##__VA_ARGS__) : llp->class->flow.name(llp, ##__VA_ARGS__))

/* Takes the stream's lock. Process context. */
static inline void weft_llp_lock(struct weft_llp *llp)
{
	WEFT_LLP_CALL(lock);
}

/* Lets it go; what arrived meanwhile is received now. */
static inline void weft_llp_unlock(struct weft_llp *llp)
{
	WEFT_LLP_CALL(unlock);
}

/* Warns, in kernels that check locks, if the caller does not hold the stream's lock. */
static inline void weft_llp_assert_locked(const struct weft_llp *llp)
{
	if (IS_ENABLED(CONFIG_LOCKDEP))
		WEFT_LLP_CALL(assert_locked);
}

/**
 * weft_llp_emss() - the effective segment size
 * @llp: the stream, connected
 *
 * Return: bytes, a multiple of four, at least WEFT_MIN_EMSS.
 */
static inline u32 weft_llp_emss(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(emss);
}

/**
 * weft_llp_train() - what the largest packet buffer holds in whole segments
 * @llp: the stream
 * @emss: its segment size
 *
 * Return: bytes, a multiple of @emss, and not 0.
 */
static inline u32 weft_llp_train(struct weft_llp *llp, u32 emss)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(train, emss);
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
static inline u32 weft_llp_room(struct weft_llp *llp, u32 emss)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(room, emss);
}

/**
 * weft_llp_portion() - how many bytes to hand over at once
 * @llp: the stream
 * @emss: its segment size
 * @ahead: bytes from the next one to where a segment is to begin; less than @emss
 * @len: how many there are
 *
 * Handed over like this, the bytes are cut into the segments that they were laid out
 * for, wherever the peer's window ends.
 *
 * Context: the socket lock is held.
 * Return: bytes, 1 to @len.
 */
static inline u32 weft_llp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(portion, emss, ahead, len);
}

/**
 * weft_llp_want_space() - ask for the writable event once there is room
 * @llp: the stream; a send found no room
 *
 * Return: false if there is room already, so that it was memory that lacked
 * and no event will tell when it is back.
 */
static inline bool weft_llp_want_space(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(want_space);
}

/* Nothing more is added to the last packet buffer: the next byte starts a new one. */
static inline void weft_llp_end_segment(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	WEFT_LLP_CALL(end_segment);
}

/**
 * weft_llp_send_page() - hand bytes over without copying them
 * @llp: the stream
 * @page: where they are; the stream takes a reference of its own
 * @offset: within @page
 * @len: how many; they are not changed any more
 * @more: more follows at once: no need to send yet
 *
 * Return: bytes taken, maybe fewer; -EAGAIN if there is no room; another
 * negative errno value if the stream has failed.
 */
static inline int weft_llp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
				     u32 len, bool more)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(send_page, page, offset, len, more);
}

/**
 * weft_llp_may_lend() - can pages be sent from where they lie?
 * @llp: the stream, connected
 *
 * Return: false if they would be copied, or would not leave the machine.
 */
static inline bool weft_llp_may_lend(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(may_lend);
}

/**
 * weft_llp_lend() - have bytes sent from where they lie
 * @llp: the stream
 * @ubuf: told when each packet buffer with some of them is gone or was copied; of
 *	which it has a reference
 * @bv: where they are; the stream takes references of its own
 * @num: how many of @bv
 * @from: how many bytes of them the stream has already
 * @len: bytes in all
 * @more: as for weft_llp_send_page()
 *
 * Return: as weft_llp_send_page().
 */
static inline int weft_llp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
				const struct bio_vec *bv, u32 num, u32 from, u32 len,
				bool more)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(lend, ubuf, bv, num, from, len, more);
}

/* Whether the peer ended the stream: what can be read is all that will come. */
static inline bool weft_llp_ended(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(ended);
}

/*
 * Whether the stream has yet to send some of what it was given. Any context; the answer may
 * be old.
 */
static inline bool weft_llp_unsent(struct weft_llp *llp)
{
	return WEFT_LLP_CALL(unsent);
}

/* Whether the peer ended the stream and all of it has been read. */
static inline bool weft_llp_at_end(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(at_end);
}

/**
 * weft_llp_read() - read packet buffers where they lie
 * @llp: the stream
 * @actor: takes bytes of one packet
 * @ctx: for @actor
 */
static inline void weft_llp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	weft_llp_assert_locked(llp);
	WEFT_LLP_CALL(read, actor, ctx);
}

/**
 * weft_llp_look() - look at packet buffers and take nothing of them
 * @llp: the stream
 * @from: bytes that lie before what is of interest
 * @actor: looks at bytes of one packet; fewer than there are end the walk
 * @ctx: for @actor
 *
 * The next look may find the same bytes in other buffers: a stream may merge and replace
 * them while they wait.
 *
 * Context: the socket lock is held. Does not sleep.
 */
static inline void weft_llp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor,
				 void *ctx)
{
	weft_llp_assert_locked(llp);
	WEFT_LLP_CALL(look, from, actor, ctx);
}

/**
 * weft_llp_await() - say how many bytes are wanted before the readable event
 * @llp: the stream
 * @bytes: so many, counted from what is read next; 1: any
 *
 * The event comes sooner if the stream has ended or can hold no more.
 *
 * Context: the socket lock is held. The readable event may come from within.
 */
static inline void weft_llp_await(struct weft_llp *llp, u32 bytes)
{
	weft_llp_assert_locked(llp);
	WEFT_LLP_CALL(await, bytes);
}

/**
 * weft_llp_full() - can the stream hold no more unless some of it is read?
 * @llp: the stream; it holds at least one byte
 *
 * Context: the socket lock is held.
 *
 * Return: true if the peer's window is as good as closed, or memory is short.
 */
static inline bool weft_llp_full(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(full);
}

#endif /* WEFT_LLP_H */
