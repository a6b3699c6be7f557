/* SPDX-License-Identifier: GPL-2.0 */
/* Our reads and atomics that the peer has yet to answer. */
#ifndef WEFT_PAIR_READS_H
#define WEFT_PAIR_READS_H

#include <linux/log2.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "pair/inflight.h"
#include "uapi/weft-abi.h"

struct ib_ucontext;

/**
 * struct weft_read - a read or atomic of ours that the peer has yet to answer
 * @sink: the STag, or identifier, we made up for its answer: names this request,
 *	not memory
 * @inv: our key to be invalidated when it is answered; 0: none
 * @request: its work request; NULL: an RTR indication, which has none
 * @atomic: an atomic, which is answered by a message of its own kind
 * @len: bytes asked for
 * @got: bytes placed
 * @num_sge: SGEs
 * @sge: where the answer goes; room for as many as the queue pair may use
 */
struct weft_read {
	u32 sink;
	u32 inv;
	struct weft_request *request;
	bool atomic;
	u32 len;
	u32 got;
	u32 num_sge;
	struct weft_sge *sge;
};

/**
 * struct weft_reads - the reads and atomics of ours that are not answered
 * @slot: the requests, a ring of @ord rounded up to a power of two
 * @sge: the gather lists of all of them
 * @ord: how many may be outstanding; 0: the peer takes none
 * @head: next free slot. Written by the transmit side alone
 * @tail: oldest, which is answered next. Written by the receive side alone
 * @msn: number of the last that was sent. Of the transmit side
 *
 * A ring with one writer and one reader, without a lock: a slot is filled before @head
 * passes it, and is not looked at any more when @tail has. The transmit side is whoever
 * has tx.lock, the receive side whoever has the lock of weft_qp_assert_locked().
 */
struct weft_reads {
	struct weft_read *slot;
	struct weft_sge *sge;
	u32 ord;
	u32 head;
	u32 tail;
	u32 msn;
};

int weft_reads_start(struct weft_reads *reads, u32 ord, u32 max_sge,
		     const struct ib_ucontext *owner);
void weft_reads_stop(struct weft_reads *reads);
struct weft_read *weft_reads_next(struct weft_reads *reads, u32 len);

static inline struct weft_read *weft_reads_at(const struct weft_reads *reads, u32 index)
{
	return &reads->slot[index & (roundup_pow_of_two(reads->ord) - 1)];
}

/* --- the transmit side --- */

/* Returns how many are not answered. What the others read is there. */
static inline u32 weft_reads_outstanding(const struct weft_reads *reads)
{
	return reads->head - smp_load_acquire(&reads->tail); /* pairs with weft_reads_answered() */
}

/* Returns true if no more may be sent before one was answered. */
static inline bool weft_reads_full(const struct weft_reads *reads)
{
	return weft_reads_outstanding(reads) >= reads->ord;
}

/* Enters the request that weft_reads_next() returned, and whose fields are set. */
static inline void weft_reads_add(struct weft_reads *reads)
{
	smp_store_release(&reads->head, reads->head + 1); /* pairs with weft_reads_oldest() */
}

/* --- the receive side --- */

/* Returns the request of ours that is answered next, or NULL. */
static inline struct weft_read *weft_reads_oldest(const struct weft_reads *reads)
{
	/* Pairs with weft_reads_add(): the slot is filled. */
	if (smp_load_acquire(&reads->head) == reads->tail)
		return NULL;
	return weft_reads_at(reads, reads->tail);
}

/* Returns the request of ours whose answer names @sink, which is its MSN as well, or NULL. */
static inline struct weft_read *weft_reads_named(const struct weft_reads *reads, u32 sink)
{
	u32 index = sink - 1; /* as weft_reads_next() made it */

	/* Pairs with weft_reads_add(): the slot is filled. */
	if (index - reads->tail >= smp_load_acquire(&reads->head) - reads->tail)
		return NULL;
	return weft_reads_at(reads, index);
}

/* Removes the oldest request, which has its whole answer. */
static inline void weft_reads_answered(struct weft_reads *reads)
{
	smp_store_release(&reads->tail, reads->tail + 1); /* pairs with weft_reads_outstanding() */
}

#endif /* WEFT_PAIR_READS_H */
