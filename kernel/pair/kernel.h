/* SPDX-License-Identifier: GPL-2.0 */
/* What only a queue pair of the kernel's own has, beside what every queue pair has. */
#ifndef WEFT_PAIR_KERNEL_H
#define WEFT_PAIR_KERNEL_H

#include <linux/workqueue.h>

#include "pair/gather.h"

struct weft_qp;

/**
 * struct weft_kernel - the part of a queue pair whose consumer is the kernel
 * @qp: the queue pair
 * @near: the transmit worker on weft_near_workqueue, as that of struct weft_worker is on
 *	weft_workqueue. An item of its own, since a workqueue knows only of its own items that they
 *	run: one item on two queues might run twice at once, and its end wait for one run alone
 * @posted: a post has started @near, which so runs where the consumer does; a hint, without a
 *	lock
 * @gather: posts that are held, under the queue pair's post_lock
 *
 * Made and freed with the queue pair, and not a part of it, so that those of programs are no
 * larger.
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
