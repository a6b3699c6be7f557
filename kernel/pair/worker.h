/* SPDX-License-Identifier: GPL-2.0 */
/* The worker of a queue pair, and the work that waits for tx.lock; see worker.c. */
#ifndef WEFT_PAIR_WORKER_H
#define WEFT_PAIR_WORKER_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct weft_qp;

/* The work that is started when tx.lock is free again. */
enum weft_want {
	WEFT_WANT_TX,		/* the worker */
	WEFT_WANT_RX,		/* the receive side's work */
	WEFT_WANT_RNR,		/* the end of the wait for a receive */
	WEFT_WANT_CONN,		/* the connection's work */
};

/**
 * struct weft_worker - the worker of a queue pair
 * @wanted: the work that could not have tx.lock, a bit for each enum weft_want. Atomic
 * @ended: no work is started any more when tx.lock is let go. Under tx.lock
 * @work: sends where a doorbell did not, and the answers that the receive side asks for; on
 *	weft_workqueue. struct weft_kernel has another
 * @timer: queues @work; see weft_qp_within()
 */
struct weft_worker {
	unsigned long wanted;
	bool ended;
	struct work_struct work;
	struct timer_list timer;
};

/* Returns true if other work than the transmit worker could not have tx.lock. */
static inline bool weft_worker_is_wanted(const struct weft_worker *worker)
{
	return READ_ONCE(worker->wanted) & ~BIT(WEFT_WANT_TX);
}

bool weft_qp_trylock(struct weft_qp *qp, enum weft_want who);
void weft_qp_unlock(struct weft_qp *qp);
void weft_qp_kick(struct weft_qp *qp);
void weft_qp_within(struct weft_qp *qp, unsigned long delay);
void weft_qp_timer(struct timer_list *timer);

#endif /* WEFT_PAIR_WORKER_H */
