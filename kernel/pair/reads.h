/* SPDX-License-Identifier: GPL-2.0 */
/* Our reads and atomics that the peer has yet to answer. */
#ifndef WEFT_PAIR_READS_H
#define WEFT_PAIR_READS_H

#include <linux/log2.h>
#include <linux/types.h>

#include "pair/inflight.h"
#include "uapi/weft-abi.h"

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
 * @head: next free slot
 * @tail: oldest, which is answered next
 * @msn: number of the last that was sent
 *
 * Protected by the lock of its queue pair's data path: the socket lock while
 * there is a stream, tx.lock without one; see weft_qp_assert_locked().
 */
struct weft_reads {
	struct weft_read *slot;
	struct weft_sge *sge;
	u32 ord;
	u32 head;
	u32 tail;
	u32 msn;
};

int weft_reads_start(struct weft_reads *reads, u32 ord, u32 max_sge);
void weft_reads_stop(struct weft_reads *reads);
struct weft_read *weft_reads_add(struct weft_reads *reads, u32 len);
struct weft_read *weft_reads_blamed(const struct weft_reads *reads, bool atomic);

static inline struct weft_read *weft_reads_at(const struct weft_reads *reads, u32 index)
{
	return &reads->slot[index & (roundup_pow_of_two(reads->ord) - 1)];
}

static inline bool weft_reads_outstanding(const struct weft_reads *reads)
{
	return reads->head != reads->tail;
}

/* Returns true if no more may be sent before one was answered. */
static inline bool weft_reads_full(const struct weft_reads *reads)
{
	return reads->head - reads->tail >= reads->ord;
}

/* Returns the request of ours that is answered next, or NULL. */
static inline struct weft_read *weft_reads_oldest(const struct weft_reads *reads)
{
	return weft_reads_outstanding(reads) ? weft_reads_at(reads, reads->tail) : NULL;
}

/* Removes the oldest request, which has its whole answer. */
static inline void weft_reads_answered(struct weft_reads *reads)
{
	reads->tail++;
}

#endif /* WEFT_PAIR_READS_H */
