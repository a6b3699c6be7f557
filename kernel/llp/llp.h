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
 * --- the data path ---
 *
 * weft_llp_call(llp, room, emss) calls the function @room of struct weft_llp_flow. For TCP that is
 * a comparison and a direct call, because calls through a table are slow where the kernel works
 * around processor faults.
 */
#define weft_llp_call(llp, name, ...) ({					\
	typeof(llp) __llp = (llp);						\
	likely(__llp->class == &weft_tcp_class) ?				\
		weft_tcp_##name(__llp, ##__VA_ARGS__) :				\
		__llp->class->flow.name(__llp, ##__VA_ARGS__);			\
})

/* The same for a caller that holds the stream's lock. */
#define weft_llp_held(llp, name, ...) ({					\
	typeof(llp) __held = (llp);						\
	weft_llp_assert_locked(__held);						\
	weft_llp_call(__held, name, ##__VA_ARGS__);				\
})

/* Does the stream's class have the function? */
#define weft_llp_has(llp, name) ({						\
	typeof(llp) __has = (llp);						\
	likely(__has->class == &weft_tcp_class) || __has->class->flow.name;	\
})

#define weft_llp_assert_locked(llp) do {					\
	typeof(llp) __locked = (llp);						\
	if (!IS_ENABLED(CONFIG_LOCKDEP))					\
		break;								\
	if (likely(__locked->class == &weft_tcp_class))				\
		sock_owned_by_me(__locked->sock->sk);				\
	else									\
		__locked->class->flow.assert_locked(__locked);			\
} while (0)

/*
 * Steers packets to this processor, on which the stream's owner posts: RFS would learn it from
 * read() and write(), which nobody calls for a stream. Not for other classes than TCP, because
 * workers serve their streams. Does not sleep.
 */
static inline void weft_llp_follow(struct weft_llp *llp)
{
	if (likely(llp->class == &weft_tcp_class))
		sock_rps_record_flow(llp->sock->sk);
}

#endif /* WEFT_LLP_H */
