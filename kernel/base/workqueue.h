/* SPDX-License-Identifier: GPL-2.0 */
/* The module's workqueues. */
#ifndef WEFT_WORKQUEUE_H
#define WEFT_WORKQUEUE_H

#include <linux/workqueue.h>

/* Unbound, because work may copy much while its poster goes on. */
extern struct workqueue_struct *weft_workqueue;
/*
 * On the poster's processor, in the pool of the RDMA core's completions: transmit workers of kernel
 * consumers that would only wait for another thread; see weft_qp_kick().
 */
extern struct workqueue_struct *weft_near_workqueue;

#endif /* WEFT_WORKQUEUE_H */
