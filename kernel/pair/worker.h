/* SPDX-License-Identifier: GPL-2.0 */
/* The worker of a queue pair, and the work that tries tx.lock. */
#ifndef WEFT_PAIR_WORKER_H
#define WEFT_PAIR_WORKER_H

#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct weft_qp;

/* The work that tries tx.lock; see weft_baton_try(). */
enum weft_want {
	WEFT_WANT_TX,		/* the worker */
	WEFT_WANT_CONN,		/* the connection's lane */
};

/**
 * struct weft_worker - the worker of a queue pair
 * @ended: weft_qp_unlock() starts no work any more. Under tx.lock
 * @work: sends if a doorbell did not, and answers the peer. struct weft_kernel has another
 * @timer: starts the worker; see weft_qp_within()
 */
struct weft_worker {
	bool ended;
	struct work_struct work;
	struct timer_list timer;
};

void weft_qp_unlock(struct weft_qp *qp);
void weft_qp_kick(struct weft_qp *qp);
void weft_qp_within(struct weft_qp *qp, unsigned long delay);
void weft_qp_timer(struct timer_list *timer);

#endif /* WEFT_PAIR_WORKER_H */
