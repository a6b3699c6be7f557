/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lower-layer protocol: one ordered byte stream below MPA, of any class. class.h describes the
 * functions; this file adds longer contracts. Code above this header must not know the class.
 */
#ifndef WEFT_LLP_H
#define WEFT_LLP_H

#include <linux/compiler.h>

#include "llp/class.h"
#include "llp/tcp.h"

/*
 * --- the life of a stream: process context, may sleep ---
 *
 * The functions that set a stream up are called in its class, as in llp->class->listen(llp, 8).
 */

/*
 * Takes no lock, because a throttled thread may hold the stream's for long, and an operator lists
 * connections by this. Returns -ENOTCONN, and addresses of family 0, without a peer.
 */
static inline int weft_llp_addresses(struct weft_llp *llp, struct sockaddr_storage *local,
				     struct sockaddr_storage *remote)
{
	return llp->class->addresses(llp, local, remote);
}

static inline enum weft_llp_state weft_llp_state(struct weft_llp *llp)
{
	return llp->class->state(llp);
}

static inline void weft_llp_shutdown(struct weft_llp *llp)
{
	llp->class->shutdown(llp);
}

/* @abort: reset; otherwise TCP delivers all bytes that were sent, for a limited time. */
static inline void weft_llp_close(struct weft_llp *llp, bool abort)
{
	llp->class->close(llp, abort);
}

/*
 * --- the data path: under weft_llp_lock(), or inside a callback ---
 *
 * For TCP each is a comparison and a direct call, because calls through a table are slow where the
 * kernel works around processor faults.
 */

/* Calls the function @name of the class of `llp`, a variable of the caller. */
#define WEFT_LLP_CALL(name, ...) \
	(likely(llp->class == &weft_tcp_class) ? \
	 weft_tcp_##name(llp, ##__VA_ARGS__) : llp->class->flow.name(llp, ##__VA_ARGS__))

/* The same for a caller that holds the stream's lock. */
#define WEFT_LLP_HELD(name, ...) \
	(weft_llp_assert_locked(llp), WEFT_LLP_CALL(name, ##__VA_ARGS__))

/* Does the class of `llp` have the function @name? A class of messages lacks some. */
#define WEFT_LLP_HAS(name) \
	(likely(llp->class == &weft_tcp_class) || llp->class->flow.name)

static inline void weft_llp_lock(struct weft_llp *llp)
{
	WEFT_LLP_CALL(lock);
}

static inline void weft_llp_unlock(struct weft_llp *llp)
{
	WEFT_LLP_CALL(unlock);
}

/* The next holder of the stream's lock raises the event, so that no caller waits for the lock. */
static inline void weft_llp_resume(struct weft_llp *llp)
{
	WEFT_LLP_CALL(resume);
}

/*
 * Steers packets to this processor, on which the stream's owner posts: RFS would learn it from
 * read() and write(), which nobody calls for a stream. Not for other classes than TCP, because
 * workers serve their streams. Does not sleep.
 */
static inline void weft_llp_follow(struct weft_llp *llp)
{
	if (likely(llp->class == &weft_tcp_class))
		sock_rps_record_flow(weft_tcp_sk(llp));
}

static inline void weft_llp_assert_locked(const struct weft_llp *llp)
{
	if (IS_ENABLED(CONFIG_LOCKDEP))
		WEFT_LLP_CALL(assert_locked);
}

static inline u32 weft_llp_emss(struct weft_llp *llp)
{
	return WEFT_LLP_HELD(emss);
}

static inline u32 weft_llp_train(struct weft_llp *llp, u32 emss)
{
	return WEFT_LLP_HAS(train) ? WEFT_LLP_CALL(train, emss) : emss;
}

static inline u32 weft_llp_room(struct weft_llp *llp, u32 emss)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_HAS(room) ? WEFT_LLP_CALL(room, emss) : emss;
}

/*
 * @ahead: bytes up to the start of the next segment, less than @emss. Sending in these portions
 * keeps the bytes in the segments that they were laid out for, wherever the peer's window ends.
 */
static inline u32 weft_llp_portion(struct weft_llp *llp, u32 emss, u32 ahead, u32 len)
{
	weft_llp_assert_locked(llp);
	return WEFT_LLP_HAS(portion) ? WEFT_LLP_CALL(portion, emss, ahead, len) : len;
}

/* False: there is room, so the send failed for lack of memory, and no event will come. */
static inline bool weft_llp_want_space(struct weft_llp *llp)
{
	return WEFT_LLP_HELD(want_space);
}

static inline void weft_llp_end_segment(struct weft_llp *llp)
{
	weft_llp_assert_locked(llp);
	if (WEFT_LLP_HAS(end_segment))
		WEFT_LLP_CALL(end_segment);
}

/*
 * Returns the number of bytes taken, which nobody may change any more; -EAGAIN without room. @more:
 * more bytes follow at once, so TCP need not send yet.
 */
static inline int weft_llp_send_page(struct weft_llp *llp, struct page *page, u32 offset,
				     u32 len, bool more)
{
	return WEFT_LLP_HELD(send_page, page, offset, len, more);
}

static inline bool weft_llp_may_lend(struct weft_llp *llp)
{
	return WEFT_LLP_HAS(may_lend) && WEFT_LLP_CALL(may_lend);
}

/*
 * As weft_llp_send_page(). Each packet buffer with some of the bytes has a reference on @ubuf, and
 * calls it when the buffer is freed or copied. @from: bytes of @len that the stream took before.
 */
static inline int weft_llp_lend(struct weft_llp *llp, struct ubuf_info *ubuf,
				const struct bio_vec *bv, u32 num, u32 from, u32 len,
				bool more)
{
	return WEFT_LLP_HELD(lend, ubuf, bv, num, from, len, more);
}

static inline enum weft_llp_end weft_llp_end(struct weft_llp *llp)
{
	return WEFT_LLP_HELD(end);
}

static inline bool weft_llp_unsent(struct weft_llp *llp)
{
	return WEFT_LLP_CALL(unsent);
}

static inline void weft_llp_read(struct weft_llp *llp, weft_llp_actor actor, void *ctx)
{
	WEFT_LLP_HELD(read, actor, ctx);
}

/* Skips @from bytes. A stream may merge and replace waiting buffers before the next look. */
static inline void weft_llp_look(struct weft_llp *llp, u32 from, weft_llp_actor actor, void *ctx)
{
	WEFT_LLP_HELD(look, from, actor, ctx);
}

/* The event may come within this call, and before @bytes if the stream has ended or is full. */
static inline void weft_llp_await(struct weft_llp *llp, u32 bytes)
{
	WEFT_LLP_HELD(await, bytes);
}

/* The peer's window is as good as closed, or memory is short. The stream has a byte at least. */
static inline bool weft_llp_full(struct weft_llp *llp)
{
	return WEFT_LLP_HELD(full);
}

#endif /* WEFT_LLP_H */
