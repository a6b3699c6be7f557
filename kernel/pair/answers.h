/* SPDX-License-Identifier: GPL-2.0 */
/* The reads and atomics that the peer asked for and we have not answered. */
#ifndef WEFT_PAIR_ANSWERS_H
#define WEFT_PAIR_ANSWERS_H

#include <linux/log2.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "wire/atomic.h"
#include "wire/ddp.h"

struct ib_ucontext;

/**
 * struct weft_answer - a request of the peer that waits for its answer
 * @atomic: an atomic, else a read
 * @read_req: the read
 * @atomic_req: the atomic, to be done when it is answered
 */
struct weft_answer {
	bool atomic;
	union {
		struct weft_read_req read_req;
		struct weft_atomic_req atomic_req;
	};
};

/**
 * struct weft_answers - the requests of the peer that wait for an answer
 * @slot: its requests, a ring of @ird rounded up to a power of two
 * @ird: how many it may have outstanding; 0: it may ask for nothing
 * @head: next free slot. Written by the receive side alone
 * @tail: next to be answered. Written by the transmit side alone
 * @msn: number of the last answer to an atomic. Of the transmit side
 *
 * A ring with one writer and one reader, without a lock, as struct weft_reads is: there
 * the transmit side writes, here the receive side.
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

/* Returns true if the peer may ask for no more before it got an answer. */
static inline bool weft_answers_full(const struct weft_answers *answers)
{
	/* Pairs with weft_answers_taken(): the slot is read. */
	return answers->head - smp_load_acquire(&answers->tail) >= answers->ird;
}

/* Enters the request in the next free slot, which is filled. */
static inline void weft_answers_add(struct weft_answers *answers)
{
	smp_store_release(&answers->head, answers->head + 1); /* pairs with weft_answers_due() */
}

/* Enters a read that the peer asks for. There is a free slot. */
static inline void weft_answers_push_read(struct weft_answers *answers,
					  const struct weft_read_req *req)
{
	struct weft_answer *answer = weft_answers_at(answers, answers->head);

	answer->atomic = false;
	answer->read_req = *req;
	weft_answers_add(answers);
}

/* Enters an atomic that the peer asks for. There is a free slot. */
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

/* Removes the oldest request, which has become a message. */
static inline void weft_answers_taken(struct weft_answers *answers)
{
	smp_store_release(&answers->tail, answers->tail + 1); /* pairs with weft_answers_full() */
}

#endif /* WEFT_PAIR_ANSWERS_H */
