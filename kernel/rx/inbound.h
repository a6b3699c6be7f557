/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The peer's messages that take receives, between placement and delivery (RFC 5041): a segment is
 * placed when it comes; a message is delivered once, in MSN order, when all of it is placed.
 */
#ifndef WEFT_RX_INBOUND_H
#define WEFT_RX_INBOUND_H

#include <linux/types.h>

#include "queue/rq.h"
#include "wire/ddp.h"

struct ib_ucontext;

/*
 * Most messages with receives at once on an unordered stream. In its turn each message is delivered
 * before the next begins, but if a segment comes early, its message and all before it get receives.
 */
#define WEFT_INBOX	16U

/* One message of the peer. */
struct weft_inbound {
	u32 len;		/* bytes placed; of immediate data, those of the Write before it */
	bool whole;		/* all of it is placed */
	bool kept;		/* only early segments have come; one took the receive */
	u8 opcode;		/* once @whole: enum weft_rdmap_op */
	u32 ex;			/* once @whole: STag to invalidate, or immediate data, or 0 */
	struct weft_recv recv;	/* the receive, taken with the first segment */
};

/**
 * struct weft_inbox - the messages under way, by MSN
 * @next: MSN of the message to deliver next
 * @size: number of slots: 1, or WEFT_INBOX
 * @slot: messages from @next on, each at its MSN modulo @size; the receives' SGEs lie behind them
 *
 * Protected by the lock of weft_qp_assert_locked().
 */
struct weft_inbox {
	u32 next;
	u32 size;
	struct weft_inbound *slot;
};

/*
 * The last RDMA Write, for immediate data behind it.
 * Protected as struct weft_inbox.
 */
struct weft_written {
	u32 len;	/* bytes placed; 0 if a message was delivered since */
	bool goes_on;	/* its last segment has not come yet */
};

int weft_inbox_init(struct weft_inbox *w, u32 size, u32 max_sge,
		    const struct ib_ucontext *owner);
void weft_inbox_destroy(struct weft_inbox *w);
void weft_inbox_start(struct weft_inbox *w);

static inline struct weft_inbound *weft_inbox_at(const struct weft_inbox *w, u32 msn)
{
	return &w->slot[msn & (w->size - 1)];
}

/* Checks a segment in its turn. Returns 0, or WEFT_DU_MSN_RANGE or WEFT_DU_MO for a Terminate. */
static inline u8 weft_inbox_refuses(const struct weft_inbox *w, u32 msn, u32 mo)
{
	if (msn != w->next)
		return WEFT_DU_MSN_RANGE;
	return mo == weft_inbox_at(w, w->next)->len ? 0 : WEFT_DU_MO;
}

/* Counts @len bytes of a message, which are not its last. */
static inline void weft_inbound_grow(struct weft_inbound *m, u32 len)
{
	m->len += len;
	m->kept = false;
}

/* Counts the last @len bytes of a message, whose segment brings @opcode and @ex. */
static inline void weft_inbound_end(struct weft_inbound *m, u32 len, u8 opcode, u32 ex)
{
	m->len += len;
	m->opcode = opcode;
	m->ex = ex;
	m->whole = true;
}

/* Ends the delivery of a message. */
static inline void weft_inbox_pass(struct weft_inbox *w)
{
	struct weft_inbound *m = weft_inbox_at(w, w->next);

	m->len = 0;
	m->whole = false;
	m->kept = false;
	w->next++;
}

/* Counts a placed segment of an RDMA Write. */
static inline void weft_written_add(struct weft_written *w, u32 len, bool last)
{
	if (!w->goes_on)
		w->len = 0;
	w->len += len;
	w->goes_on = !last;
}

#endif /* WEFT_RX_INBOUND_H */
