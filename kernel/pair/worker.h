/* SPDX-License-Identifier: GPL-2.0 */
/* The worker of a queue pair, and the work that leaves word at tx.lock. */
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
 * @ended: no work is started any more when tx.lock is let go. Under tx.lock
 * @work: sends where a doorbell did not, and the answers that the receive side asks for; on
 *	weft_workqueue. struct weft_kernel has another
 * @timer: queues @work; see weft_qp_within()
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
