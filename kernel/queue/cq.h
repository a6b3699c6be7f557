/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues. */
#ifndef WEFT_CQ_H
#define WEFT_CQ_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "base/policy.h"
#include "queue/ring.h"

/*
 * --- streaks ---
 *
 * Is the poster about to wait for an answer, or in the middle of many requests (a streak)? If it
 * will wait, its own thread sends at once. In a streak a worker sends: the poster posts on without
 * entering the kernel, trains are longer, and the receiver is woken less often. The streak belongs
 * to the CQ of sends, because one thread often posts to several queue pairs that share the CQ. Each
 * received message halves the count, so that questions and answers stay below WEFT_STREAK, but a
 * stream that gets a credit now and then does not.
 */

/* Requests with no pause between: a hint, accessed without a lock. */
struct weft_streak {
	u32 length; /* how many */
	unsigned long last; /* when the last of them was taken, in jiffies */
};

/* Is the poster likely to post more soon? */
static inline bool weft_streak_goes_on(const struct weft_streak *s)
{
	return weft_rule(WEFT_RULE_STREAK) && READ_ONCE(s->length) >= WEFT_STREAK &&
	       time_before_eq(jiffies, READ_ONCE(s->last) + WEFT_STREAK_PAUSE);
}

static inline void weft_streak_sent(struct weft_streak *s)
{
	bool paused = time_after(jiffies, READ_ONCE(s->last) + WEFT_STREAK_PAUSE);
	u32 length = paused ? 0 : READ_ONCE(s->length);

	WRITE_ONCE(s->last, jiffies);
	WRITE_ONCE(s->length, min(length + 1, WEFT_STREAK_MAX));
}

static inline void weft_streak_received(struct weft_streak *s)
{
	WRITE_ONCE(s->length, READ_ONCE(s->length) / 2);
}

/* --- the queue --- */

/*
 * One completion queue. @lock is the innermost of all locks, and taken in any context. It protects
 * all fields below it but @resizing, @streak and the last three. Both directions of a queue pair
 * complete their work requests under @lock, so that these complete in order.
 */
struct weft_cq {
	struct ib_cq ib; /* the core's view; the core allocates and frees the whole */
	spinlock_t lock; /* see above */
	/* Outside @lock; keeps a second resize from freeing the ring that the first copies from */
	struct mutex resizing; /* see above */
	struct weft_ring ring; /* the entries; ring.head is the kernel's producer index */
	u32 served; /* arm sequence of the last event */
	u32 polled; /* kernel consumers: index of the next entry to poll */
	u32 armed; /* kernel consumers: sequence of the last arming */
	bool timestamps; /* entries tell when they were made */
	s64 clock_offset; /* lead of the clock of the program's time namespace, in nanoseconds */
	u16 mod_count; /* raise an event at this many unpolled completions; 0: at no number */
	/* Raise it after this many microseconds; 0: never. If both are 0: raise each at once */
	u16 mod_period;
	bool mod_waiting; /* @mod_timer runs */
	struct hrtimer mod_timer; /* raises a deferred event */
	struct weft_streak streak; /* of the queue pairs that complete their sends here */
	bool dead; /* an entry was lost */
	/* Bit 0: @call is on its way to the vector's CPU, and has not begun */
	unsigned long call_waits;
	atomic_t calls; /* how many calls are on their way or under way; the end waits for them */
	/* Calls the consumer there; belongs to the setter of @call_waits */
	call_single_data_t call;
};

static inline struct weft_cq *to_weft_cq(struct ib_cq *ib)
{
	return container_of(ib, struct weft_cq, ib);
}

/* One completion. */
struct weft_completion {
	u64 wr_id; /* from the work request */
	u32 qpn; /* the queue pair's number */
	u32 byte_len; /* bytes received or read */
	u32 ex; /* invalidated STag, immediate data, or the vendor error of a failure */
	u8 opcode; /* enum weft_op */
	u8 status; /* enum ib_wc_status */
	u8 flags; /* enum weft_cqe_flags but for the phase */
	bool solicited; /* wakes a consumer that waits for solicited completions only */
};

/* Completions that are added under one hold of the lock. */
struct weft_cq_adds {
	unsigned long flags; /* the state of interrupts before the lock was taken */
	u32 unpolled; /* unpolled entries, the last one included; 0: none was added */
	bool solicited; /* one of them is solicited */
	bool failed; /* one of them is in error */
	bool died; /* one was lost, the first that this queue ever lost */
};

/* Most entries that are moved, dropped or completed with interrupts off. */
#define WEFT_CQ_SLICE	256

/* The entries of a queue on their way to another ring. */
struct weft_cq_move {
	struct weft_ring to; /* the other ring */
	u32 from; /* the consumer index when the move began */
	u32 at; /* entries before this index have been copied */
};

void weft_cq_init(struct weft_cq *cq);
int weft_cq_move_begin(struct weft_cq *cq, struct weft_cq_move *move);
int weft_cq_move_on(struct weft_cq *cq, struct weft_cq_move *move);
bool weft_cq_put(struct weft_cq *cq, struct weft_cq_adds *adds, const struct weft_completion *wc);
void weft_cq_end(struct weft_cq *cq, const struct weft_cq_adds *adds)
	__releases(&cq->lock);

bool weft_cq_add(struct weft_cq *cq, const struct weft_completion *wc);

int weft_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int weft_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int weft_resize_cq(struct ib_cq *ib, unsigned int entries, struct ib_udata *udata);
int weft_modify_cq(struct ib_cq *ib, u16 count, u16 period);

/* --- cq_consumer.c --- */

void weft_vector_init(struct weft_cq *cq);
void weft_vector_call(struct weft_cq *cq);
void weft_vector_end(struct weft_cq *cq);
int weft_cq_poll_slice(struct weft_cq *cq, int num, struct ib_wc *wc, bool *more);
int weft_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc);
int weft_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);

#endif /* WEFT_CQ_H */
