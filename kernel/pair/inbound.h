/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The peer's messages that take receives, between placement and delivery, as RFC 5041 has it:
 * a segment is placed when it comes; a message is delivered once, when all of it is placed
 * and its turn has come. Its turn comes by its number.
 */
#ifndef WEFT_PAIR_INBOUND_H
#define WEFT_PAIR_INBOUND_H

#include <linux/types.h>

#include "queue/rq.h"
#include "wire/term.h"

struct ib_ucontext;

/*
 * Messages that may have receives at once, on a stream that is not ordered. A message is in
 * delivery before the next begins, but a segment of a later one may come before its turn, and be
 * placed: its message and all before it then have receives.
 */
#define WEFT_WINDOW	16U

/**
 * struct weft_inbound - one message as it comes
 * @len: bytes of it placed; of immediate data, those of the Write before it
 * @whole: all of it is placed
 * @kept: it has its receive since a segment came early, and none has come in its turn
 * @opcode: once @whole: enum weft_rdmap_op
 * @ex: once @whole: the STag to invalidate or the immediate data that it brings, else 0
 * @recv: the receive that it takes, with its first segment
 */
struct weft_inbound {
	u32 len;
	bool whole;
	bool kept;
	u8 opcode;
	u32 ex;
	struct weft_recv recv;
};

/**
 * struct weft_window - messages on their way, by number
 * @next: number of the message to be delivered next
 * @size: how many it may hold: 1, or WEFT_WINDOW
 * @slot: those from @next on, each at its number modulo @size. The SGEs of their receives
 *	lie behind them
 *
 * Protected by the lock of its queue pair's data path, see weft_qp_assert_locked().
 */
struct weft_window {
	u32 next;
	u32 size;
	struct weft_inbound *slot;
};

/**
 * struct weft_written - the RDMA Write that came last, for immediate data behind it
 * @len: bytes of it placed; 0 if a message was delivered since
 * @goes_on: its last segment has not come yet
 *
 * Protected as a window is.
 */
struct weft_written {
	u32 len;
	bool goes_on;
};

int weft_window_init(struct weft_window *w, u32 size, u32 max_sge,
		     const struct ib_ucontext *owner);
void weft_window_destroy(struct weft_window *w);
void weft_window_start(struct weft_window *w);

/* The message of a number that the window holds. */
static inline struct weft_inbound *weft_window_at(const struct weft_window *w, u32 msn)
{
	return &w->slot[msn & (w->size - 1)];
}

/* The message that is delivered next. */
static inline struct weft_inbound *weft_window_turn(const struct weft_window *w)
{
	return weft_window_at(w, w->next);
}

/**
 * weft_window_refuses() - why may this segment not come?
 * @w: the window
 * @msn: number of its message
 * @mo: its offset there
 *
 * Asked of segments whose turn it is, which are in order, as are those of a message.
 *
 * Return: 0 if it may come; or the code of DDP's Terminate, WEFT_DU_MSN_RANGE or WEFT_DU_MO.
 */
static inline u8 weft_window_refuses(const struct weft_window *w, u32 msn, u32 mo)
{
	if (msn != w->next)
		return WEFT_DU_MSN_RANGE;
	return mo == weft_window_turn(w)->len ? 0 : WEFT_DU_MO;
}

/* The bytes that the message may still bring: those for which its receive has room. */
static inline u64 weft_inbound_room(const struct weft_inbound *m)
{
	return m->recv.room - m->len;
}

/* A segment is placed whose message goes on behind it, or several are, of @len bytes. */
static inline void weft_inbound_grow(struct weft_inbound *m, u32 len)
{
	m->len += len;
	m->kept = false;
}

/* The last segment is placed, of @len bytes. It tells @opcode, and @ex with it. */
static inline void weft_inbound_end(struct weft_inbound *m, u32 len, u8 opcode, u32 ex)
{
	m->len += len;
	m->opcode = opcode;
	m->ex = ex;
	m->whole = true;
}

/* Returns the message that is to be delivered now, or NULL. */
static inline struct weft_inbound *weft_window_ready(const struct weft_window *w)
{
	struct weft_inbound *m = weft_window_turn(w);

	return m->whole ? m : NULL;
}

/* The message that was next is delivered; the one behind it is next. */
static inline void weft_window_pass(struct weft_window *w)
{
	struct weft_inbound *m = weft_window_turn(w);

	m->len = 0;
	m->whole = false;
	m->kept = false;
	w->next++;
}

/* A segment of an RDMA Write is placed, of @len bytes and perhaps the @last. */
static inline void weft_written_add(struct weft_written *w, u32 len, bool last)
{
	if (!w->goes_on)
		w->len = 0;
	w->len += len;
	w->goes_on = !last;
}

#endif /* WEFT_PAIR_INBOUND_H */
