/* SPDX-License-Identifier: GPL-2.0 */
/* Reads and atomics that are not answered: ours, and those of the peer. */
#ifndef WEFT_PAIR_READS_H
#define WEFT_PAIR_READS_H

#include <linux/log2.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "pair/inflight.h"
#include "uapi/weft-abi.h"
#include "wire/ddp.h"

struct ib_ucontext;

/* --- ours --- */

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
 * after @tail has. The transmit side has tx_lock, the receive side that of weft_qp_assert_locked().
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

/* The transmit side. The memory of reads that are not counted here has their answers. */
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

/* The receive side. Returns the request that is answered next, or NULL. */
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

/* --- the peer's --- */

/* A request of the peer that waits for our answer. */
struct weft_peer_read {
	bool atomic;					/* @atomic_req is valid, else @read_req */
	union {
		struct weft_read_req read_req;
		struct weft_atomic_req atomic_req;	/* executed when it is answered */
	};
};

/**
 * struct weft_peer_reads - the requests of the peer that wait for our answer
 * @slot: ring of @ird requests, rounded up to a power of two
 * @ird: most requests that the peer may have outstanding; 0: none
 * @head: next free slot; written by the receive side only
 * @tail: next request to answer; written by the transmit side only
 * @msn: MSN of the last Atomic Response; transmit side only
 *
 * One writer (the receive side) and one reader (the transmit side) share the ring without a lock.
 */
struct weft_peer_reads {
	struct weft_peer_read *slot;
	u32 ird;
	u32 head;
	u32 tail;
	u32 msn;
};

int weft_peer_reads_start(struct weft_peer_reads *peer, u32 ird,
			  const struct ib_ucontext *owner);
void weft_peer_reads_stop(struct weft_peer_reads *peer);

static inline bool weft_peer_reads_full(const struct weft_peer_reads *peer)
{
	/* Pairs with weft_peer_reads_taken(): the slot has been read. */
	return peer->head - smp_load_acquire(&peer->tail) >= peer->ird;
}

/* The caller has checked weft_peer_reads_full(). */
static inline void weft_peer_reads_push(struct weft_peer_reads *peer,
					const struct weft_peer_read *read)
{
	peer->slot[peer->head & (roundup_pow_of_two(peer->ird) - 1)] = *read;
	smp_store_release(&peer->head, peer->head + 1); /* pairs with weft_peer_reads_due() */
}

static inline bool weft_peer_reads_due(const struct weft_peer_reads *peer)
{
	/* Pairs with weft_peer_reads_push(): the slots are filled. */
	return smp_load_acquire(&peer->head) != peer->tail;
}

/* Returns the oldest request, valid until weft_peer_reads_taken(), or NULL. */
static inline const struct weft_peer_read *
weft_peer_reads_oldest(const struct weft_peer_reads *peer)
{
	if (!weft_peer_reads_due(peer))
		return NULL;
	return &peer->slot[peer->tail & (roundup_pow_of_two(peer->ird) - 1)];
}

static inline void weft_peer_reads_taken(struct weft_peer_reads *peer)
{
	smp_store_release(&peer->tail, peer->tail + 1); /* pairs with weft_peer_reads_full() */
}

#endif /* WEFT_PAIR_READS_H */
