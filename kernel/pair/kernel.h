/* SPDX-License-Identifier: GPL-2.0 */
/* The parts that only a kernel consumer's queue pair has. */
#ifndef WEFT_PAIR_KERNEL_H
#define WEFT_PAIR_KERNEL_H

#include <linux/workqueue.h>

#include "pair/gather.h"

struct weft_qp;

/**
 * struct weft_kernel - the part of a queue pair whose consumer is the kernel
 * @qp: the queue pair
 * @near: transmit worker on weft_near_workqueue, beside that of struct weft_worker
 * @posted: a post started @near, so @near runs on the consumer's processor; a hint without a lock
 * @gather: held posts, under the queue pair's post_lock
 *
 * A separate allocation, so that queue pairs of processes are smaller. @near is a second item: one
 * item on two workqueues could run twice at once, and cancel_work_sync() would wait for one run.
 */
struct weft_kernel {
	struct weft_qp *qp;
	struct work_struct near;
	bool posted;
	struct weft_gather gather;
};

int weft_kernel_create(struct weft_qp *qp);
void weft_kernel_destroy(struct weft_qp *qp);

#endif /* WEFT_PAIR_KERNEL_H */
