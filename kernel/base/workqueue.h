/* SPDX-License-Identifier: GPL-2.0 */
/* The module's workqueue, for all that cannot be done where it arises. */
#ifndef WEFT_WORKQUEUE_H
#define WEFT_WORKQUEUE_H

#include <linux/workqueue.h>

extern struct workqueue_struct *weft_workqueue;

#endif /* WEFT_WORKQUEUE_H */
