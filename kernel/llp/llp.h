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
 * @class: its class
 * @net: its namespace, on which the caller has a reference; the stream takes one of its
 *	own, so that its timers never outlive the namespace
 * @family: AF_INET or AF_INET6
 * @ops: where events go
 * @owner: for the owner's use
 *
 * Context: process, may sleep.
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
 * Context: process, may sleep.
 * Return: 0 or a negative errno value.
 */
static inline int weft_llp_bind(struct weft_llp *llp,
				const struct sockaddr_storage *addr, bool v6only)
{
	return llp->class->bind(llp, addr, v6only);
}

/* Sets the type of service of packets. Returns 0 or a negative errno value. */
static inline int weft_llp_set_tos(struct weft_llp *llp, u8 tos)
{
	return llp->class->set_tos(llp, tos);
}

/**
 * weft_llp_set_timeouts() - set how soon a peer that is gone is noticed
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
 * Starts to listen, with a queue no longer than the namespace allows. Returns 0 or a
 * negative errno value.
 */
static inline int weft_llp_listen(struct weft_llp *llp, int backlog)
{
	return llp->class->listen(llp, backlog);
}

/* Returns true if a listener has a connection to accept. Any context. */
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
 * Events from before the acceptance are lost, so the owner reads the stream once without one.
 *
 * Context: process, may sleep.
 * Return: the stream, or an error pointer: -EAGAIN if there is none.
 */
static inline struct weft_llp *
weft_llp_accept(struct weft_llp *listener, const struct weft_llp_ops *ops, void *owner)
{
	return listener->class->accept(listener, ops, owner);
}

/**
 * weft_llp_charge() - charge a stream's memory to the calling process
 * @llp: the stream, which was accepted and is charged to nobody yet
 *
 * Context: the process that pays; takes the stream's lock.
 * Return: 0, or -ENOMEM and the like.
 */
static inline int weft_llp_charge(struct weft_llp *llp)
{
	return llp->class->charge(llp);
}

/**
 * weft_llp_charge_like() - put a stream into another's cgroup, which pays for its memory
 * @llp: the stream, which is charged to no memory cgroup
 * @other: the other, of the same class, opened by the process that has to pay
 *
 * Context: process; takes the stream's lock.
 * Return: 0, or -ENOMEM if that process has reached its limit.
 */
static inline int weft_llp_charge_like(struct weft_llp *llp, const struct weft_llp *other)
{
	return llp->class->charge_like(llp, other);
}

/*
 * Starts to connect; the changed event follows with the outcome. Returns 0 or a negative errno
 * value.
 */
static inline int weft_llp_connect(struct weft_llp *llp, const struct sockaddr_storage *to)
{
	return llp->class->connect(llp, to);
}

/**
 * weft_llp_addresses() - get both ends' addresses
 * @llp: the stream
 * @local: result: this end's; of family 0 on failure, as @remote
 * @remote: result: the peer's
 *
 * Doesn't take the stream's lock. A throttled thread may hold that for long, and an
 * operator who lists connections would have to wait for it.
 *
 * Context: any; the owner keeps the stream.
 * Return: 0, or -ENOTCONN if it has no peer, or none any more.
 */
static inline int weft_llp_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
				     struct sockaddr_storage *remote)
{
	return llp->class->addresses(llp, local, remote);
}

/* Returns the state of the connection. Any context. */
static inline enum weft_llp_state weft_llp_state(struct weft_llp *llp)
{
	return llp->class->state(llp);
}

/* Returns the error of a failed connection, a negative errno value, and clears it; else 0. */
static inline int weft_llp_error(struct weft_llp *llp)
{
	return llp->class->error(llp);
}

/**
 * weft_llp_recv() - take bytes off the stream, for the handshake
 * @llp: the stream
 * @buf: where they go
 * @len: the most to take
 *
 * Context: process, without the stream's lock; does not wait for bytes.
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
 * The bytes of the next send start a packet buffer of their own.
 *
 * Context: process, without the stream's lock; does not wait for room.
 * Return: bytes taken or a negative errno value.
 */
static inline int weft_llp_send(struct weft_llp *llp, const void *buf, u32 len)
{
	return llp->class->send(llp, buf, len);
}

/* Ends our direction: the peer reads all that was sent, and then the end. */
static inline void weft_llp_shutdown(struct weft_llp *llp)
{
	llp->class->shutdown(llp);
}

/**
 * weft_llp_close() - end a stream and free it
 * @llp: the stream
 * @abort: true: reset it at once; false: let TCP deliver what was sent, for a limited time
 *
 * No event comes any more when this returns.
 *
 * Context: process, may sleep.
 */
static inline void weft_llp_close(struct weft_llp *llp, bool abort)
{
	llp->class->close(llp, abort);
}

/*
 * --- the data path: with weft_llp_lock() held, or inside a callback ---
 *
 * For TCP each costs a comparison and a direct call. A call through a table is slow where
 * the kernel works around faults of the processor.
 */

