/* SPDX-License-Identifier: GPL-2.0 */
/* The module's workqueues, for all that cannot be done where it arises. */
#ifndef WEFT_WORKQUEUE_H
#define WEFT_WORKQUEUE_H

#include <linux/workqueue.h>

/* On any processor: the work may copy much, and its poster goes on meanwhile. */
extern struct workqueue_struct *weft_workqueue;
/*
 * On the poster's own processor, in the pool that runs the RDMA core's completions: transmit
 * workers of kernel consumers that would only wait for another thread; see weft_qp_kick().
 */
extern struct workqueue_struct *weft_near_workqueue;

#endif /* WEFT_WORKQUEUE_H */
