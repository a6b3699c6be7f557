/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues. */
#ifndef WEFT_CQ_H
#define WEFT_CQ_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "queue/ring.h"
#include "queue/streak.h"

/**
 * struct weft_cq - one completion queue
 * @ib: the core's view; the core allocates and frees the whole
 * @lock: see below
 * @resizing: outside @lock; keeps a second resize from freeing the ring that the first copies from
 * @ring: the entries; ring.head is the kernel's producer index
 * @served: arm sequence of the last event
 * @polled: kernel consumers: index of the next entry to poll
 * @armed: kernel consumers: sequence of the last arming
 * @timestamps: entries tell when they were made
 * @clock_offset: lead of the clock of the program's time namespace, in nanoseconds
 * @mod_count: raise an event at this many unpolled completions; 0: at no number
 * @mod_period: raise it after this many microseconds; 0: never. If both are 0: raise each at once
 * @mod_timer: raises a deferred event
 * @mod_waiting: @mod_timer runs
 * @streak: of the queue pairs that complete their sends here
 * @dead: an entry was lost
 * @call_waits: bit 0: @call is on its way to the vector's CPU, and has not begun
 * @calls: how many calls are on their way or under way; the end waits for them
 * @call: calls the consumer there; belongs to the setter of @call_waits
 *
 * @lock is the innermost of all locks, and taken in any context. It protects all fields below it
 * but @resizing, @streak and the last three. Both directions of a queue pair complete their work
 * requests under @lock, so that these complete in order.
 */
struct weft_cq {
	struct ib_cq ib;
	spinlock_t lock; /* see above */
	struct mutex resizing; /* the exchange of ring */
	struct weft_ring ring;
	u32 served;
	u32 polled;
	u32 armed;
	bool timestamps;
	s64 clock_offset;
	u16 mod_count;
	u16 mod_period;
	bool mod_waiting;
	struct hrtimer mod_timer;
	struct weft_streak streak; /* a hint, without the lock */
	bool dead;
	unsigned long call_waits; /* atomic bits */
	atomic_t calls;
	call_single_data_t call;
};

static inline struct weft_cq *to_weft_cq(struct ib_cq *ib)
{
	return container_of(ib, struct weft_cq, ib);
}

/**
 * struct weft_completion - one completion
 * @wr_id: from the work request
 * @qpn: the queue pair's number
 * @byte_len: bytes received or read
 * @ex: invalidated STag, immediate data, or the vendor error of a failure
 * @opcode: enum weft_op
 * @status: enum ib_wc_status
 * @flags: enum weft_cqe_flags but for the phase
 * @solicited: wakes a consumer that waits for solicited completions only
 */
struct weft_completion {
	u64 wr_id;
	u32 qpn;
	u32 byte_len;
	u32 ex;
	u8 opcode;
	u8 status;
	u8 flags;
	bool solicited;
};

/**
 * struct weft_cq_row - completions that are added in a row, under one lock
 * @flags: the state of interrupts before the lock was taken
 * @unpolled: unpolled entries, the last one included; 0: none was added
 * @solicited: one of them is solicited
 * @failed: one of them is in error
 * @died: one was lost, the first that this queue ever lost
 */
struct weft_cq_row {
	unsigned long flags;
	u32 unpolled;
	bool solicited;
	bool failed;
	bool died;
};

/* Takes the queue's lock to add completions; weft_cq_end() releases it. */
static inline void weft_cq_begin(struct weft_cq *cq, struct weft_cq_row *row)
	__acquires(&cq->lock)
{
	*row = (struct weft_cq_row){};
	spin_lock_irqsave(&cq->lock, row->flags);
}

/* Most entries that are moved, dropped or completed with interrupts off. */
#define WEFT_CQ_SLICE	256

/**
 * struct weft_cq_move - the entries of a queue on their way to another ring
 * @to: the other ring
 * @from: the consumer index when the move began
 * @at: entries before this index have been copied
 */
struct weft_cq_move {
	struct weft_ring to;
	u32 from;
	u32 at;
};

void weft_cq_init(struct weft_cq *cq);
int weft_cq_move_begin(struct weft_cq *cq, struct weft_cq_move *move);
int weft_cq_move_on(struct weft_cq *cq, struct weft_cq_move *move);
bool weft_cq_put(struct weft_cq *cq, struct weft_cq_row *row, const struct weft_completion *wc);
void weft_cq_end_told(struct weft_cq *cq, const struct weft_cq_row *row)
	__releases(&cq->lock);

/* Releases the queue's lock and wakes the consumer. Rows of unsignaled sends are mostly empty. */
static inline void weft_cq_end(struct weft_cq *cq, const struct weft_cq_row *row)
	__releases(&cq->lock)
{
	if (row->unpolled || row->died)
		weft_cq_end_told(cq, row);
	else
		spin_unlock_irqrestore(&cq->lock, row->flags);
}

bool weft_cq_add(struct weft_cq *cq, const struct weft_completion *wc);

int weft_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int weft_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int weft_resize_cq(struct ib_cq *ib, unsigned int entries, struct ib_udata *udata);
int weft_modify_cq(struct ib_cq *ib, u16 count, u16 period);
int weft_cq_poll_slice(struct weft_cq *cq, int num, struct ib_wc *wc, bool *more);
int weft_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc);
int weft_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);

#endif /* WEFT_CQ_H */
