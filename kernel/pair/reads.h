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

/* A read or atomic of ours that the peer has yet to answer. */
struct weft_read {
	u32 sink;			/* made-up STag or identifier: names no memory */
	u32 inv;			/* our key to invalidate after the answer; 0: none */
	struct weft_request *request;	/* its work request; NULL: an RTR indication */
	bool atomic;			/* an atomic, which an Atomic Response answers */
	u32 len;			/* bytes asked for */
	u32 got;			/* bytes placed */
	u32 num_sge;
	struct weft_sge *sge;		/* where the answer goes; room for the queue pair's most */
};

/**
 * struct weft_reads - the reads and atomics of ours that are not answered
 * @slot: ring of @ord requests, rounded up to a power of two
 * @sge: the SGEs of all slots
 * @ord: most requests outstanding; 0: the peer takes none
 * @head: next free slot; written by the transmit side only
 * @tail: oldest, answered next; written by the receive side only
 * @msn: MSN of the last that was sent; transmit side only
 *
 * One writer and one reader without a lock: a slot is filled before @head passes it, and not read
 * after @tail has. The transmit side has tx.lock, the receive side that of weft_qp_assert_locked().
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

/* The memory of reads that are not counted here has their answers. */
static inline u32 weft_reads_outstanding(const struct weft_reads *reads)
{
	return reads->head - smp_load_acquire(&reads->tail); /* pairs with weft_reads_answered() */
}

static inline bool weft_reads_full(const struct weft_reads *reads)
{
	return weft_reads_outstanding(reads) >= reads->ord;
}

/* Publishes the request that weft_reads_next() returned. */
static inline void weft_reads_add(struct weft_reads *reads)
{
	smp_store_release(&reads->head, reads->head + 1); /* pairs with weft_reads_oldest() */
}

/* --- the receive side --- */

/* Returns the request that is answered next, or NULL. */
static inline struct weft_read *weft_reads_oldest(const struct weft_reads *reads)
{
	/* Pairs with weft_reads_add(): the slot is filled. */
	if (smp_load_acquire(&reads->head) == reads->tail)
		return NULL;
	return weft_reads_at(reads, reads->tail);
}

/* Returns the request whose answer names @sink, which is its MSN as well, or NULL. */
static inline struct weft_read *weft_reads_named(const struct weft_reads *reads, u32 sink)
{
	u32 index = sink - 1; /* as weft_reads_next() made it */

	/* Pairs with weft_reads_add(): the slot is filled. */
	if (index - reads->tail >= smp_load_acquire(&reads->head) - reads->tail)
		return NULL;
	return weft_reads_at(reads, index);
}

static inline void weft_reads_answered(struct weft_reads *reads)
{
	smp_store_release(&reads->tail, reads->tail + 1); /* pairs with weft_reads_outstanding() */
}

#endif /* WEFT_PAIR_READS_H */