/* Calls the function @name of the class of `llp`, a variable of the caller. */
#define WEFT_LLP_CALL(name, ...) \
	(likely(llp->class == &weft_tcp_class) ? \
	 weft_tcp_##name(llp, ##__VA_ARGS__) : llp->class->flow.name(llp, ##__VA_ARGS__))

/* Takes the stream's lock. Process context. */
static inline void weft_llp_lock(struct weft_llp *llp)
{
	WEFT_LLP_CALL(lock);
}

/* Lets the stream's lock go. Packets that arrived meanwhile are received now. */
static inline void weft_llp_unlock(struct weft_llp *llp)
{
	WEFT_LLP_CALL(unlock);
}

/**
 * weft_llp_resume() - have the readable event come soon, whatever has come or not
 * @llp: the stream, which the caller keeps from being closed
 *
 * Whoever has the stream's lock next tells, so that nobody waits for it.
 *
 * Context: any, with or without locks.
 */
static inline void weft_llp_resume(struct weft_llp *llp)
{
	WEFT_LLP_CALL(resume);
}

/**
 * weft_llp_follow() - have packets received where the owner of a stream works
 * @llp: the stream
 *
 * Receive flow steering (RFS) learns from the read() and write() of ordinary sockets on which
 * processor their program runs. Nobody calls these for a stream, so that it would steer none.
 * Streams of other classes than TCP are read and sent by workers of their own, whose
 * processor tells nothing.
 *
 * Context: the processor of whoever posts; with or without the stream's lock. Does not sleep.
 */
static inline void weft_llp_follow(struct weft_llp *llp)
{
	if (likely(llp->class == &weft_tcp_class))
		weft_tcp_follow(llp);
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
 * Context: the stream's lock is held. Does not sleep.
 * Return: bytes, a multiple of four, at least WEFT_MIN_EMSS.
 */
static inline u32 weft_llp_emss(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(emss);
}

/**
 * weft_llp_train() - how long are the whole segments in the largest packet buffer?
 * @llp: the stream
 * @emss: its segment size
 *
 * Context: with or without the stream's lock. Does not sleep.
 * Return: bytes, a multiple of @emss, and not 0; without the lock they may be old.
 */
static inline u32 weft_llp_train(struct weft_llp *llp, u32 emss)
{
	return WEFT_LLP_CALL(train, emss);
}

/**
 * weft_llp_room() - how many bytes are left in the segment of the next byte?
 * @llp: the stream
 * @emss: its segment size
 *
 * Context: the stream's lock is held. Does not sleep.
 * Return: bytes, 1 to @emss, a multiple of four.
 */
static inline u32 weft_llp_room(struct weft_llp *llp, u32 emss)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(room, emss);
}

/**
 * weft_llp_portion() - how many bytes to hand over at once?
 * @llp: the stream
 * @emss: its segment size
 * @ahead: bytes from the next one to the beginning of the next segment; less than @emss
 * @len: how many there are
 *
 * In such portions, the bytes are cut into the segments for which they were laid out,
 * wherever the peer's window ends.
 *
 * Context: the stream's lock is held. Does not sleep.
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
 * Context: the stream's lock is held. Does not sleep.
 * Return: true if the event will come; false if there is room, so that the send failed for
 * lack of memory, and no event will come.
 */
static inline bool weft_llp_want_space(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(want_space);
}

/* Ends the last packet buffer, so that the next byte starts a new one. */
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
 * @more: more bytes follow at once: no need to send yet
 *
 * Context: process, the stream's lock is held. May sleep.
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
 * weft_llp_may_lend() - can pages be sent without a copy?
 * @llp: the stream, connected
 *
 * Context: with or without the stream's lock. Does not sleep.
 * Return: true if so; false if they would be copied, or would not leave the machine.
 */
static inline bool weft_llp_may_lend(struct weft_llp *llp)
{
	return WEFT_LLP_CALL(may_lend);
}

/**
 * weft_llp_lend() - have bytes sent without a copy
 * @llp: the stream
 * @ubuf: each packet buffer with some of the bytes has a reference on it, and calls it when
 *	the buffer is gone or was copied
 * @bv: the bytes; the stream takes references on the pages
 * @num: how many of @bv
 * @from: how many of the bytes the stream has already
 * @len: bytes in all
 * @more: as for weft_llp_send_page()
 *
 * Context: process, the stream's lock is held. May sleep.
 * Return: as weft_llp_send_page().
 */
static inline int weft_llp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
				const struct bio_vec *bv, u32 num, u32 from, u32 len,
				bool more)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(lend, ubuf, bv, num, from, len, more);
}

/* Returns true if the peer ended the stream, so that only the bytes here can be read. */
static inline bool weft_llp_ended(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(ended);
}

/*
 * Returns true if the stream has not yet sent all bytes that it was given. Any context; the
 * answer may be old.
 */
static inline bool weft_llp_unsent(struct weft_llp *llp)
{
	return WEFT_LLP_CALL(unsent);
}

/* Returns true if the peer ended the stream and all of it has been read. */
static inline bool weft_llp_at_end(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(at_end);
}

/**
 * weft_llp_read() - read packet buffers without a copy
 * @llp: the stream
 * @actor: takes bytes of one packet
 * @ctx: for @actor
 *
 * Context: the stream's lock is held. Does not sleep.
 */
static inline void weft_llp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	weft_llp_assert_locked(llp);
	WEFT_LLP_CALL(read, actor, ctx);
}

/**
 * weft_llp_look() - look at packet buffers and take nothing of them
 * @llp: the stream
 * @from: how many bytes to skip
 * @actor: looks at bytes of one packet; if it returns fewer, the walk ends
 * @ctx: for @actor
 *
 * The next look may find the same bytes in other buffers, since a stream may merge and
 * replace its buffers while they wait.
 *
 * Context: the stream's lock is held. Does not sleep.
 */
static inline void weft_llp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor,
				 void *ctx)
{
	weft_llp_assert_locked(llp);
	WEFT_LLP_CALL(look, from, actor, ctx);
}

/**
 * weft_llp_await() - set how many bytes are wanted before the readable event
 * @llp: the stream
 * @bytes: how many, counted from the next byte to read; 1: any
 *
 * The event comes sooner if the stream has ended or can hold no more.
 *
 * Context: the stream's lock is held. The readable event may come from within.
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
 * Context: the stream's lock is held. Does not sleep.
 * Return: true if the peer's window is as good as closed, or memory is short.
 */
static inline bool weft_llp_full(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_CALL(full);
}

#endif /* WEFT_LLP_H */
