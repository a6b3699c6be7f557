/* SPDX-License-Identifier: GPL-2.0 */
/* The peer's reads and atomics that wait for our answer. */
#ifndef WEFT_PAIR_ANSWERS_H
#define WEFT_PAIR_ANSWERS_H

#include <linux/log2.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "wire/atomic.h"
#include "wire/ddp.h"

struct ib_ucontext;

/* A request of the peer that waits for our answer. */
struct weft_answer {
	bool atomic;					/* @atomic_req is valid, else @read_req */
	union {
		struct weft_read_req read_req;
		struct weft_atomic_req atomic_req;	/* executed when it is answered */
	};
};

/**
 * struct weft_answers - the requests of the peer that wait for our answer
 * @slot: ring of @ird requests, rounded up to a power of two
 * @ird: most requests that the peer may have outstanding; 0: none
 * @head: next free slot; written by the receive side only
 * @tail: next request to answer; written by the transmit side only
 * @msn: MSN of the last Atomic Response; transmit side only
 *
 * One writer (the receive side) and one reader (the transmit side) share the ring without a lock.
 */
struct weft_answers {
	struct weft_answer *slot;
	u32 ird;
	u32 head;
	u32 tail;
	u32 msn;
};

int weft_answers_start(struct weft_answers *answers, u32 ird,
		       const struct ib_ucontext *owner);
void weft_answers_stop(struct weft_answers *answers);

static inline struct weft_answer *weft_answers_at(const struct weft_answers *answers,
						  u32 index)
{
	return &answers->slot[index & (roundup_pow_of_two(answers->ird) - 1)];
}

/* --- the receive side --- */

static inline bool weft_answers_full(const struct weft_answers *answers)
{
	/* Pairs with weft_answers_taken(): the slot has been read. */
	return answers->head - smp_load_acquire(&answers->tail) >= answers->ird;
}

static inline void weft_answers_add(struct weft_answers *answers)
{
	smp_store_release(&answers->head, answers->head + 1); /* pairs with weft_answers_due() */
}

/* For both push functions the caller has checked weft_answers_full(). */
static inline void weft_answers_push_read(struct weft_answers *answers,
					  const struct weft_read_req *req)
{
	struct weft_answer *answer = weft_answers_at(answers, answers->head);

	answer->atomic = false;
	answer->read_req = *req;
	weft_answers_add(answers);
}

static inline void weft_answers_push_atomic(struct weft_answers *answers,
					    const struct weft_atomic_req *req)
{
	struct weft_answer *answer = weft_answers_at(answers, answers->head);

	answer->atomic = true;
	answer->atomic_req = *req;
	weft_answers_add(answers);
}

/* --- the transmit side --- */

static inline bool weft_answers_due(const struct weft_answers *answers)
{
	/* Pairs with weft_answers_add(): the slots are filled. */
	return smp_load_acquire(&answers->head) != answers->tail;
}

/* Returns the oldest request, valid until weft_answers_taken(), or NULL. */
static inline const struct weft_answer *weft_answers_oldest(const struct weft_answers *answers)
{
	return weft_answers_due(answers) ? weft_answers_at(answers, answers->tail) : NULL;
}

static inline void weft_answers_taken(struct weft_answers *answers)
{
	smp_store_release(&answers->tail, answers->tail + 1); /* pairs with weft_answers_full() */
}

#endif /* WEFT_PAIR_ANSWERS_H */
